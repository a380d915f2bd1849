/*
 * change.c - the effect of each call on the address space, reported before and after the call: mmap
 * and munmap here, the others in remap.c, shm.c, break.c and stays.c.
 *
 * Before the call the range to be unmapped is reported.  Then the native event is reported and the
 * call is made.  After it, the mapped range is reported; or, if the call has failed, the part of
 * the announced range that is still mapped.  The kernel does not guarantee that a failed call
 * changes nothing: the target of MAP_FIXED and MREMAP_FIXED may be empty.  So after a failure
 * /proc/self/maps is read.  This takes time, but only in failed calls that have announced a range.
 *
 * Ranges are computed from the caller's arguments.  A handler that modifies the event's fields
 * changes the call, and is responsible for the ranges that other handlers see.
 */
#include "change.h"

#include <errno.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static uint64_t page_unit(int flags)
{
    uint32_t shift = (uint32_t)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    if (!(flags & MAP_HUGETLB))
        return PAGE_BYTES;
    return shift ? 1ull << shift : HUGE_PAGE_BYTES;
}

void *change_map(struct origin o, union rtc_event *e)
{
    struct change c;
    size_t size = e->mmap.size;
    int flags = e->mmap.flags;
    struct range over = NO_RANGE;
    change_begin(&c, o);
    c.map.by = ENTRY_MMAP;
    if (flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE) && e->mmap.address) {
        if ((uintptr_t)e->mmap.address % page_unit(flags) == 0)
            over = range_in((uintptr_t)e->mmap.address, e->mmap.size, page_unit(flags));
        change_going(&c, over);
    }
    if (change_refused(&c, OP(MMAP, MALLOC), over, NO_RANGE))
        return MAP_FAILED;
    mapped_begin(&c.map);
    change_call(&c, RTC_EVENT_MMAP, e);
    if (e->mmap.result != INVALID_POINTER) {
        struct range come =
            range_in((uintptr_t)e->mmap.result, e->mmap.size, page_unit(e->mmap.flags));
        struct map_region r = region_of_call(come, e->mmap.prot, e->mmap.flags, e->mmap.offset);
        (o.libcs ? mapped_new_of_libc : mapped_new)(&c.map, &r);
        if (unlikely(c.is_reported))
            change_mapped(&c, range_in((uintptr_t)e->mmap.result, size, page_unit(flags)));
    } else
        change_unchanged(&c, over);
    change_end(&c);
    return e->mmap.result;
}

/* Unmap only the parts of the range that do not belong to the runtime. */
static int unmap_program_ranges(struct range gone)
{
    struct range piece;
    for (uintptr_t at = 0; existing_program_range(gone, &at, &piece);)
        if (MAKING(RTC_EVENT_MUNMAP, piece.start, piece.end - piece.start,
                   NEXT(munmap)((void *)piece.start, piece.end - piece.start)) != 0)
            return -1;
    return 0;
}

/*
 * Part of the range belongs to the runtime: that part stays mapped, whether or not the call
 * succeeds.
 */
static COLD void unmap_around_own(struct change *c, union rtc_event *e, struct range gone)
{
    uintptr_t own, own_end;
    if (c->is_reported)
        visit_before(&c->visit, RTC_EVENT_MUNMAP, e);
    if (e->munmap.result == -1)
        e->munmap.result = unmap_program_ranges(range_of(e->munmap.address, e->munmap.size));
    if (c->is_reported)
        visit_after(&c->visit, RTC_EVENT_MUNMAP, e);
    for (uintptr_t at = gone.start; at < gone.end; at = own_end) {
        os_next_own(at, &own, &own_end);
        change_cancelled(c, (struct range){own > gone.start ? own : gone.start,
                                           own_end < gone.end ? own_end : gone.end});
    }
}

static int unmap_taken(struct change *c, void *address, size_t size, struct range gone)
{
    union rtc_event e = {.munmap = {-1, address, size}};
    if (unmap_has_own(&c->map, gone.start, gone.end))
        unmap_around_own(c, &e, gone);
    else
        change_call(c, RTC_EVENT_MUNMAP, &e);
    if (unlikely(e.munmap.result == -1))
        change_unchanged(c, gone);
    if (c->map.unmaps)
        mapped_unmapped(&c->map, e.munmap.result != -1);
    change_end(c);
    return e.munmap.result;
}

int change_unmap(struct origin o, void *address, size_t size)
{
    struct change c;
    struct range gone = range_of(address, size);
    change_begin(&c, o);
    c.map.unmaps = !o.libcs;
    change_going(&c, gone);
    return unmap_taken(&c, address, size, gone);
}

COLD int change_unmap_taken(const struct mapped_call *taken, bool is_reported, void *address,
                            size_t size)
{
    struct change c = {.map = *taken, .is_reported = is_reported};
    if (is_reported)
        visit_begin(&c.visit);
    return unmap_taken(&c, address, size, range_of(address, size));
}
