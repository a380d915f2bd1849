/*
 * profile_priv.h - declarations shared by the files of rtcheck/profile.h.
 *
 *   profile.c         open and read profiles
 *   profile_vars.c    the variables and their sources
 *   profile_sites.c   live blocks by allocation stack
 *   profile_events.c  callbacks
 */
#ifndef PROFILE_PRIV_H
#define PROFILE_PRIV_H

#include "counters.h"

#define RTC_API EXPORT
#include "rtcheck/profile.h"

/* Stable IDs: programs may have them compiled in. */
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

/* A cleared value is not known.  Never report a value that was not read. */
struct value {
    bool known;
    int why; /* -errno; 0: -ENODATA */
    uint64_t value;
};

struct values {
    struct value of[VARIABLES]; /* for TOP_SITES: the number of sites */
    struct rtc_profile_site top[RTC_PROFILE_TOP_SITES];
};

/* Variables that are determined together. */
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
    uint32_t groups;  /* that its value needs */
    bool of_image;    /* a forked child starts at 0 */
};

/* Return NULL if a profile of this domain has no such variable. */
const struct variable_facts *variable_of(const rtc_profile_t *p, uint32_t id);

/* State between start_reads and end_reads. */
struct reads {
    uint32_t depth;
    struct values snapshot;
};

struct rtc_profile {
    _Atomic uint32_t state; /* enum profile_state */
    enum rtc_profile_domain domain;
    struct thread_record *thread; /* the thread of a thread profile */
    uint32_t site;                /* the stack of a site profile */
    _Atomic uint32_t image;       /* the image that at_reset belongs to */
    void *context;
    _Atomic uint64_t at_reset[VARIABLES];
    struct reads reads; /* of its owner; each callback has its own */
};

/* Is it an open profile?  Accepts any address. */
bool profile_is_open(const rtc_profile_t *p);

/*
 * Take a consistent snapshot of these groups, and of others at no extra cost.  Return -EAGAIN or
 * -ESRCH.
 */
int values_take(const rtc_profile_t *p, uint32_t groups, struct values *v);

/* ---- profile_sites.c ------------------------------------------------------------------------- */

/* Sums of all sites.  Call sites_add_up while the writers are stopped; false: no memory. */
struct site_sums {
    struct site_sum {
        uint64_t blocks, bytes;
    } * of; /* by stack */
    uint64_t count, bytes;
};
bool sites_add_up(struct site_sums *all);
void sites_drop(struct site_sums *all);
/* Fill in the largest sites first; return their number. */
uint32_t sites_top(const struct site_sums *all, struct rtc_profile_site top[RTC_PROFILE_TOP_SITES]);
struct site_sum site_add_up(uint32_t stack);

/* ---- profile_events.c ------------------------------------------------------------------------ */

/* The reads of a callback that runs in this thread for this profile, or NULL. */
struct reads *events_reads(const rtc_profile_t *p);
/* Does a callback of any profile run in this thread? */
bool events_are_delivered(void);
/* Remove all callbacks of this profile.  Return -EDEADLK or -ENOMEM. */
int events_forget(rtc_profile_t *p);

#endif
