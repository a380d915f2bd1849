/*
 * change.h - a call that changes the address space, on its way: who is told of it, and the map of what is
 * mapped.  For the files that say what each call means (change.c has what they have in common).
 */
#ifndef EVENTS_CHANGE_H
#define EVENTS_CHANGE_H

#include "original.h"

struct change {
    struct visit visit;
    bool is_reported, raw;
    struct mapped_call map;
};

ALWAYS_INLINE void change_begin(struct change *c, struct origin o)
{
    c->is_reported = o.is_reported;
    c->raw = o.raw;
    mapped_at(&c->map, o.at);
    if (unlikely(o.is_reported))
        visit_begin(&c->visit);
}

ALWAYS_INLINE void change_end(struct change *c)
{
    mapped_end(&c->map);
    if (unlikely(c->is_reported))
        visit_end(&c->visit);
}

ALWAYS_INLINE void change_notify(struct change *c, uint32_t type, struct range r)
{
    if (unlikely(c->is_reported && r.start < r.end && c->visit.wanted & type))
        visit_notify_range(&c->visit, type, r);
}

ALWAYS_INLINE void change_mapped(struct change *c, struct range r)
{
    change_notify(c, RTC_EVENT_VM_MAPPED, r);
}

ALWAYS_INLINE void change_unmapped(struct change *c, struct range r)
{
    change_notify(c, RTC_EVENT_VM_UNMAPPED, r);
}

/* The same of what will not be mapped any more. */
ALWAYS_INLINE void change_going(struct change *c, struct range r)
{
    change_unmapped(c, r);
    mapped_take(&c->map, r.start, r.end);
}

/* ---- pieces.c -------------------------------------------------------------------------------- */

void change_cancelled(struct change *c, struct range r);
/* A call has failed: what of the announced range is mapped is what it was. */
void change_unchanged(struct change *c, struct range r);
/*
 * Some of what is about to be replaced, or moved, is the runtime's (unmap.c): the call is over, and
 * has failed as if there was no room.
 */
bool change_refused(struct change *c, uint32_t op, struct range over, struct range from);

#define PIECES_MAX 32u

struct pieces {
    uint32_t count; /* PIECES_MAX: there may be more behind the last */
    struct range piece[PIECES_MAX];
};

/* What of r is mapped, and none of the runtime's; false: it cannot be asked. */
bool pieces_find(struct range r, struct pieces *p);
/* The next pieces of r, which is shortened by them; false: there are none. */
bool pieces_next(struct range *r, struct pieces *p);

/* ---- the call -------------------------------------------------------------------------------- */

/* Of a type that the compiler knows. */
ALWAYS_INLINE void change_call(struct change *c, uint32_t type, union rtc_event *e)
{
    if (unlikely(c->is_reported))
        visit_before(&c->visit, type, e);
    if (likely(!dispatch_is_on))
        original_call(type, e);
    else if (c->raw)
        original_raw(type, e);
    else
        original_noted(type, e);
    if (unlikely(c->is_reported))
        visit_after(&c->visit, type, e);
}

#endif
