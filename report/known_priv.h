/*
 * known_priv.h - struct report: all tables of a report.
 */
#ifndef KNOWN_PRIV_H
#define KNOWN_PRIV_H

#include "finding_priv.h"
#include "view_priv.h"

struct exit_fact {
    uint32_t pid;
    int wait_status;
    struct costs costs;
};

/* The runtime's own cost, summed over all images that were read. */
struct own_cost {
    uint32_t images;  /* with a cost record; 0: none */
    uint32_t stopped; /* of them, those that entered a sandbox */
    uint32_t every;
    uint64_t disturbed;
    double kernel_ns;
    double ns_per_tick; /* 0: not known */
    struct own_work {
        double ns;
        uint64_t timed, operations, faults;
    } work[COST_WORK_COUNT];
    uint64_t alloc_times[COST_TIMES], free_times[COST_TIMES]; /* see cost_record */
    uint64_t blocks; /* in use, in slabs; below: bytes of their records and slack */
    uint64_t record_bytes, around_bytes;
};

struct page;     /* below */
struct interned; /* sites.c */
struct symbols;  /* symbolize.c */
struct helper;   /* helper.c */
struct variable; /* variables.h */

/* Progress of long work; all zero: nothing is shown. */
struct progress {
    uint64_t start_ms;
    uint32_t done, total;
    uint32_t shown; /* percent + 1 */
};

/* Suppressions of a program: what its __lsan_default_suppressions returned. */
struct own_text {
    char *exe;
    char *text;
    char *wrong; /* why it could not be read; NULL: it could */
};

struct report {
    struct view view;
    struct image *images; /* uthash, ascending numbers */
    struct image *done;   /* absorbed images, not scanned before the end */
    uint32_t kept_pid;    /* of the program, whose last image is not absorbed; 0: none */
    struct bad_area *bad;
    uint32_t bad_count;
    struct exit_fact *exits;
    uint32_t exit_count;
    struct counter_row *counters;
    uint32_t counter_count;
    struct run_tally absorbed; /* by this report */
    struct own_cost own_cost;
    struct measured measured;
    bool is_of_launcher; /* made by the launcher, which writes its record into the file */
    struct launcher_record *launcher; /* from the file; NULL: none, or a bad one */
    const char *launcher_error;       /* what is wrong with a bad one */

    struct module *modules;
    uint32_t module_count;
    struct frame *frames;
    uint32_t frame_count;
    struct site *sites;
    uint32_t site_count;
    struct error *errors;
    uint32_t error_count;
    uint64_t strange_errors; /* of kinds that this version does not have */
    struct leak *leaks;
    uint32_t leak_count;
    uint64_t leaks_unread;     /* beyond LEAKS_MAX */
    bool wants_reachable;      /* `leaks` has those of CLASS_REACHABLE */
    bool wants_mapped;         /* and those of CLASS_MAPPED */
    bool wants_regions;        /* images have region_sites */
    struct leak_sum reachable; /* sum of those that `leaks` does not have */
    struct leak_index {
        uint32_t of[CLASS_COUNT]; /* index in leaks + 1, until leaks_sort */
    } * leak_index;               /* by site + 1; [0] is NO_SITE's */
    uint32_t leak_row_count;
    struct disposition *use_dispositions; /* of blocks in use, by site; NULL: no rule applies */
    uint32_t use_disposition_count;
    struct interned *known;  /* hash index of the tables above */
    struct symbols *symbols; /* one per module, as far as read */
    uint32_t symbols_count;
    struct helper *helper; /* the process that reads symbols */
    struct progress progress;
    const struct rules *rules; /* applied to the findings; NULL: none */
    struct rules *own_rules;   /* these with those of programs; freed with the report */
    struct own_text *own;      /* suppressions of programs */
    uint32_t own_count;
    const struct baseline *baseline; /* known findings; NULL: none */
    bool no_symbols;                 /* no symbols are read: the helper failed or cannot be used */
    time_t wasted_wait_seconds;      /* lost on debuginfod servers that had no file */
    uint32_t timeout_ms;             /* limit for one frame; 0: helper.c's default */
};

/* Return `p`; if it is NULL, report that memory is exhausted and exit. */
void *xalloc(void *p);
void *grow(void *array, uint32_t count, size_t item); /* room for one more; doubles */

#endif
