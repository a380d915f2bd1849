/*
 * profile.c - open and read profiles (rtcheck/profile.h).
 *
 * A profile is a cell of a chunk that stays mapped, so a pointer to a closed profile can be
 * detected.  A read returns the current value (profile_vars.c) minus the value at the last reset.
 */
#include "profile_priv.h"

#include <errno.h>
#include <string.h>

enum profile_state { PROFILE_FREE, PROFILE_TAKEN, PROFILE_OPEN };

#define CHUNK_BYTES (4 * PAGE_BYTES)

struct chunk {
    struct chunk *next;
    struct rtc_profile cell[];
};

#define CELLS ((CHUNK_BYTES - sizeof(struct chunk)) / sizeof(struct rtc_profile))

static _Atomic(struct chunk *) chunks;

/* ---- cells ----------------------------------------------------------------------------------- */

bool profile_is_open(const rtc_profile_t *p)
{
    for (struct chunk *c = atomic_load_explicit(&chunks, memory_order_acquire); c; c = c->next) {
        uintptr_t off = (uintptr_t)p - (uintptr_t)c->cell; /* wraps for addresses below */
        if (off < CELLS * sizeof *p)
            return off % sizeof *p == 0 &&
                   atomic_load_explicit(&p->state, memory_order_acquire) == PROFILE_OPEN;
    }
    return false;
}

static rtc_profile_t *take_of(struct chunk *c)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        uint32_t vacant = PROFILE_FREE;
        if (atomic_compare_exchange_strong(&c->cell[i].state, &vacant, PROFILE_TAKEN))
            return &c->cell[i];
    }
    return NULL;
}

static rtc_profile_t *cell_take_any(void)
{
    for (struct chunk *c = atomic_load_explicit(&chunks, memory_order_acquire); c; c = c->next) {
        rtc_profile_t *p = take_of(c);
        if (p)
            return p;
    }
    struct chunk *more = os_map(CHUNK_BYTES);
    if (os_failed(more))
        return NULL;
    rtc_profile_t *p = take_of(more);
    more->next = atomic_load_explicit(&chunks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&chunks, &more->next, more, memory_order_release,
                                                  memory_order_relaxed))
        ; /* pairs with profile_is_open */
    return p;
}

/* ---- profiles -------------------------------------------------------------------------------- */

/* Find the object of a profile.  Return -EINVAL, -ENOSYS, -EAGAIN or -ESRCH. */
static int find_object(enum rtc_profile_domain domain, uint64_t id, struct thread_record **thread)
{
    *thread = NULL;
    if (domain != RTC_PROFILE_PROCESS && domain != RTC_PROFILE_THREAD && domain != RTC_PROFILE_SITE)
        return -ENOSYS;
    if (id > UINT32_MAX || (domain == RTC_PROFILE_PROCESS && id) ||
        (domain == RTC_PROFILE_SITE && !id))
        return -EINVAL;
    if (!init_is_started())
        return -EAGAIN;
    if (domain == RTC_PROFILE_SITE)
        return depot_has((uint32_t)id) ? 0 : -EINVAL;
    if (domain == RTC_PROFILE_THREAD)
        *thread = threads_record_of(id ? (uint32_t)id : os_tid());
    return domain == RTC_PROFILE_THREAD && !*thread ? -ESRCH : 0;
}

EXPORT int rtc_profile_open(enum rtc_profile_domain domain, uint64_t id, uint64_t flags,
                            rtc_profile_t **profile, void *context)
{
    struct thread_record *thread;
    if (events_are_delivered())
        return -EDEADLK;
    int err = find_object(domain, id, &thread);
    if (!err && (!profile || flags))
        err = -EINVAL;
    if (err)
        return err;
    rtc_profile_t *p = cell_take_any();
    if (!p)
        return -ENOMEM;
    p->domain = domain;
    p->thread = thread;
    p->site = domain == RTC_PROFILE_SITE ? (uint32_t)id : 0;
    p->context = context;
    p->reads.depth = 0;
    atomic_store(&p->image, image()->image);
    for (uint32_t i = 0; i < VARIABLES; i++)
        atomic_store_explicit(&p->at_reset[i], 0, memory_order_relaxed);
    atomic_store_explicit(&p->state, PROFILE_OPEN, memory_order_release);
    *profile = p;
    return 0;
}

EXPORT int rtc_profile_close(rtc_profile_t *profile)
{
    uint32_t open = PROFILE_OPEN;
    if (!profile_is_open(profile))
        return -EINVAL;
    int err = events_forget(profile);
    if (!err && !atomic_compare_exchange_strong(&profile->state, &open, PROFILE_FREE))
        err = -EINVAL; /* another thread has closed it */
    return err;
}

EXPORT void *rtc_profile_context(rtc_profile_t *profile)
{
    return profile_is_open(profile) ? profile->context : NULL;
}

EXPORT uint64_t rtc_profile_site_of(const void *p)
{
    return p ? track_stack(p) : 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A forked child counts errors and other image variables from 0. */
static void adopt(rtc_profile_t *p)
{
    uint32_t now = image()->image;
    if (p->domain != RTC_PROFILE_PROCESS || atomic_exchange(&p->image, now) == now)
        return;
    for (uint32_t id = 1; id < VARIABLES; id++)
        if (variable_of(p, id)->of_image)
            atomic_store_explicit(&p->at_reset[id], 0, memory_order_relaxed);
}

static int take(rtc_profile_t *p, uint32_t groups, struct values *v)
{
    memset(v, 0, sizeof *v);
    int err = values_take(p, groups, v);
    if (!err)
        adopt(p);
    return err;
}

/* The reads of the callback that runs in this thread, or of the profile's owner. */
static struct reads *reads_of(rtc_profile_t *p)
{
    struct reads *reads_of_callback = events_reads(p);
    return reads_of_callback ? reads_of_callback : &p->reads;
}

EXPORT int rtc_profile_reset(rtc_profile_t *profile, uint64_t flags)
{
    struct values now;
    if (!profile_is_open(profile) || flags)
        return -EINVAL;
    if (events_are_delivered())
        return -EDEADLK;
    int err = profile->reads.depth ? -EBUSY : take(profile, GROUPS_CHEAP, &now);
    for (uint32_t id = 1; !err && id < VARIABLES; id++) {
        const struct variable_facts *f = variable_of(profile, id);
        if (f && f->desc.flags & RTC_PROFILE_COUNTER && now.of[id].known)
            atomic_store_explicit(&profile->at_reset[id], now.of[id].value, memory_order_relaxed);
    }
    return err;
}

/* ---- reading --------------------------------------------------------------------------------- */

EXPORT ssize_t rtc_profile_query_vars(rtc_profile_t *profile, struct rtc_profile_desc *list,
                                      size_t *count)
{
    if (!profile_is_open(profile) || !count)
        return -EINVAL;
    if (events_are_delivered())
        return -EDEADLK;
    size_t room = list ? *count : 0, there = 0;
    for (uint32_t id = 1; id < VARIABLES; id++) {
        const struct variable_facts *f = variable_of(profile, id);
        if (f && there < room)
            list[there] = f->desc;
        there += f != NULL;
    }
    *count = there;
    return (ssize_t)(room < there ? room : there);
}

static int read_one(rtc_profile_t *p, const struct variable_facts *f, struct values *v)
{
    const struct reads *reads = reads_of(p);
    if (reads->depth)
        *v = reads->snapshot;
    int err = reads->depth ? 0 : take(p, f->groups, v);
    struct value *one = &v->of[f->desc.id];
    if (!err && !one->known)
        err = one->why ? one->why : -ENODATA;
    if (!err)
        one->value -= atomic_load_explicit(&p->at_reset[f->desc.id], memory_order_relaxed);
    return err;
}

EXPORT int rtc_profile_read_u64(rtc_profile_t *profile, uint32_t id, uint64_t *value)
{
    struct values v;
    const struct variable_facts *f = profile_is_open(profile) ? variable_of(profile, id) : NULL;
    if (!f || f->desc.datatype_sel != RTC_PROFILE_PRIMITIVE || !value)
        return -EINVAL;
    int err = read_one(profile, f, &v);
    if (!err)
        *value = v.of[id].value;
    return err;
}

EXPORT int rtc_profile_read_data(rtc_profile_t *profile, uint32_t id, void *data, size_t *size)
{
    struct values v;
    const struct variable_facts *f = profile_is_open(profile) ? variable_of(profile, id) : NULL;
    if (!f || !size || (*size && !data))
        return -EINVAL;
    int err = read_one(profile, f, &v);
    if (err)
        return err;
    bool sites = f->desc.datatype_sel == RTC_PROFILE_DEFINED;
    size_t room = *size, there = sites ? v.of[id].value * sizeof v.top[0] : sizeof v.of[id].value;
    *size = there;
    if (there > room)
        return -ERANGE;
    memcpy(data, sites ? (const void *)v.top : &v.of[id].value, there);
    return 0;
}

EXPORT int rtc_profile_start_reads(rtc_profile_t *profile, uint64_t flags)
{
    bool sites = flags & RTC_PROFILE_WITH_SITES;
    if (!profile_is_open(profile) || flags & ~(uint64_t)RTC_PROFILE_WITH_SITES ||
        (sites && profile->domain != RTC_PROFILE_PROCESS))
        return -EINVAL;
    struct reads *reads = reads_of(profile);
    int err = 0;
    if (!reads->depth)
        err = take(profile, GROUPS_CHEAP | (sites ? GROUP_SITES : 0), &reads->snapshot);
    else if (sites && !reads->snapshot.of[TOP_SITES].known)
        err = -ENODATA;
    if (!err)
        reads->depth++;
    return err;
}

EXPORT int rtc_profile_end_reads(rtc_profile_t *profile, uint64_t flags)
{
    if (!profile_is_open(profile) || flags || !reads_of(profile)->depth)
        return -EINVAL;
    reads_of(profile)->depth--;
    return 0;
}
