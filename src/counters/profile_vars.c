/*
 * profile_vars.c - the variables of profiles, and their sources.
 *
 * Nothing is counted only for profiles: the report needs the counters of threads and nearly all
 * other values anyway.  Thread counters are a consistent snapshot of all threads, for which no thread
 * waits (runfile/threads.c).  Site sums are taken while all writers are stopped; a writer continues
 * after a bounded time, so a failed scan is repeated.  Other values are read one by one.
 */
#include "profile_priv.h"

#include <errno.h>

#define SCANS_NS 1000000000ull /* no further scan of sites begins after this time */

#define PROCESS (1u << RTC_PROFILE_PROCESS)
#define THREAD (1u << RTC_PROFILE_THREAD)
#define SITE (1u << RTC_PROFILE_SITE)

#define NUMBER(id, flags, text, words)                                                      \
    {                                                                                       \
        id, RTC_PROFILE_PRIMITIVE, {.primitive = RTC_PROFILE_UINT64}, flags, 8, text, words \
    }
#define COUNTER(id, where, text, words, ...)                          \
    [id - 1] = {.desc = NUMBER(id, RTC_PROFILE_COUNTER, text, words), \
                .domains = where,                                     \
                .groups = __VA_ARGS__}
#define STATE(id, where, text, words, group) \
    [id - 1] = {.desc = NUMBER(id, 0, text, words), .domains = where, .groups = group}
#define OF_IMAGE .of_image = true

static const struct variable_facts variables[] = {
    COUNTER(ALLOC_CALLS, PROCESS | THREAD, "alloc_calls", "calls that gave a block", GROUP_COUNTS),
    COUNTER(FREE_CALLS, PROCESS | THREAD, "free_calls", "calls that took a block", GROUP_COUNTS),
    COUNTER(ALLOC_BYTES, PROCESS | THREAD, "alloc_bytes",
            "bytes asked for by calls that gave a block", GROUP_COUNTS),
    COUNTER(FREE_BYTES, PROCESS | THREAD, "free_bytes", "bytes of the blocks that were taken",
            GROUP_COUNTS),
    STATE(BLOCKS_LIVE, PROCESS | SITE, "blocks_live", "blocks in use", GROUP_COUNTS),
    STATE(BYTES_LIVE, PROCESS | SITE, "bytes_live", "bytes in use, as asked for", GROUP_COUNTS),
    STATE(BYTES_PEAK, PROCESS, "bytes_peak", "most bytes that were in use at a time", GROUP_COUNTS),
    STATE(HEAP_BYTES, PROCESS, "heap_bytes", "bytes of the heap, in use or free", GROUP_HEAP),
    STATE(THREADS_LIVE, PROCESS, "threads_live", "threads that have allocated, and are not over",
          GROUP_HEAP),
    COUNTER(REALLOC_CALLS, PROCESS | THREAD, "realloc_calls", "calls that resized a block",
            GROUP_COUNTS),
    COUNTER(THREADS_SEEN, PROCESS, "threads_seen", "threads that have allocated", GROUP_HEAP),
    STATE(QUARANTINE_BYTES, PROCESS, "quarantine_bytes",
          "bytes of freed blocks that are not used again yet", GROUP_HEAP),
    STATE(SHADOW_BYTES, PROCESS, "shadow_bytes",
          "bytes of what is noted of blocks, stacks and return addresses", GROUP_HEAP),
    STATE(META_OVERHEAD_PCT, PROCESS, "meta_overhead_pct", "100 * shadow_bytes / bytes_live",
          GROUP_HEAP | GROUP_COUNTS),
    STATE(POOL_SIZE, PROCESS, "pool_size", "bytes of the run file that are this process'",
          GROUP_HEAP),
    STATE(POOL_USED, PROCESS, "pool_used", "bytes of them that are in use", GROUP_HEAP),
    COUNTER(ERR_BAF, PROCESS, "err_baf", "frees of what is no block", GROUP_ERRORS, OF_IMAGE),
    COUNTER(ERR_DUF, PROCESS, "err_duf", "frees of blocks that were free", GROUP_ERRORS, OF_IMAGE),
    COUNTER(ERR_MAF, PROCESS, "err_maf", "frees of addresses inside of blocks", GROUP_ERRORS,
            OF_IMAGE),
    COUNTER(ERR_OOM, PROCESS, "err_oom", "allocations that failed for want of memory", GROUP_ERRORS,
            OF_IMAGE),
    COUNTER(DROPPED, PROCESS, "dropped", "errors that no room was found for", GROUP_ERRORS,
            OF_IMAGE),
    STATE(SUPPRESSED, PROCESS, "suppressed", "leaks of the last mid-run report that rules suppress",
          GROUP_SCAN),
    STATE(BLOCKS_LEAKED, PROCESS, "blocks_leaked",
          "blocks that the last search for leaks found lost", GROUP_SCAN),
    COUNTER(SCAN_COUNT, PROCESS, "scan_count", "searches for leaks in mid-run", GROUP_SCAN,
            OF_IMAGE),
    STATE(MAPS_LIVE, PROCESS, "maps_live", "ranges that calls have mapped, and that are mapped",
          GROUP_MAPS),
    COUNTER(PERF_TASK_CLOCK_NS, PROCESS, "perf_task_clock_ns", "CPU time, by the process's clock",
            GROUP_PERF, OF_IMAGE),
    COUNTER(PERF_FAULTS, PROCESS, "perf_faults", "page faults, by getrusage", GROUP_PERF, OF_IMAGE),
    COUNTER(PERF_CTX, PROCESS, "perf_ctx", "context switches, by getrusage", GROUP_PERF, OF_IMAGE),
    [TOP_SITES - 1] = {.desc = {TOP_SITES,
                                RTC_PROFILE_DEFINED,
                                {.defined = RTC_PROFILE_SITES},
                                0,
                                RTC_PROFILE_TOP_SITES * sizeof(struct rtc_profile_site),
                                "top_sites",
                                "where the most bytes that are in use were allocated"},
                       .domains = PROCESS,
                       .groups = GROUP_SITES},
};
static_assert(countof(variables) == VARIABLES - 1, "one descriptor each");

const struct variable_facts *variable_of(const rtc_profile_t *p, uint32_t id)
{
    const struct variable_facts *f = id && id < VARIABLES ? &variables[id - 1] : NULL;
    return f && f->domains >> p->domain & 1 ? f : NULL;
}

/* ---- sources --------------------------------------------------------------------------------- */

static void set(struct values *v, enum variable id, uint64_t value)
{
    v->of[id] = (struct value){.known = true, .value = value};
}

static void unknown(struct values *v, enum variable id, int why)
{
    v->of[id] = (struct value){.why = why};
}

static void put_counters(const struct thread_totals *sum, struct values *v)
{
    set(v, ALLOC_CALLS, sum->allocs);
    set(v, FREE_CALLS, sum->frees);
    set(v, ALLOC_BYTES, sum->alloc_bytes);
    set(v, FREE_BYTES, sum->free_bytes);
    set(v, REALLOC_CALLS, sum->reallocs);
}

static void put_counts(const struct thread_totals *sum, struct values *v)
{
    uint64_t live = sum->alloc_bytes - sum->free_bytes;
    put_counters(sum, v);
    set(v, BLOCKS_LIVE, sum->allocs - sum->frees);
    set(v, BYTES_LIVE, live);
    set(v, BYTES_PEAK, threads_peak((int64_t)live)); /* never lower than a peak reported before */
}

static void put_heap(struct values *v)
{
    const struct image_header *h = image();
    uint64_t bytes, unused, size, used;
    struct section s;
    heap_totals(&bytes, &unused);
    set(v, HEAP_BYTES, bytes);
    set(v, THREADS_LIVE, threads_alive());
    set(v, THREADS_SEEN, threads_born());
    set(v, QUARANTINE_BYTES, quarantine_waiting());
    set(v, SHADOW_BYTES,
        atomic_load_explicit(&h->segment_bytes, memory_order_relaxed) +
            atomic_load_explicit(&h->pc_bytes, memory_order_relaxed));
    if (v->of[BYTES_LIVE].known && v->of[BYTES_LIVE].value)
        set(v, META_OVERHEAD_PCT, 100 * v->of[SHADOW_BYTES].value / v->of[BYTES_LIVE].value);
    unknown(v, POOL_SIZE, -EAGAIN);
    unknown(v, POOL_USED, -EAGAIN);
    if (!section_begin(&s))
        return;
    segment_room(&size, &used);
    section_end(&s);
    set(v, POOL_SIZE, size);
    set(v, POOL_USED, used);
}

static void put_errors(struct values *v)
{
    const struct image_header *h = image();
    set(v, ERR_BAF, atomic_load_explicit(&h->bad_frees[BAD_FREE_BAD], memory_order_relaxed));
    set(v, ERR_DUF, atomic_load_explicit(&h->bad_frees[BAD_FREE_DUPLICATE], memory_order_relaxed));
    set(v, ERR_MAF, atomic_load_explicit(&h->bad_frees[BAD_FREE_MISALIGNED], memory_order_relaxed));
    set(v, ERR_OOM, errors_no_memory());
    set(v, DROPPED, atomic_load_explicit(&h->errors_unrecorded, memory_order_relaxed));
}

static void put_scan(struct values *v)
{
    struct scan_sum last;
    uint64_t hidden;
    set(v, SCAN_COUNT, atomic_load_explicit(&image()->leak_checks, memory_order_relaxed));
    if (scan_last(&last))
        set(v, BLOCKS_LEAKED, last.lost_blocks);
    if (scan_last_hidden(&hidden))
        set(v, SUPPRESSED, hidden);
}

static void put_maps(struct values *v)
{
    uint64_t ranges;
    if (mapped_live(&ranges))
        set(v, MAPS_LIVE, ranges);
    else
        unknown(v, MAPS_LIVE, -EAGAIN);
}

static void put_perf(struct values *v)
{
    struct rusage usage;
    int why = os_sandboxed() ? -EACCES : -ENODATA;
    unknown(v, PERF_FAULTS, why);
    unknown(v, PERF_CTX, why);
    set(v, PERF_TASK_CLOCK_NS, os_cpu_clock_ns());
    if (!os_usage(&usage))
        return;
    set(v, PERF_FAULTS, (uint64_t)(usage.ru_minflt + usage.ru_majflt));
    set(v, PERF_CTX, (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw));
}

/* ---- reading --------------------------------------------------------------------------------- */

static int take_thread(const rtc_profile_t *p, struct values *v)
{
    struct thread_totals sum;
    if (image()->image != p->image)
        return -ESRCH;
    if (!threads_record_at_once(p->thread, &sum))
        return -EAGAIN;
    put_counters(&sum, v);
    return 0;
}

/* May a scan that failed be repeated? */
static bool may_repeat(uint64_t begin_ns)
{
    os_yield();
    return os_clock_ns() - begin_ns < SCANS_NS;
}

/* A stopped writer continues when its wait times out: detect that by changed counts. */
static bool is_unchanged(const struct thread_totals *before)
{
    struct thread_totals now = threads_totals();
    return now.allocs == before->allocs && now.frees == before->frees;
}

static int try_site(const rtc_profile_t *p, struct values *v)
{
    if (!fork_stop_writers())
        return -EAGAIN;
    struct thread_totals counts = threads_totals();
    struct site_sum sum = site_add_up(p->site);
    bool unchanged = is_unchanged(&counts);
    fork_resume_writers();
    if (!unchanged)
        return -EAGAIN;
    set(v, BLOCKS_LIVE, sum.blocks);
    set(v, BYTES_LIVE, sum.bytes);
    return 0;
}

static int take_site(const rtc_profile_t *p, struct values *v)
{
    uint64_t begin = os_clock_ns();
    int err;
    do {
        err = try_site(p, v);
    } while (err == -EAGAIN && may_repeat(begin));
    return err;
}

/* Read sites and counts in the same stop of the writers. */
static int try_sites(struct thread_totals *counts, struct values *v)
{
    struct site_sums all;
    if (!fork_stop_writers())
        return -EAGAIN;
    *counts = threads_totals();
    bool there = sites_add_up(&all), unchanged = is_unchanged(counts);
    fork_resume_writers();
    unknown(v, TOP_SITES, -ENOMEM);
    if (there)
        set(v, TOP_SITES, sites_top(&all, v->top));
    if (there)
        sites_drop(&all);
    return unchanged ? 0 : -EAGAIN;
}

static int take_sites(struct thread_totals *counts, struct values *v)
{
    uint64_t begin = os_clock_ns();
    int err;
    do {
        err = try_sites(counts, v);
    } while (err == -EAGAIN && may_repeat(begin));
    return err;
}

static int take_process(uint32_t groups, struct values *v)
{
    struct thread_totals sum;
    int err = groups & GROUP_SITES ? take_sites(&sum, v) : 0;
    if (err)
        return err;
    if (!(groups & GROUP_SITES) && groups & GROUP_COUNTS && !threads_totals_at_once(&sum))
        return -EAGAIN;
    if (groups & (GROUP_COUNTS | GROUP_SITES))
        put_counts(&sum, v);
    if (groups & GROUP_HEAP)
        put_heap(v);
    if (groups & GROUP_ERRORS)
        put_errors(v);
    if (groups & GROUP_SCAN)
        put_scan(v);
    if (groups & GROUP_MAPS)
        put_maps(v);
    if (groups & GROUP_PERF)
        put_perf(v);
    return 0;
}

int values_take(const rtc_profile_t *p, uint32_t groups, struct values *v)
{
    struct section s;
    if (!section_begin(&s)) /* false: in a handler that has interrupted a section */
        return -EAGAIN;
    section_end(&s); /* a forked child has become an image of its own */
    if (p->domain == RTC_PROFILE_PROCESS)
        return take_process(groups, v);
    return p->domain == RTC_PROFILE_THREAD ? take_thread(p, v) : take_site(p, v);
}
