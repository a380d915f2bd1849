/*
 * handlers.c - who is told of events.
 *
 * The handlers are a table that never changes: registering publishes a new one.  An event holds no
 * lock while it visits them; it counts itself among the visitors of the current *turn*, on one of
 * two counters.  Whoever unregisters publishes the new table, begins the next turn (newcomers use
 * the other counter and find the new table), and waits until nobody of the last turn is left.  So a
 * stream of events keeps nobody waiting for ever, and a visitor never waits at all.
 *
 *      turn 6: inside[0] = 3     new table, turn := 7     inside[0] = 2, 1, 0: the old table is free
 *              inside[1] = 0                              inside[1] counts who came since
 *
 * The counters and the writers' lock lie in a page that the kernel wipes at a fork (also at one
 * that nobody tells us of): other threads' visits and changes do not exist in a child.  A visit
 * that goes on there - its callback forked - sees by the era that it is not counted.
 */
#include "events_priv.h"

#include <errno.h>
#include <string.h>

struct handlers {
    uint32_t count;
    size_t bytes;
    struct handlers *retired; /* list of those that visitors may still look at */
    struct handler handler[];
};

struct gate {
    _Atomic uint64_t era; /* 0: a new page */
    _Atomic uint64_t turn;
    _Atomic uint32_t inside[2];
    _Atomic uint32_t awaited; /* somebody waits for one of them */
    _Atomic uint32_t writer;  /* locks: 0 free, 1 held, 2 held and waited for */
    _Atomic uint32_t existing;
};

static struct {
    _Atomic(struct gate *) gate;
    _Atomic(const struct handlers *) table;
    _Atomic uint64_t eras;
    /* under the writers' lock */
    struct handlers *retired;
    uint32_t installed, external;
    bool disabled, configured;
} events;

_Atomic uint32_t events_armed;

static __thread struct visit *visiting; /* the innermost */

/* ---- the page ------------------------------------------------------------------------------- */

static struct gate wiped_by_hand; /* where the kernel does not do it */

static COLD struct gate *make_gate(void)
{
    struct gate *made = os_map(PAGE_BYTES), *none = NULL;
    if (os_failed(made))
        made = &wiped_by_hand;
    else if (os_wipe_on_fork(made, PAGE_BYTES)) {
        os_unmap(made, PAGE_BYTES);
        made = &wiped_by_hand;
    }
    if (atomic_compare_exchange_strong(&events.gate, &none, made))
        return made;
    if (made != &wiped_by_hand)
        os_unmap(made, PAGE_BYTES);
    return none;
}

static struct gate *gate(void)
{
    struct gate *g = atomic_load_explicit(&events.gate, memory_order_acquire);
    return likely(g) ? g : make_gate();
}

static void wipe(void)
{
    memset(&wiped_by_hand, 0, sizeof wiped_by_hand);
}

void events_constructed(void)
{
    struct object library;
    if (loader_find((uintptr_t)&events_constructed, &library))
        os_note_own((const void *)library.start, library.end - library.start);
    if (gate() == &wiped_by_hand)
        NEXT(register_atfork)(NULL, NULL, wipe, NULL);
    heap_constructed();
}

static uint64_t era_of(struct gate *g)
{
    uint64_t era = atomic_load_explicit(&g->era, memory_order_relaxed);
    if (unlikely(!era)) {
        uint64_t next = atomic_fetch_add(&events.eras, 1) + 1;
        if (atomic_compare_exchange_strong(&g->era, &era, next))
            era = next;
    }
    return era;
}

static void lock(_Atomic uint32_t *word)
{
    uint32_t free = 0;
    if (atomic_compare_exchange_strong(word, &free, 1))
        return;
    while (atomic_exchange(word, 2))
        os_wait(word, 2, 0, false);
}

static void unlock(_Atomic uint32_t *word)
{
    if (atomic_exchange(word, 0) == 2)
        os_wake(word, false);
}

void events_lock(void)
{
    lock(&gate()->existing);
}

void events_unlock(void)
{
    unlock(&gate()->existing);
}

/* ---- visits --------------------------------------------------------------------------------- */

static void leave(struct gate *g, uint32_t side)
{
    if (atomic_fetch_sub(&g->inside[side], 1) == 1 && unlikely(atomic_load(&g->awaited)))
        os_wake(&g->inside[side], false);
}

void visit_begin(struct visit *v)
{
    struct gate *g = gate();
    v->era = era_of(g);
    v->running = NULL;
    for (;;) {
        uint64_t turn = atomic_load(&g->turn);
        v->side = turn & 1;
        atomic_fetch_add(&g->inside[v->side], 1); /* seq_cst: pairs with wait_for_visitors */
        if (likely(atomic_load(&g->turn) == turn))
            break;
        leave(g, v->side);
    }
    const struct handlers *t = atomic_load(&events.table);
    v->to = t ? t->handler : NULL;
    v->count = t ? t->count : 0;
    v->outer = visiting;
    visiting = v;
}

void visit_end(struct visit *v)
{
    struct gate *g = gate();
    visiting = v->outer;
    if (unlikely(atomic_load_explicit(&g->era, memory_order_relaxed) != v->era))
        return; /* a child: not counted here */
    leave(g, v->side);
}

/* Its callback runs in this thread: for the call that it makes now it is deaf. */
static bool is_running(const struct visit *v, const struct handler *h)
{
    for (const struct visit *o = v; o; o = o->outer)
        if (o->running && o->running->callback == h->callback && o->running->arg == h->arg)
            return true;
    return false;
}

void visit_tell_one(struct visit *v, const struct handler *h, uint32_t type, union rtc_event *e)
{
    if (!(h->events & type) || is_running(v, h))
        return;
    int saved = errno;
    v->running = h;
    h->callback(type, e, h->arg);
    v->running = NULL;
    errno = saved;
}

void visit_tell(struct visit *v, uint32_t type, union rtc_event *e,
                void (*original)(uint32_t type, union rtc_event *e))
{
    uint32_t i = 0;
    for (; i < v->count && v->to[i].priority < 0; i++)
        visit_tell_one(v, &v->to[i], type, e);
    original(type, e);
    for (; i < v->count; i++)
        visit_tell_one(v, &v->to[i], type, e);
}

bool handlers_are_running(void)
{
    return visiting != NULL;
}

/* ---- changes -------------------------------------------------------------------------------- */

static int begin_change(void)
{
    if (visiting) /* it would wait for itself */
        return -EDEADLK;
    lock(&gate()->writer);
    return 0;
}

static void end_change(void)
{
    unlock(&gate()->writer);
}

/* Nobody who began before sees anything but the present table when this returns. */
static void wait_for_visitors(void)
{
    struct gate *g = gate();
    uint64_t turn = atomic_fetch_add(&g->turn, 1);
    _Atomic uint32_t *inside = &g->inside[turn & 1];
    uint32_t some;
    atomic_store(&g->awaited, 1);
    while ((some = atomic_load(inside)))
        os_wait(inside, some, 0, false);
    atomic_store(&g->awaited, 0);
    while (events.retired) {
        struct handlers *old = events.retired;
        events.retired = old->retired;
        os_unmap(old, old->bytes);
    }
}

/* The native events that lead to these. */
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
    const struct handlers *t = atomic_load(&events.table);
    uint32_t wanted = 0;
    for (uint32_t i = 0; t && i < t->count; i++)
        wanted |= t->handler[i].events;
    atomic_store(&events_armed, natives_of(wanted) & natives_of(events.installed));
    heap_constructed(); /* another's constructor may listen before ours has run */
    atomic_store(&heap_watched, wanted & events.installed & (RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED));
}

/* NULL: no memory.  To be filled and published. */
static struct handlers *new_table(uint32_t room)
{
    size_t bytes = align_up(sizeof(struct handlers) + room * sizeof(struct handler), PAGE_BYTES);
    struct handlers *t = os_map(bytes);
    if (os_failed(t))
        return NULL;
    t->bytes = bytes;
    return t;
}

static const struct handlers *present(void)
{
    static const struct handlers nobody;
    const struct handlers *t = atomic_load(&events.table);
    return t ? t : &nobody;
}

static void publish(struct handlers *t)
{
    union { /* it was made writable, by new_table */
        const struct handlers *published;
        struct handlers *ours;
    } old = {.published = atomic_load(&events.table)};
    atomic_store(&events.table, t);
    arm();
    if (!old.ours)
        return;
    old.ours->retired = events.retired;
    events.retired = old.ours;
}

/* Behind those of its priority. */
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
    wait_for_visitors();
    return 0;
}

EXPORT int rtc_event_set_handler(unsigned set, int priority, rtc_event_callback callback, void *arg)
{
    struct handler h = {set & ~EVENTS_FLAGS, priority, callback, arg};
    if (h.events & ~EVENTS_ALL || (h.events && !callback))
        return -EINVAL;
    int err = begin_change();
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
    visit_begin(&v); /* before anybody can unregister it */
    end_change();
    if (!err && set & RTC_EVENT_FLAG_EXISTING_ALLOC)
        existing_tell(&v, &h);
    visit_end(&v);
    return err;
}

EXPORT int rtc_event_unset_handler(unsigned set, rtc_event_callback callback, void *arg)
{
    struct handler gone = {set & ~EVENTS_FLAGS, 0, callback, arg};
    int err = begin_change();
    if (err)
        return err;
    err = take_out(&gone);
    end_change();
    return err;
}

static int change_external(uint32_t add_these, uint32_t take_these)
{
    if ((add_these | take_these) & ~EVENTS_ALL)
        return -EINVAL;
    int err = begin_change();
    if (err)
        return err;
    events.external = (events.external | add_these) & ~take_these;
    end_change();
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
    int err = begin_change();
    if (err)
        return err;
    if (!events.configured && options)
        events.disabled = !options->enable;
    events.configured = true;
    end_change();
    return 0;
}

uint32_t handlers_installed(uint32_t set)
{
    lock(&gate()->writer);
    uint32_t both = set & events.installed;
    end_change();
    return both;
}

uint32_t handlers_external(uint32_t set)
{
    lock(&gate()->writer);
    uint32_t both = set & events.external;
    end_change();
    return both;
}
