/*
 * remap.c - mremap: the ranges it unmaps and maps, and their state if it fails.
 */
#include "change.h"

/* Is `at` in one of the pieces?  *same_until: the address up to which the result is the same. */
static bool is_in(const struct pieces *p, uintptr_t at, uintptr_t *same_until)
{
    *same_until = UINTPTR_MAX;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct range *r = &p->piece[i];
        if (at >= r->start && at < r->end) {
            *same_until = r->end;
            return true;
        }
        if (r->start > at && r->start < *same_until)
            *same_until = r->start;
    }
    return false;
}

/*
 * After a failure the kernel may have moved some of several mappings.  Where the old range is still
 * mapped, anything mapped in the new range is unchanged.  Elsewhere a mapping in the new range may
 * have been moved there, so it is reported as mapped.
 */
static void failed_to_move(struct change *c, struct range from, struct range over)
{
    struct pieces there, old;
    if (over.start == over.end) {
        change_unchanged(c, from);
        return;
    }
    /* Several mappings can only be moved with their size unchanged. */
    if (from.end - from.start != over.end - over.start) {
        change_unchanged(c, from);
        change_unchanged(c, over);
        return;
    }
    if (!pieces_find(from, &old)) {
        change_mapped(c, from);
        change_mapped(c, over);
        return;
    }
    change_unchanged(c, from);
    uintptr_t distance = from.start - over.start, stop;
    while (pieces_next(&over, &there))
        for (uint32_t i = 0; i < there.count; i++)
            for (uintptr_t at = there.piece[i].start; at < there.piece[i].end; at = stop) {
                bool is_old = is_in(&old, at + distance, &stop);
                stop = stop - distance < there.piece[i].end && stop != UINTPTR_MAX
                           ? stop - distance
                           : there.piece[i].end;
                change_notify(c, is_old ? RTC_EVENT_VM_CANCELLED : RTC_EVENT_VM_MAPPED,
                              (struct range){at, stop});
            }
}

/* Does the kernel refuse the call, whatever is mapped? */
static bool is_refused(const union rtc_event *e, struct range from, struct range over)
{
    uint32_t flags = (uint32_t)e->mremap.flags,
             known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    size_t old_size = e->mremap.old_size, new_size = e->mremap.new_size;
    if (flags & ~known || (uintptr_t)e->mremap.address % PAGE_BYTES || !new_size ||
        (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE)) ||
        (old_size && from.start == from.end))
        return true;
    if (flags & MREMAP_DONTUNMAP &&
        align_up(old_size, PAGE_BYTES) != align_up(new_size, PAGE_BYTES))
        return true;
    return flags & MREMAP_FIXED &&
           (over.start == over.end || (from.start < over.end && over.start < from.end));
}

/*
 * Enter the new range into the map: what the map contains of the old range, or for pages missing
 * there the kernel's data.
 */
static void remapped(struct change *c, const union rtc_event *e, struct range from)
{
    struct range to = range_of(e->mremap.result, e->mremap.new_size);
    struct map_region r;
    if (from.start < from.end)
        mapped_moved(&c->map, &(struct mapped_move){from.start, from.end, to.start, to.end,
                                                    e->mremap.flags & MREMAP_DONTUNMAP});
    /* old_size 0: a second mapping of shared memory. */
    else if (mapped_find((uintptr_t)e->mremap.address, &r)) {
        r.offset += (uintptr_t)e->mremap.address - r.start;
        r.start = to.start;
        r.end = to.end;
        mapped_new(&c->map, &r);
    }
}

void *change_remap(struct origin o, union rtc_event *e)
{
    struct change c;
    uint32_t flags = (uint32_t)e->mremap.flags;
    size_t new_size = e->mremap.new_size;
    struct range from = range_of(e->mremap.address, e->mremap.old_size);
    struct range over = flags & MREMAP_FIXED ? range_of(e->mremap.new_address, new_size) : NO_RANGE;
    if (is_refused(e, from, over))
        from = over = NO_RANGE;
    change_begin(&c, o);
    c.map.by = ENTRY_MREMAP;
    change_going(&c, from);
    change_going(&c, over);
    if (change_refused(&c, OP(MREMAP, MALLOC), over, from))
        return MAP_FAILED;
    mapped_begin(&c.map);
    change_call(&c, RTC_EVENT_MREMAP, e);
    if (e->mremap.result == INVALID_POINTER) {
        failed_to_move(&c, from, over);
        mapped_query_kernel(&c.map, over.start, over.end);
    } else {
        remapped(&c, e, from);
        if (flags & MREMAP_DONTUNMAP) /* the old range stays mapped, without pages */
            change_mapped(&c, from);
        change_mapped(&c, range_of(e->mremap.result, new_size));
    }
    change_end(&c);
    return e->mremap.result;
}
