/*
 * visit.h - registered handlers, and the visit that notifies them of an event.
 */
#ifndef EVENTS_VISIT_H
#define EVENTS_VISIT_H

#include "events.h"

#define RTC_API EXPORT
#include "rtcheck/event.h"

struct range {
    uintptr_t start, end; /* whole pages; equal: empty */
};

struct handler {
    uint32_t events;
    int priority;
    rtc_event_callback callback;
    void *arg;
};

/* Immutable; replaced as a whole (SRCU, sync/srcu.c). */
struct handlers {
    struct srcu_table table;
    uint32_t count;
    uint32_t before; /* number of handlers with a priority below 0, which come first */
    uint32_t wanted; /* union of their events */
    struct handler handler[];
};

/*
 * The notification of one event, or of the few events of one call, to the handlers registered at
 * its start.  It lies on the caller's stack; begin and end must be in the same function.
 */
struct visit {
    struct visit *outer; /* the visit with the callback that made this call */
    const struct handler *to;
    uint32_t count;
    uint32_t before, wanted;       /* number with a priority below 0; union of their events */
    const struct handler *running; /* currently; NULL: none */
    struct srcu_reader reader;
};

extern HIDDEN struct event_state {
    /*
     * The native events with handlers: calls without handlers test only this word.  It also
     * contains WANTED_ITSELF of the native events that a handler is registered for; for the others
     * only ranges are reported.  ARMED_ALL is set if every system call is dispatched.
     */
    _Atomic uint32_t armed;
    _Atomic(struct handlers *) table; /* NULL: no registration yet */
} event_state;

extern HIDDEN __thread struct visit *visiting; /* the innermost */

#define WANTED_ITSELF(native) ((uint32_t)(native) << 12)
#define ARMED_ALL (1u << 31)

ALWAYS_INLINE uint32_t armed(void)
{
    return atomic_load_explicit(&event_state.armed, memory_order_relaxed);
}

ALWAYS_INLINE bool is_armed(uint32_t native)
{
    return unlikely(armed() & native);
}

void visit_begin(struct visit *v);
void visit_end(struct visit *v);
/*
 * Notify those of the handlers first .. end - 1 that are registered for the event and not running.
 */
void visit_notify_some(struct visit *v, uint32_t first, uint32_t end, uint32_t type,
                       union rtc_event *e);
/* Notify only this handler, unless it is running. */
void visit_notify_one(struct visit *v, const struct handler *h, uint32_t type, union rtc_event *e);
/* Notify all handlers of a range event: VM_MAPPED, VM_UNMAPPED or VM_CANCELLED. */
void visit_notify_range(struct visit *v, uint32_t type, struct range r);
/* The same, in a visit of its own. */
void visit_with_range(uint32_t type, struct range r);

/*
 * Notify handlers of a native event: those that run before the call, and those that run after it.
 */
ALWAYS_INLINE void visit_before(struct visit *v, uint32_t type, union rtc_event *e)
{
    if (v->wanted & type)
        visit_notify_some(v, 0, v->before, type, e);
}

ALWAYS_INLINE void visit_after(struct visit *v, uint32_t type, union rtc_event *e)
{
    if (v->wanted & type)
        visit_notify_some(v, v->before, v->count, type, e);
}

#endif
