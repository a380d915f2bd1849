/*
 * now_priv.h - the variables of a process while it runs: now.c, and print_now.c, which has rows of them.
 */
#ifndef NOW_PRIV_H
#define NOW_PRIV_H

#include "report_priv.h"

struct now {
    bool known;      /* else its areas are not in the file (any more) */
    bool is_damaged; /* one of them could not be read: what was in it is missing */
    bool is_partial; /* the run file had no room for some of it: that is missing, too */
    bool is_moment;  /* the counters are of one moment */
    bool use_known;  /* else blocks and bytes are not: an unseen fork */
    bool has_inherited_counts;
    bool has_left;     /* by exec, to something that is no image */
    bool is_end_known; /* if it has ended: how it did is as the file has it, or has had it */
    uint64_t time_ns;  /* CLOCK_REALTIME */
    uint64_t allocs, frees, alloc_bytes, free_bytes; /* by itself */
    uint64_t reallocs;
    uint64_t inherited_blocks, inherited_bytes;
    uint64_t blocks, bytes; /* in use */
    uint64_t peak_bytes;
    uint64_t heap_bytes;   /* how far it has grown */
    uint64_t shadow_bytes; /* of records, in the file and beside it, and of return addresses */
    uint64_t pool_bytes,
        pool_used; /* of the file that are its own; where the last area is full to */
    uint32_t last_ordinal;
    uint64_t quarantine_blocks, quarantine_bytes; /* of their slots */
    uint64_t mapped_bytes, maps;                  /* by calls */
    uint64_t errors;                              /* that have a record, warnings too */
    uint64_t baf, duf, maf, oom, dropped;
    uint64_t leak_checks;
    uint32_t threads; /* that have allocated, and are not over */
};

/*
 * As it is in the file now; what the image is called and how it ended is renewed.  false: nothing
 * is known.
 */
bool now_read(struct report *r, struct image *image, struct now *now);

#endif
