/*
 * visit.h - who is told, and the visit that an event pays them.
 */
#ifndef EVENTS_VISIT_H
#define EVENTS_VISIT_H

#include "events.h"

#define RTC_API EXPORT
#include "rtcheck/event.h"

struct range {
    uintptr_t start, end; /* whole pages; equal: none */
};

struct handler {
    uint32_t events;
    int priority;
    rtc_event_callback callback;
    void *arg;
};

/* Is only replaced (core/srcu.c). */
struct handlers {
    struct srcu_table table;
    uint32_t count;
    uint32_t before; /* of those, at the front: with a priority below 0 */
    uint32_t wanted; /* events, by any */
    struct handler handler[];
};

/*
 * One event, or the few that one call makes, on its way through the handlers that there are when it
 * begins.  On the caller's stack; begin and end in the same function.
 */
struct visit {
    struct visit *outer; /* the one whose callback made this call */
    const struct handler *to;
    uint32_t count;
    uint32_t before, wanted;       /* so many of them have a priority below 0; events, by any */
    const struct handler *running; /* now; NULL: none */
    struct srcu_reader reader;
};

extern HIDDEN struct event_state {
    /*
     * The native events whose calls are to be told: the one word that calls without handlers look at.  And
     * WANTED_ITSELF of those that a handler wants; else the ranges are all that is told.  And ARMED_ALL
     * where every system call is looked at.
     */
    _Atomic uint32_t armed;
    _Atomic(struct handlers *) table; /* NULL: nobody yet */
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
/* From the first-th handler to before the end-th, those that want it and do not run. */
void visit_notify_some(struct visit *v, uint32_t first, uint32_t end, uint32_t type,
                       union rtc_event *e);
/* To this one alone, unless it is running. */
void visit_notify_one(struct visit *v, const struct handler *h, uint32_t type, union rtc_event *e);
/* A range that is VM_MAPPED or the like, to all of these. */
void visit_notify_range(struct visit *v, uint32_t type, struct range r);
/* The same, and a visit of its own. */
void visit_with_range(uint32_t type, struct range r);

/* A native event to its handlers: those that come before the call is made, and the others. */
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
