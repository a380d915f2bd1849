/*
 * change.h - the state of a call that changes the address space: the handlers to notify, and its
 * transaction in the map of mappings.  It is shared by the files that implement the calls; change.c
 * and pieces.c have the common functions.
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

/* Report a range that will be unmapped, and remove it from the map. */
ALWAYS_INLINE void change_going(struct change *c, struct range r)
{
    change_unmapped(c, r);
    mapped_take(&c->map, r.start, r.end);
}

/* ---- pieces.c -------------------------------------------------------------------------------- */

void change_cancelled(struct change *c, struct range r);
/* A call has failed: the part of the announced range that is still mapped is unchanged. */
void change_unchanged(struct change *c, struct range r);
/*
 * Part of the range to be replaced or moved belongs to the runtime (unmap.c).  true: the call has
 * ended, and failed with ENOMEM.
 */
bool change_refused(struct change *c, uint32_t op, struct range over, struct range from);

#define PIECES_MAX 32u

struct pieces {
    uint32_t count; /* PIECES_MAX: there may be more after the last */
    struct range piece[PIECES_MAX];
};

/* Find the mapped parts of r, without those of the runtime; false: not available. */
bool pieces_find(struct range r, struct pieces *p);
/* The next pieces of r; removes them from r.  false: no more pieces. */
bool pieces_next(struct range *r, struct pieces *p);

/* ---- the call -------------------------------------------------------------------------------- */

/* `type` is a compile-time constant. */
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
