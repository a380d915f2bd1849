/*
 * profile_events.c - deliver notifications to the program's callbacks.
 *
 * The table of callbacks is immutable and replaced as a whole (SRCU, sync/srcu.c). sync/notify.c
 * delivers events in the thread that caused them, with no lock held.  Each callback has its own
 * reads, because the profile's owner may be between start_reads and end_reads.
 */
#include "profile_priv.h"

#include <errno.h>
#include <string.h>

#define PROCESS (1u << RTC_PROFILE_PROCESS)
#define THREAD (1u << RTC_PROFILE_THREAD)

struct listener {
    rtc_profile_t *profile;
    enum notify_event event;
    rtc_profile_callback callback;
    void *context;
};

struct callbacks {
    struct srcu_table table;
    uint32_t count;
    struct listener listener[];
};

static _Atomic(struct callbacks *) callbacks;

/* A running callback.  The structure is on its caller's stack. */
struct delivery {
    struct delivery *outer;
    const struct listener *listener;
    struct reads reads;
};

static __thread struct delivery *delivering; /* the innermost */

/* ---- events ---------------------------------------------------------------------------------- */

#define EVENT(id, where, kind, bytes, text, words)     \
    [NOTIFY_##id] = {{NOTIFY_##id + 1,                 \
                      RTC_PROFILE_DEFINED,             \
                      {.defined = RTC_PROFILE_##kind}, \
                      0,                               \
                      bytes,                           \
                      text,                            \
                      words},                          \
                     where}

static const struct event_facts {
    struct rtc_profile_desc desc;
    uint32_t domains;
} events[] = {
    EVENT(ALLOC_ERROR, PROCESS | THREAD, ALLOC_ERROR, sizeof(struct rtc_profile_alloc_error),
          "alloc_error", "an allocation failed for want of memory"),
    EVENT(BAD_FREE, PROCESS | THREAD, BAD_FREE, sizeof(struct rtc_profile_bad_free), "bad_free",
          "a free of no block, or by a function for others"),
    EVENT(SCAN_DONE, PROCESS, SCAN, sizeof(struct rtc_profile_scan), "leak_scan_done",
          "a search for leaks was made"),
    EVENT(POOL_GROW, PROCESS, POOL, sizeof(struct rtc_profile_pool), "pool_grow",
          "more of the run file has become this process'"),
    EVENT(POOL_FULL, PROCESS, POOL, sizeof(struct rtc_profile_pool), "pool_full",
          "the run file had no room"),
    [NOTIFY_FORK_CHILD] = {{NOTIFY_FORK_CHILD + 1,
                            RTC_PROFILE_PRIMITIVE,
                            {.primitive = RTC_PROFILE_UINT64},
                            0,
                            8,
                            "fork_child",
                            "this is a forked child; its parent's pid"},
                           PROCESS},
    EVENT(THREAD_EXIT, PROCESS | THREAD, THREAD_EXIT, sizeof(struct rtc_profile_thread_exit),
          "thread_exit", "a thread is about to end"),
    EVENT(REPORT, PROCESS, NO_DATA, 0, "report", "findings were reported, or will be next"),
};
static_assert(countof(events) == NOTIFY_COUNT, "one descriptor each");

static bool has_event(const rtc_profile_t *p, uint32_t id)
{
    return id && id <= NOTIFY_COUNT && events[id - 1].domains >> p->domain & 1;
}

EXPORT ssize_t rtc_profile_query_events(rtc_profile_t *profile, struct rtc_profile_desc *list,
                                        size_t *count)
{
    if (!profile_is_open(profile) || !count)
        return -EINVAL;
    if (events_are_delivered())
        return -EDEADLK;
    size_t room = list ? *count : 0, there = 0;
    for (uint32_t id = 1; id <= NOTIFY_COUNT; id++) {
        if (has_event(profile, id) && there < room)
            list[there] = events[id - 1].desc;
        there += has_event(profile, id);
    }
    *count = there;
    return (ssize_t)(room < there ? room : there);
}

/* ---- data ------------------------------------------------------------------------------------ */

union data {
    struct rtc_profile_alloc_error alloc_error;
    struct rtc_profile_bad_free bad_free;
    struct rtc_profile_scan scan;
    struct rtc_profile_pool pool;
    struct rtc_profile_thread_exit thread_exit;
    uint64_t parent;
};

static uint32_t kind_of(uint32_t error)
{
    return error == ERROR_BAF   ? RTC_PROFILE_BAF
           : error == ERROR_DUF ? RTC_PROFILE_DUF
           : error == ERROR_MAF ? RTC_PROFILE_MAF
                                : RTC_PROFILE_MIS;
}

static void put_pool(struct rtc_profile_pool *to)
{
    struct section s;
    if (!section_begin(&s))
        return;
    segment_room(&to->size, &to->used);
    section_end(&s);
}

static void put_thread(struct rtc_profile_thread_exit *to)
{
    const struct thread_record *r = self->record;
    to->tid = self->tid;
    to->alloc_calls = atomic_load_explicit(&r->allocs, memory_order_relaxed);
    to->free_calls = atomic_load_explicit(&r->frees, memory_order_relaxed);
    to->alloc_bytes = atomic_load_explicit(&r->alloc_bytes, memory_order_relaxed);
    to->free_bytes = atomic_load_explicit(&r->free_bytes, memory_order_relaxed);
}

static void put_scan(struct rtc_profile_scan *to, const struct scan_sum *from)
{
    *to = (struct rtc_profile_scan){from->lost_blocks, from->lost_bytes, from->possible_blocks,
                                    from->possible_bytes, from->at_end};
}

static void put_data(union data *to, const struct notification *h)
{
    memset(to, 0, sizeof *to);
    if (h->event == NOTIFY_ALLOC_ERROR)
        to->alloc_error =
            (struct rtc_profile_alloc_error){h->alloc_error.bytes, h->alloc_error.stack};
    if (h->event == NOTIFY_BAD_FREE)
        to->bad_free = (struct rtc_profile_bad_free){h->bad_free.address, h->bad_free.stack,
                                                     kind_of(h->bad_free.kind), 0};
    if (h->event == NOTIFY_SCAN_DONE)
        put_scan(&to->scan, &h->scan);
    if (h->event == NOTIFY_POOL_GROW || h->event == NOTIFY_POOL_FULL)
        put_pool(&to->pool);
    if (h->event == NOTIFY_THREAD_EXIT)
        put_thread(&to->thread_exit);
    if (h->event == NOTIFY_FORK_CHILD)
        to->parent = image()->ppid;
}

/* ---- delivery -------------------------------------------------------------------------------- */

bool events_are_delivered(void)
{
    return delivering != NULL;
}

struct reads *events_reads(const rtc_profile_t *p)
{
    for (struct delivery *t = delivering; t; t = t->outer)
        if (t->listener->profile == p)
            return &t->reads;
    return NULL;
}

/* A callback is not notified of events that it causes itself. */
static bool is_running(const struct listener *e)
{
    for (const struct delivery *t = delivering; t; t = t->outer)
        if (t->listener->profile == e->profile && t->listener->event == e->event)
            return true;
    return false;
}

static bool is_for(const struct listener *e, enum notify_event event)
{
    const rtc_profile_t *p = e->profile;
    return e->event == event && !is_running(e) &&
           (p->domain != RTC_PROFILE_THREAD ||
            (p->thread == self->record && p->image == image()->image));
}

void counters_nonlocal_exit(const struct jump *j)
{
    while (delivering && jump_discards(j, (uintptr_t)delivering))
        delivering = jump_ends(j) ? NULL : delivering->outer;
}

static void deliver_one(const struct listener *e, const struct notification *h)
{
    struct delivery delivery = {.outer = delivering, .listener = e};
    struct rtc_profile_desc desc = events[h->event].desc;
    union data data;
    put_data(&data, h);
    delivering = &delivery;
    e->callback(e->profile, &desc, desc.size ? &data : NULL, desc.size, e->context);
    delivering = delivery.outer;
}

static void deliver(const struct notification *h)
{
    struct srcu_reader reader;
    struct callback guard;
    if (!callback_begin(&guard))
        return;
    srcu_read_begin(&reader);
    const struct callbacks *c = atomic_load(&callbacks);
    for (uint32_t i = 0; c && i < c->count; i++)
        if (is_for(&c->listener[i], h->event))
            deliver_one(&c->listener[i], h);
    srcu_read_end(&reader);
    callback_end(&guard);
}

static void notify_fork_child(void)
{
    notify_program(&(struct notification){.event = NOTIFY_FORK_CHILD});
}

/* ---- registration ---------------------------------------------------------------------------- */

/* The atfork handler is registered last, so it runs in the child after our other handlers. */
static void listen(uint32_t id)
{
    static _Atomic bool to_forks;
    notify_start(deliver);
    if (id == NOTIFY_FORK_CHILD + 1 && !atomic_exchange(&to_forks, true))
        NEXT(register_atfork)(NULL, NULL, notify_fork_child, NULL);
}

/* Signals are blocked: a handler may change the table, too. */
static int begin_change(struct os_signals *s)
{
    if (srcu_is_reading())
        return -EDEADLK;
    os_block_signals(s);
    return srcu_update_begin();
}

static void end_change(const struct os_signals *s)
{
    srcu_update_end();
    os_restore_signals(s);
}

static void publish(struct callbacks *t)
{
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < t->count; i++)
        wanted |= 1u << t->listener[i].event;
    struct callbacks *old = atomic_exchange(&callbacks, t);
    atomic_store(&notify_wanted, wanted);
    srcu_retire(old ? &old->table : NULL);
}

/*
 * Remove the callbacks of a profile for one event, or for all (id 0).  Add `one` unless it is NULL.
 */
static int change(const rtc_profile_t *p, uint32_t id, const struct listener *one)
{
    const struct callbacks *before = atomic_load(&callbacks);
    uint32_t count = before ? before->count : 0, kept = 0;
    struct callbacks *t = srcu_table_new(sizeof *t + (count + 1) * sizeof *one);
    if (!t)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct listener *e = &before->listener[i];
        if (e->profile != p || (id && e->event != id - 1))
            t->listener[kept++] = *e;
    }
    t->count = kept;
    if (one)
        t->listener[t->count++] = *one;
    publish(t);
    if (kept < count)
        srcu_synchronize();
    return 0;
}

EXPORT int rtc_profile_register_callback(rtc_profile_t *profile, uint32_t event_id,
                                         rtc_profile_callback callback, void *context)
{
    if (!profile_is_open(profile) || !has_event(profile, event_id))
        return -EINVAL;
    struct listener one = {profile, (enum notify_event)(event_id - 1), callback, context};
    if (!srcu_is_reading() && callback)
        listen(event_id);
    struct os_signals signals;
    int err = begin_change(&signals);
    if (err)
        return err;
    err = change(profile, event_id, callback ? &one : NULL);
    end_change(&signals);
    return err;
}

int events_forget(rtc_profile_t *p)
{
    struct os_signals signals;
    int err = begin_change(&signals);
    if (err)
        return err;
    const struct callbacks *c = atomic_load(&callbacks);
    bool some = false;
    for (uint32_t i = 0; c && i < c->count; i++)
        some |= c->listener[i].profile == p;
    err = some ? change(p, 0, NULL) : 0;
    end_change(&signals);
    return err;
}
