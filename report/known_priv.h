/*
 * known_priv.h - all that a report knows: its tables.
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

/* Of what the runtime itself has cost, in all images that were read. */
struct own_cost {
    uint32_t images;  /* that have told something; 0: nobody has */
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
    uint64_t
        blocks; /* in use in slabs; bytes of their records, and of their slots that they did not ask for: */
    uint64_t record_bytes, around_bytes;
};

struct page;     /* below */
struct interned; /* sites.c */
struct symbols;  /* symbolize.c */
struct helper;   /* helper.c */
struct variable; /* variables.h */

/* Of what takes long; all zero: nothing is shown. */
struct progress {
    uint64_t start_ms;
    uint32_t done, total;
    uint32_t shown; /* percents + 1 */
};

/* What __lsan_default_suppressions of a program gives. */
struct own_text {
    char *exe;
    char *text;
    char *wrong; /* when it was read: why it does not hold; NULL: nothing is */
};

struct report {
    struct view view;
    struct image *images; /* uthash, ascending numbers */
    struct image *done;   /* absorbed, and out of the way until the end */
    uint32_t kept_pid;    /* of the program, whose last image is not absorbed; 0: nobody's */
    struct bad_area *bad;
    uint32_t bad_count;
    struct exit_fact *exits;
    uint32_t exit_count;
    struct counter_row *counters;
    uint32_t counter_count;
    struct run_tally absorbed; /* by this report */
    struct own_cost own_cost;
    struct measured measured;
    bool
        is_of_launcher; /* it is made by who ran the program, and writes into the file what that alone knows */
    struct launcher_record *launcher; /* out of the file; NULL: there is none, */
    const char *launcher_error;       /* or a bad one */

    struct module *modules;
    uint32_t module_count;
    struct frame *frames;
    uint32_t frame_count;
    struct site *sites;
    uint32_t site_count;
    struct error *errors;
    uint32_t error_count;
    uint64_t strange_errors; /* of kinds that this version does not know */
    struct leak *leaks;
    uint32_t leak_count;
    uint64_t leaks_unread;     /* beyond LEAKS_MAX */
    bool wants_reachable;      /* those of CLASS_REACHABLE are in the table */
    bool wants_mapped;         /* and those of CLASS_MAPPED */
    bool wants_regions;        /* images have region_sites */
    struct leak_sum reachable; /* else this is all that is known of them */
    struct leak_index {
        uint32_t of[CLASS_COUNT]; /* place in leaks + 1, while they are taken */
    } * leak_index;               /* by site + 1; the first is NO_SITE's */
    uint32_t leak_row_count;
    struct disposition
        *use_dispositions; /* by site: of blocks in use from there; NULL: no rule is about them */
    uint32_t use_disposition_count;
    struct interned *known;  /* hash over the tables above */
    struct symbols *symbols; /* one per module, as far as looked at */
    uint32_t symbols_count;
    struct helper *helper; /* the process that has them */
    struct progress progress;
    const struct rules *rules; /* that findings were held against; NULL: none */
    struct rules
        *own_rules; /* the same, where programs have some of their own: freed with the report */
    struct own_text *own; /* suppressions of programs */
    uint32_t own_count;
    const struct baseline *baseline; /* the same of what is known */
    bool no_symbols;                 /* it breaks */
    time_t wasted_wait_seconds;      /* seconds, for servers of debugging information */
    uint32_t timeout_ms;             /* how long it may be at one frame; 0 = as helper.c has it */
};

/* Memory of the reporter itself: gives up with a line when there is none. */
void *xalloc(void *p);
void *grow(void *array, uint32_t count, size_t item); /* room for one more; doubles */

#endif
