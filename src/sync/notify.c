/*
 * notify.c - notifications to the program about events, as they happen.
 *
 * Most events happen inside a section, where the program must not be called. The thread records
 * them, and delivers them after the section with no lock held. Events that the program has not
 * requested are not recorded.
 *
 * Callbacks may query the runtime and free, but must not allocate. The event may come from an
 * allocation, and a failed one in the callback would be another event. So their allocations return
 * NULL: the thread's crit is odd meanwhile (section.c).
 */
#include "init.h"

#include <errno.h>

static void (*notify_hook)(const struct notification *h);

void notify_start(void (*hook)(const struct notification *h))
{
    notify_hook = hook;
}

void notify_program(const struct notification *h)
{
    if (!notify_is_wanted(h->event) || !notify_hook)
        return;
    int saved = errno;
    notify_hook(h);
    errno = saved;
}

struct notify_pending notify_take_pending(struct thread *t)
{
    struct notify_pending pending = t->pending_notifications;
    t->pending_notifications.events = 0;
    return pending;
}

void notify_deliver(const struct notify_pending *pending)
{
    for (enum notify_event e = 0; e < NOTIFY_COUNT; e++) {
        struct notification h = {.event = e};
        if (e == NOTIFY_BAD_FREE)
            h.bad_free = pending->bad_free;
        if (pending->events >> e & 1)
            notify_program(&h);
    }
}

bool callback_begin(struct callback *c)
{
    struct section s;
    if (!section_begin(&s)) /* in a handler that interrupted one */
        return false;
    c->t = self; /* registered now, or NULL past its end */
    section_end(&s);
    if (!c->t)
        return false;
    c->outer = c->t->callback;
    c->t->callback = (uintptr_t)c | 1;
    c->t->after |= AFTER_CALLBACK;
    atomic_store_explicit(&c->t->crit, c->t->callback, memory_order_relaxed);
    return true;
}

/* Call outside of sections. */
static void callback_reopen(struct thread *t)
{
    if (!t->callback)
        t->after &= (uint8_t)~AFTER_CALLBACK;
    atomic_store_explicit(&t->crit, t->callback, memory_order_relaxed);
}

void callback_end(struct callback *c)
{
    c->t->callback = c->outer;
    callback_reopen(c->t);
}

void callback_nonlocal_exit(const struct jump *j)
{
    struct thread *t = self;
    while (t->callback && jump_discards(j, t->callback))
        t->callback =
            jump_ends(j) ? 0 : ((const struct callback *)(t->callback & ~(uintptr_t)1))->outer;
    if (!thread_is_inside(t))
        callback_reopen(t);
}

/* ---- leak scans ------------------------------------------------------------------------------ */

static struct {
    _Atomic uint32_t changes; /* a seqlock: odd while `sum` is written */
    _Atomic uint32_t image;   /* the image that made the scan; 0: none was made */
    struct scan_sum sum;
    _Atomic uint64_t hidden; /* leaks hidden by rules when they were reported, + 1; 0: not known */
    _Atomic uint32_t hidden_image;
} last;

void scan_note(const struct scan_sum *sum)
{
    atomic_fetch_add(&last.changes, 1);
    last.sum = *sum;
    atomic_store(&last.image, image()->image);
    atomic_fetch_add(&last.changes, 1);
}

bool scan_last(struct scan_sum *out)
{
    uint32_t before = atomic_load(&last.changes);
    *out = last.sum;
    atomic_thread_fence(memory_order_acquire);
    return !(before & 1) && before == atomic_load(&last.changes) && before &&
           atomic_load(&last.image) == image()->image;
}

void scan_note_hidden(uint64_t leaks)
{
    atomic_store(&last.hidden_image, image()->image);
    atomic_store(&last.hidden, leaks + 1);
}

bool scan_last_hidden(uint64_t *leaks)
{
    uint64_t hidden = atomic_load(&last.hidden);
    *leaks = hidden - 1;
    return hidden && atomic_load(&last.hidden_image) == image()->image;
}
