/*
 * foreign.c - parts of the heap's address space that the program maps over (MAP_FIXED,
 * MREMAP_FIXED, SHM_REMAP).
 *
 * Programs do this with blocks that they have freed, and a test of ASan with pages inside a large
 * block.  Native malloc allows it.  So the units that the new mapping touches are removed from the
 * pool before the call.  They are never reused, even after munmap: the program may unmap them
 * without a visible call.
 *
 *  block or slot in use    nothing is changed, and the call fails
 *  freed block or slot     leaves the quarantine, and writes to it are reported now; if a slab has
 *                          no block in use, all its slots leave the threads' caches
 *  free run                is cut
 *  above the heap's end    a hole (space.c), which the heap skips when it grows
 *
 * No record describes a foreign unit, so sweeps, forks and readers of the run file skip it.  A late
 * free of an old block there is a free of a foreign address.  Pages of the first and last unit
 * outside the new mapping are unmapped.
 *
 * Pending blocks (pending.c) and those of an untrusted fork are in no list: such units cannot be
 * removed.
 */
#include "heap_priv.h"

struct span {
    uint64_t first, end; /* units */
};

static struct span span_of(uintptr_t start, uintptr_t end)
{
    return (struct span){(start - heap.base) >> RTC_UNIT_SHIFT,
                         align_up(end - heap.base, UNIT_BYTES) >> RTC_UNIT_SHIFT};
}

static uintptr_t address_of(uint64_t unit)
{
    return heap.base + (unit << RTC_UNIT_SHIFT);
}

static uint64_t end_of_used(const struct span *s)
{
    uint64_t used = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    return s->end < used ? s->end : used;
}

static uint32_t kind_of(const struct unit *u)
{
    return owner_kind(atomic_load_explicit(&u->owner, memory_order_relaxed));
}

/* Number of units from u on that may be removed with the block, slab or run of u; 0: none. */
static uint64_t may_go(struct unit *u, uint32_t write_epoch)
{
    struct unit *head = u - u->back;
    uint32_t kind = kind_of(head);
    if (u == heap.unit || kind == UNIT_FOREIGN)
        return 1;
    if (is_slab(kind))
        return slab_is_unused(head, kind, write_epoch) ? size_class[kind - 1].units - u->back : 0;
    if (kind == UNIT_LARGE)
        return large_is_held(head) ? note_of(head)->units - u->back : 0;
    struct unit *run = units_run_of(u);
    return run ? run_length(run) - (uint64_t)(u - run) : 0;
}

/* The kernel may have placed a mapping of the runtime where the program has unmapped its own. */
static bool is_mapped_again(const struct span *s)
{
    uintptr_t own, own_end;
    for (uintptr_t at = address_of(s->first); at < address_of(s->end); at = own_end) {
        os_next_own(at, &own, &own_end);
        if (own >= address_of(s->end))
            return false;
        uintptr_t stop = address_of(s->end);
        struct span piece = span_of(own, own_end < stop ? own_end : stop);
        for (uint64_t i = piece.first; i < end_of_used(&piece); i++)
            if (kind_of(heap.unit + i) == UNIT_FOREIGN)
                return true;
        if (space_is_hole(piece.first, piece.end))
            return true;
    }
    return false;
}

static bool may_all_go(const struct span *s, uint32_t write_epoch)
{
    uint64_t n;
    for (uint64_t i = s->first, end = end_of_used(s); i < end; i += n)
        if (!(n = may_go(heap.unit + i, write_epoch)))
            return false;
    return !is_mapped_again(s);
}

static void drop_blocks(const struct span *s, uint32_t write_epoch)
{
    for (uint64_t i = s->first, end = end_of_used(s); i < end; i++) {
        struct unit *head = heap.unit + i - heap.unit[i].back;
        uint32_t kind = kind_of(head);
        if (is_slab(kind))
            slab_drop(head, kind, write_epoch);
        else if (kind == UNIT_LARGE)
            large_drop(head);
    }
}

/* Is [start, end) part of one mapping of the runtime that begins at start? */
static bool is_own(uintptr_t start, uintptr_t end)
{
    uintptr_t own, own_end;
    os_next_own(start, &own, &own_end);
    return start < end && own == start && own_end >= end;
}

bool heap_make_foreign(uintptr_t start, uintptr_t end, uint32_t write_epoch)
{
    struct span s = span_of(start, end);
    uintptr_t first = address_of(s.first), last = address_of(s.end);
    bool before = is_own(first, start), after = is_own(end, last);
    if (!may_all_go(&s, write_epoch) || !os_disown(first, last))
        return false;
    units_keep(true);
    drop_blocks(&s, write_epoch);
    units_keep(false);
    units_make_foreign(s.first, s.end);
    if (before)
        os_unmap((void *)first, start - first);
    if (after)
        os_unmap((void *)end, last - end);
    return true;
}
