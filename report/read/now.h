/*
 * now.h - counters of a process while it runs (now.c), and rows of them (print_now.c).
 */
#ifndef NOW_H
#define NOW_H

#include "read.h"

struct now {
    bool known;      /* false: its areas are not in the file (any more) */
    bool is_damaged; /* an area could not be read: its data is missing */
    bool is_partial; /* the run file had no room for some of its records: they are missing */
    bool is_moment;  /* the counters are a consistent snapshot */
    bool use_known;  /* false: blocks and bytes are not known (unseen fork, older file) */
    bool has_inherited_counts;
    bool has_left;     /* by exec, to a program that has no image */
    bool is_end_known; /* end_how and end_status are those of the file, if it has ended */
    uint64_t time_ns;  /* CLOCK_REALTIME */
    uint64_t allocs, frees, alloc_bytes, free_bytes; /* its own, not inherited */
    uint64_t reallocs;
    uint64_t inherited_blocks, inherited_bytes;
    uint64_t blocks, bytes; /* in use */
    uint64_t peak_bytes;
    uint64_t heap_bytes;   /* size that it has grown to */
    uint64_t shadow_bytes; /* of records, in the file and outside it, and of return addresses */
    uint64_t pool_bytes, pool_used; /* size of its areas, and how much of them is in use */
    uint32_t last_ordinal;
    uint64_t quarantine_blocks, quarantine_bytes; /* bytes: whole slots */
    uint64_t mapped_bytes, maps;                  /* by its calls */
    uint64_t errors;                              /* with a record, warnings included */
    uint64_t baf, duf, maf, oom, dropped;
    uint64_t leak_checks;
    uint32_t threads; /* that have allocated and have not ended */
};

/*
 * Read the state that the file has now, and update `image` from its header. false: nothing is
 * known.
 */
bool now_read(struct report *r, struct image *image, struct now *now);

#endif
