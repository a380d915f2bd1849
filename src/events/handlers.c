/*
 * handlers.c - registered event handlers and their notification.  The table of handlers is
 * immutable and replaced as a whole (SRCU, sync/srcu.c).
 */
#include "events_priv.h"

#include <errno.h>
#include <string.h>

static struct {
    /* Protected by the SRCU update lock. */
    uint32_t installed, external;
    bool disabled, configured;
} events;

struct event_state event_state;
__thread struct visit *visiting;

void events_constructed(void)
{
    struct object library;
    if (loader_find((uintptr_t)&events_constructed, &library))
        os_note_own((const void *)library.start, library.end - library.start);
    heap_constructed();
}

/* The current table; empty before the first registration. */
static inline const struct handlers *present(void)
{
    static const struct handlers no_handlers;
    const struct handlers *t = atomic_load(&event_state.table);
    return t ? t : &no_handlers;
}

/* ---- notification ---------------------------------------------------------------------------- */

void visit_begin(struct visit *v)
{
    srcu_read_begin(&v->reader);
    const struct handlers *t = atomic_load(&event_state.table);
    v->running = NULL;
    v->to = t ? t->handler : NULL;
    v->count = t ? t->count : 0;
    v->before = t ? t->before : 0;
    v->wanted = t ? t->wanted : 0;
    v->outer = visiting;
    atomic_signal_fence(memory_order_seq_cst); /* a signal handler may read `v` from now on */
    visiting = v;
}

void visit_end(struct visit *v)
{
    visiting = v->outer;
    srcu_read_end(&v->reader);
}

void events_nonlocal_exit(const struct jump *j)
{
    while (visiting && jump_discards(j, (uintptr_t)visiting))
        visiting = jump_ends(j) ? NULL : visiting->outer;
    making_nonlocal_exit(j);
}

/*
 * Does the handler's callback already run in this thread?  It is not notified of calls it makes
 * itself.
 */
static COLD bool is_running(const struct visit *v, const struct handler *h)
{
    for (const struct visit *o = v; o; o = o->outer)
        if (o->running && o->running->callback == h->callback && o->running->arg == h->arg)
            return true;
    return false;
}

ALWAYS_INLINE void call_back(const struct handler *h, uint32_t type, union rtc_event *e)
{
    int32_t saved_count = cost_pause();
    h->callback(type, e, h->arg);
    cost_resume(saved_count);
}

ALWAYS_INLINE void notify_handler(struct visit *v, const struct handler *h, uint32_t type,
                                  union rtc_event *e)
{
    if (!(h->events & type) || (unlikely(v->outer != NULL) && is_running(v->outer, h)))
        return;
    v->running = h;
    call_back(h, type, e);
    v->running = NULL;
}

void visit_notify_one(struct visit *v, const struct handler *h, uint32_t type, union rtc_event *e)
{
    int saved = errno;
    notify_handler(v, h, type, e);
    errno = saved;
}

static COLD void some_timed(struct visit *v, uint32_t first, uint32_t end, uint32_t type,
                            union rtc_event *e)
{
    enum cost_call call = cost_begin(COST_EVENTS, 0);
    visit_notify_some(v, first, end, type, e);
    cost_end(call);
}

void visit_notify_some(struct visit *v, uint32_t first, uint32_t end, uint32_t type,
                       union rtc_event *e)
{
    int saved = errno;
    if (cost_is_sampled()) {
        some_timed(v, first, end, type, e);
        return;
    }
    for (uint32_t i = first; i < end; i++)
        notify_handler(v, &v->to[i], type, e);
    errno = saved;
}

static COLD void range_timed(struct visit *v, uint32_t type, struct range r)
{
    enum cost_call call = cost_begin(COST_EVENTS, 0);
    visit_notify_range(v, type, r);
    cost_end(call);
}

void visit_notify_range(struct visit *v, uint32_t type, struct range r)
{
    int saved = errno;
    if (cost_is_sampled()) {
        range_timed(v, type, r);
        return;
    }
    for (uint32_t i = 0; i < v->count; i++) {
        /* A copy per handler. */
        union rtc_event e = {.vm_mapped = {(void *)r.start, r.end - r.start}};
        notify_handler(v, &v->to[i], type, &e);
    }
    errno = saved;
}

static COLD void visit_from_within(uint32_t type, struct range r)
{
    struct visit v;
    visit_begin(&v);
    if (v.wanted & type)
        visit_notify_range(&v, type, r);
    visit_end(&v);
}

/* For an outermost visit, in which no handler is running. */
ALWAYS_INLINE void notify_all(struct visit *v, uint32_t type, struct range r)
{
    const struct handlers *all = present();
    const struct handler *h = all->handler, *end = h + all->count;
    for (; h < end; h++) {
        union rtc_event e; /* a copy per handler */
        if (!(h->events & type))
            continue;
        e.vm_mapped.address = (void *)r.start;
        e.vm_mapped.size = r.end - r.start;
        v->running = h;
        call_back(h, type, &e);
        v->running = NULL;
    }
}

static COLD void visit_timed(uint32_t type, struct range r)
{
    enum cost_call call = cost_begin(COST_EVENTS, 0);
    visit_with_range(type, r);
    cost_end(call);
}

/*
 * Fast path for the usual case that this thread has no visit in progress.  Other code reads only
 * `outer` and `running` of such a visit.
 */
void visit_with_range(uint32_t type, struct range r)
{
    struct visit v;
    if (unlikely(r.start >= r.end))
        return;
    if (cost_is_sampled()) {
        visit_timed(type, r);
        return;
    }
    if (unlikely(!srcu_read_begin_outermost(&v.reader))) {
        visit_from_within(type, r);
        return;
    }
    int *error = v.reader.thread->error, saved = *error;
    v.outer = NULL;
    v.running = NULL;
    atomic_signal_fence(memory_order_seq_cst); /* a signal handler may read `v` */
    visiting = &v;
    notify_all(&v, type, r);
    visiting = NULL;
    *error = saved;
    srcu_read_end_outermost(&v.reader);
}

/* ---- registration ---------------------------------------------------------------------------- */

/* The native events that cause these events. */
static uint32_t natives_of(uint32_t set)
{
    uint32_t natives = set & EVENTS_NATIVE;
    if (set & RTC_EVENT_VM_MAPPED)
        natives |= EVENTS_MAPPING;
    if (set & (RTC_EVENT_VM_UNMAPPED | RTC_EVENT_VM_CANCELLED))
        natives |= EVENTS_UNMAPPING;
    return natives;
}

static void arm(void)
{
    const struct handlers *t = atomic_load(&event_state.table);
    uint32_t wanted = t ? t->wanted : 0;
    uint32_t natives = natives_of(wanted) & natives_of(events.installed);
    uint32_t all = dispatch_is_on ? ARMED_ALL : 0;
    atomic_store(&event_state.armed, natives | WANTED_ITSELF(natives & wanted) | all);
    heap_constructed(); /* another library's constructor may register before ours has run */
    atomic_store(&heap_watched,
                 wanted & events.installed & (RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED));
}

void handlers_dispatch(bool on)
{
    srcu_update_lock();
    dispatch_is_on = on;
    arm();
    srcu_update_end();
}

/* NULL: no memory.  The caller fills and publishes the table. */
static struct handlers *new_table(uint32_t room)
{
    return srcu_table_new(sizeof(struct handlers) + room * sizeof(struct handler));
}

static void publish(struct handlers *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        t->before += t->handler[i].priority < 0;
        t->wanted |= t->handler[i].events;
    }
    struct handlers *old = atomic_exchange(&event_state.table, t);
    arm();
    srcu_retire(old ? &old->table : NULL);
}

/* Insert a handler after those of the same priority. */
static int add(const struct handler *h)
{
    const struct handlers *before = present();
    struct handlers *t = new_table(before->count + 1);
    if (!t)
        return -ENOMEM;
    uint32_t n = 0;
    while (n < before->count && before->handler[n].priority <= h->priority)
        n++;
    memcpy(t->handler, before->handler, n * sizeof *h);
    t->handler[n] = *h;
    memcpy(t->handler + n + 1, before->handler + n, (before->count - n) * sizeof *h);
    t->count = before->count + 1;
    publish(t);
    return 0;
}

static int take_out(const struct handler *gone)
{
    const struct handlers *before = present();
    struct handlers *t = new_table(before->count);
    if (!t)
        return -ENOMEM;
    for (uint32_t i = 0; i < before->count; i++) {
        struct handler h = before->handler[i];
        if (h.callback == gone->callback && h.arg == gone->arg)
            h.events &= ~gone->events;
        if (h.events)
            t->handler[t->count++] = h;
    }
    publish(t);
    srcu_synchronize();
    return 0;
}

EXPORT int rtc_event_set_handler(unsigned set, int priority, rtc_event_callback callback, void *arg)
{
    struct handler h = {set & ~EVENTS_FLAGS, priority, callback, arg};
    if (h.events & ~EVENTS_ALL || (h.events && !callback))
        return -EINVAL;
    int err = srcu_update_begin();
    if (err)
        return err;
    if (h.events && events.disabled)
        err = -ENOTSUP;
    if (h.events && !err) {
        uint32_t before = events.installed;
        if (!(set & RTC_EVENT_FLAG_NO_INSTALL)) {
            uint32_t own = h.events & ~events.external;
            events.installed |= own | natives_of(own);
        }
        err = add(&h);
        if (err)
            events.installed = before;
    }
    struct visit v;
    visit_begin(&v); /* before another thread can unregister the handler */
    srcu_update_end();
    if (!err && set & RTC_EVENT_FLAG_EXISTING_ALLOC)
        existing_notify(&v, &h);
    visit_end(&v);
    return err;
}

EXPORT int rtc_event_unset_handler(unsigned set, rtc_event_callback callback, void *arg)
{
    struct handler gone = {set & ~EVENTS_FLAGS, 0, callback, arg};
    int err = srcu_update_begin();
    if (err)
        return err;
    err = take_out(&gone);
    srcu_update_end();
    return err;
}

static int change_external(uint32_t add_these, uint32_t take_these)
{
    if ((add_these | take_these) & ~EVENTS_ALL)
        return -EINVAL;
    int err = srcu_update_begin();
    if (err)
        return err;
    events.external = (events.external | add_these) & ~take_these;
    srcu_update_end();
    return 0;
}

EXPORT int rtc_event_set_external(unsigned set)
{
    return change_external(set, 0);
}

EXPORT int rtc_event_unset_external(unsigned set)
{
    return change_external(0, set);
}

EXPORT int rtc_event_init(const struct rtc_event_options *options)
{
    if (options && options->size != sizeof *options)
        return -EINVAL;
    int err = srcu_update_begin();
    if (err)
        return err;
    if (!events.configured && options)
        events.disabled = !options->enable;
    events.configured = true;
    srcu_update_end();
    return 0;
}

uint32_t handlers_installed(uint32_t set)
{
    srcu_update_lock();
    uint32_t both = set & events.installed;
    srcu_update_end();
    return both;
}

uint32_t handlers_external(uint32_t set)
{
    srcu_update_lock();
    uint32_t both = set & events.external;
    srcu_update_end();
    return both;
}
