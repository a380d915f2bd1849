/*
 * profile_priv.h - what the files of rtcheck/profile.h share.
 *
 *   profile.c         profiles, and reading them
 *   profile_vars.c    what there is to read, and where it comes from
 *   profile_sites.c   blocks by the stack that allocated them
 *   profile_events.c  callbacks
 */
#ifndef PROFILE_PRIV_H
#define PROFILE_PRIV_H

#include "counters.h"

#define RTC_API EXPORT
#include "rtcheck/profile.h"

/* Numbers that are for ever: programs may have them written down. */
enum variable {
    ALLOC_CALLS = 1,
    FREE_CALLS,
    ALLOC_BYTES,
    FREE_BYTES,
    BLOCKS_LIVE,
    BYTES_LIVE,
    BYTES_PEAK,
    HEAP_BYTES,
    THREADS_LIVE,
    REALLOC_CALLS,
    THREADS_SEEN,
    QUARANTINE_BYTES,
    SHADOW_BYTES,
    META_OVERHEAD_PCT,
    POOL_SIZE,
    POOL_USED,
    ERR_BAF,
    ERR_DUF,
    ERR_MAF,
    ERR_OOM,
    DROPPED,
    SUPPRESSED,
    BLOCKS_LEAKED,
    SCAN_COUNT,
    MAPS_LIVE,
    PERF_TASK_CLOCK_NS,
    PERF_FAULTS,
    PERF_CTX,
    TOP_SITES,
    VARIABLES
};

/* ---- values ---------------------------------------------------------------------------------- */

/* Never a number of what was not read: cleared, it is not known. */
struct value {
    bool known;
    int why; /* -errno; 0: -ENODATA */
    uint64_t value;
};

struct values {
    struct value of[VARIABLES]; /* of TOP_SITES how many there are */
    struct rtc_profile_site top[RTC_PROFILE_TOP_SITES];
};

/* Variables that are found out together. */
enum group {
    GROUP_COUNTS = 1 << 0,
    GROUP_HEAP = 1 << 1,
    GROUP_ERRORS = 1 << 2,
    GROUP_SCAN = 1 << 3,
    GROUP_MAPS = 1 << 4,
    GROUP_PERF = 1 << 5,
    GROUP_SITES = 1 << 6,
    GROUPS_CHEAP = GROUP_SITES - 1
};

struct variable_facts {
    struct rtc_profile_desc desc;
    uint32_t domains; /* bit n: enum rtc_profile_domain */
    uint32_t groups;  /* that it is made of */
    bool of_image;    /* a forked child begins at 0 */
};

/* NULL: a profile of this domain has none of this id. */
const struct variable_facts *variable_of(const rtc_profile_t *p, uint32_t id);

/* Between start_reads and end_reads. */
struct reads {
    uint32_t depth;
    struct values snapshot;
};

struct rtc_profile {
    _Atomic uint32_t state; /* enum profile_state */
    enum rtc_profile_domain domain;
    struct thread_record *thread; /* of a thread */
    uint32_t site;                /* of a site */
    _Atomic uint32_t image;       /* whose counts at_reset has */
    void *context;
    _Atomic uint64_t at_reset[VARIABLES];
    struct reads reads; /* its owner's: a callback's are its own */
};

/* Is it one, and open?  Any address is fine. */
bool profile_is_open(const rtc_profile_t *p);

/* These groups, and others where that costs nothing; -EAGAIN, -ESRCH.  Of one moment. */
int values_take(const rtc_profile_t *p, uint32_t groups, struct values *v);

/* ---- profile_sites.c ------------------------------------------------------------------------- */

/* All while nobody writes; false: no memory for it. */
struct site_sums {
    struct site_sum {
        uint64_t blocks, bytes;
    } * of; /* by stack */
    uint64_t count, bytes;
};
bool sites_add_up(struct site_sums *all);
void sites_drop(struct site_sums *all);
/* The largest first; how many. */
uint32_t sites_top(const struct site_sums *all, struct rtc_profile_site top[RTC_PROFILE_TOP_SITES]);
struct site_sum site_add_up(uint32_t stack);

/* ---- profile_events.c ------------------------------------------------------------------------ */

/* What a callback that runs in this thread reads of this profile; NULL: none does. */
struct reads *events_reads(const rtc_profile_t *p);
/* Does a callback of some profile run in this thread? */
bool events_are_delivered(void);
/* Nobody is told for this profile any more.  -EDEADLK, -ENOMEM. */
int events_forget(rtc_profile_t *p);

#endif
