/*
 * pieces.c - finds the parts of an announced range that are still mapped after a failed call, by
 * /proc/self/maps.
 */
#include "change.h"

#include <errno.h>

void change_cancelled(struct change *c, struct range r)
{
    change_notify(c, RTC_EVENT_VM_CANCELLED, r);
    mapped_unchanged(&c->map, r.start, r.end);
}

static void add_piece(struct pieces *p, struct range r)
{
    if (p->count && p->piece[p->count - 1].end == r.start)
        p->piece[p->count - 1].end = r.end;
    else if (p->count < PIECES_MAX)
        p->piece[p->count++] = r;
}

bool pieces_find(struct range r, struct pieces *p)
{
    struct mappings all;
    struct mapping m;
    struct range piece;
    p->count = 0;
    if (r.start >= r.end)
        return true;
    if (os_mappings_open(&all))
        return false;
    while (os_mappings_next(&all, &m) && m.start < r.end) {
        struct range in = {m.start > r.start ? m.start : r.start, m.end < r.end ? m.end : r.end};
        for (uintptr_t at = 0; in.start < in.end && existing_program_range(in, &at, &piece);)
            add_piece(p, piece);
    }
    os_mappings_close(&all);
    return true;
}

bool pieces_next(struct range *r, struct pieces *p)
{
    if (!pieces_find(*r, p) || !p->count)
        return false;
    r->start = p->count < PIECES_MAX ? r->end : p->piece[p->count - 1].end;
    return true;
}

/* The whole range is mapped: the call has changed nothing. */
static void none_unmapped(struct change *c, struct range r)
{
    struct range piece;
    for (uintptr_t at = 0; existing_program_range(r, &at, &piece);)
        change_cancelled(c, piece);
}

/*
 * Programs try mremap before they move data themselves, and /proc/self/maps can be long.  So it is
 * read only if the range has a hole.
 */
void change_unchanged(struct change *c, struct range r)
{
    struct pieces p;
    if (!c->is_reported && !c->map.count && !c->map.more)
        return; /* no handler was notified, and the map has nothing there */
    if (r.start < r.end && os_all_mapped(r.start, r.end - r.start)) {
        none_unmapped(c, r);
        return;
    }
    if (!pieces_find(r, &p))
        change_cancelled(c, r);
    while (pieces_next(&r, &p))
        for (uint32_t i = 0; i < p.count; i++)
            change_cancelled(c, p.piece[i]);
}

bool change_refused(struct change *c, uint32_t op, struct range over, struct range from)
{
    if (likely(!unmap_refuses(&c->map, op, from.start, from.end, false) &&
               !unmap_refuses(&c->map, op, over.start, over.end, true)))
        return false;
    change_unchanged(c, from);
    change_unchanged(c, over);
    errno = ENOMEM;
    change_end(c);
    return true;
}
