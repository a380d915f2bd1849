/*
 * profile.c - variables of the heap, for the program.
 *
 * Nothing is counted for them: the counters of every thread are there for the report.  A snapshot is a
 * moment of all of them (threads.c); what is read is that, less what it was at the last reset.
 */
#include "counters.h"

#define RTC_API EXPORT
#include "rtcheck/profile.h"

#include <errno.h>

#define PROFILE_MARK 0x70726f66u

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
    VARIABLES
};

struct values {
    uint64_t of[VARIABLES];
};

struct rtc_profile {
    uint32_t mark;
    uint32_t depth; /* of start_reads */
    struct thread_record *thread; /* NULL: of the process */
    uint32_t image; /* when it was opened */
    void *context;
    struct values at_reset, snapshot;
};

#define COUNTER(variable, text, words)                                                        \
    [variable - 1] = {variable, RTC_PROFILE_PRIMITIVE, {RTC_PROFILE_UINT64}, RTC_PROFILE_COUNTER, 8, text, words}
#define STATE(variable, text, words)                                                          \
    [variable - 1] = {variable, RTC_PROFILE_PRIMITIVE, {RTC_PROFILE_UINT64}, 0, 8, text, words}

static const struct rtc_profile_desc variables[] = {
    COUNTER(ALLOC_CALLS, "alloc_calls", "calls that gave a block"),
    COUNTER(FREE_CALLS, "free_calls", "calls that took a block"),
    COUNTER(ALLOC_BYTES, "alloc_bytes", "bytes asked for by calls that gave a block"),
    COUNTER(FREE_BYTES, "free_bytes", "bytes of the blocks that were taken"),
    STATE(BLOCKS_LIVE, "blocks_live", "blocks in use"),
    STATE(BYTES_LIVE, "bytes_live", "bytes in use, as asked for"),
    STATE(BYTES_PEAK, "bytes_peak", "most bytes that were in use at a time"),
    STATE(HEAP_BYTES, "heap_bytes", "bytes of the heap, in use or free"),
    STATE(THREADS_LIVE, "threads_live", "threads that have allocated, and are not over"),
};
static_assert(countof(variables) == VARIABLES - 1, "one descriptor each");

static bool is_profile(const rtc_profile_t *p)
{
    return p && p->mark == PROFILE_MARK;
}

/* How many of the variables it has: the first ones. */
static size_t count_of(const rtc_profile_t *p)
{
    return p->thread ? FREE_BYTES : countof(variables);
}

/* ---- values --------------------------------------------------------------------------------------- */

static void counters_of(const struct thread_totals *sum, struct values *v)
{
    v->of[ALLOC_CALLS] = sum->allocs;
    v->of[FREE_CALLS] = sum->frees;
    v->of[ALLOC_BYTES] = sum->alloc_bytes;
    v->of[FREE_BYTES] = sum->free_bytes;
}

static int take_thread(const rtc_profile_t *p, struct values *v)
{
    struct thread_totals sum;
    if (image()->image != p->image)
        return -ESRCH;
    if (!threads_record_at_once(p->thread, &sum))
        return -EAGAIN;
    counters_of(&sum, v);
    return 0;
}

static int take_process(struct values *v)
{
    struct thread_totals sum;
    uint64_t unused;
    if (!threads_totals_at_once(&sum))
        return -EAGAIN;
    counters_of(&sum, v);
    v->of[BLOCKS_LIVE] = sum.allocs - sum.frees;
    v->of[BYTES_LIVE] = sum.alloc_bytes - sum.free_bytes;
    uint64_t peak = atomic_load_explicit(&image()->peak_bytes, memory_order_relaxed);
    v->of[BYTES_PEAK] = peak > v->of[BYTES_LIVE] ? peak : v->of[BYTES_LIVE];
    heap_totals(&v->of[HEAP_BYTES], &unused);
    v->of[THREADS_LIVE] = threads_alive();
    return 0;
}

static int take(const rtc_profile_t *p, struct values *v)
{
    struct section s;
    if (!section_begin(&s)) /* we are in a handler that interrupted one */
        return -EAGAIN;
    section_end(&s); /* a forked child is an image of its own now */
    return p->thread ? take_thread(p, v) : take_process(v);
}

/* ---- profiles ------------------------------------------------------------------------------------- */

static int find_thread(uint64_t id, struct thread_record **record)
{
    *record = threads_record_of(id ? (uint32_t)id : os_tid());
    return *record ? 0 : -ESRCH;
}

EXPORT int rtc_profile_open(enum rtc_profile_domain domain, uint64_t id, uint64_t flags,
                            rtc_profile_t **profile, void *context)
{
    struct thread_record *thread = NULL;
    if (domain != RTC_PROFILE_PROCESS && domain != RTC_PROFILE_THREAD)
        return -ENOSYS;
    if (!profile || flags || id > UINT32_MAX || (domain == RTC_PROFILE_PROCESS && id))
        return -EINVAL;
    if (!core_is_started())
        return -EAGAIN;
    int err = domain == RTC_PROFILE_THREAD ? find_thread(id, &thread) : 0;
    if (err)
        return err;
    rtc_profile_t *p = os_map(PAGE_BYTES);
    if (os_failed(p))
        return -ENOMEM;
    p->thread = thread;
    p->image = image()->image;
    p->context = context;
    p->mark = PROFILE_MARK;
    *profile = p;
    return 0;
}

EXPORT int rtc_profile_close(rtc_profile_t *profile)
{
    if (!is_profile(profile))
        return -EINVAL;
    profile->mark = 0;
    os_unmap(profile, PAGE_BYTES);
    return 0;
}

EXPORT void *rtc_profile_context(rtc_profile_t *profile)
{
    return is_profile(profile) ? profile->context : NULL;
}

EXPORT int rtc_profile_reset(rtc_profile_t *profile, uint64_t flags)
{
    struct values now = {{0}};
    if (!is_profile(profile) || flags)
        return -EINVAL;
    int err = profile->depth ? -EBUSY : take(profile, &now);
    if (err)
        return err;
    for (uint32_t i = 0; i < countof(variables); i++)
        if (variables[i].flags & RTC_PROFILE_COUNTER)
            profile->at_reset.of[variables[i].id] = now.of[variables[i].id];
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------------- */

EXPORT ssize_t rtc_profile_query_vars(rtc_profile_t *profile, struct rtc_profile_desc *list, size_t *count)
{
    if (!is_profile(profile) || !count)
        return -EINVAL;
    size_t room = list ? *count : 0, there = count_of(profile), given = room < there ? room : there;
    for (size_t i = 0; i < given; i++)
        list[i] = variables[i];
    *count = there;
    return (ssize_t)given;
}

EXPORT int rtc_profile_read_u64(rtc_profile_t *profile, uint32_t id, uint64_t *value)
{
    struct values now;
    if (!is_profile(profile) || !id || id > count_of(profile))
        return -EINVAL;
    int err = profile->depth ? 0 : take(profile, &now);
    if (err)
        return err;
    *value = (profile->depth ? profile->snapshot.of[id] : now.of[id]) - profile->at_reset.of[id];
    return 0;
}

EXPORT int rtc_profile_start_reads(rtc_profile_t *profile, uint64_t flags)
{
    if (!is_profile(profile) || flags)
        return -EINVAL;
    int err = profile->depth ? 0 : take(profile, &profile->snapshot);
    if (!err)
        profile->depth++;
    return err;
}

EXPORT int rtc_profile_end_reads(rtc_profile_t *profile, uint64_t flags)
{
    if (!is_profile(profile) || flags || !profile->depth)
        return -EINVAL;
    profile->depth--;
    return 0;
}
