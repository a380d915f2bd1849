/*
 * each.c - visit the record of every block.
 */
#include "heap_priv.h"

typedef bool visit_fn(void *about, const struct found *f, const struct block_record *b);

static bool visit_slab(struct unit *head, uint64_t owner, visit_fn *visit, void *about)
{
    uint32_t kind = owner_kind(owner);
    struct found f = {PTR_START, head, kind, 0, 0};
    for (; f.slot < size_class[kind - 1].slots; f.slot++)
        if (!visit(about, &f, segment_record(owner_pointer(owner), f.slot)))
            return false;
    return true;
}

static bool visit_large(struct unit *head, uint64_t owner, visit_fn *visit, void *about)
{
    const struct large_record *r = owner_pointer(owner);
    return visit(about, &(struct found){PTR_START, head, UNIT_LARGE, 0, 0}, &r->block);
}

bool each_block(bool inherited, visit_fn *visit, void *about)
{
    uint64_t bytes = atomic_load_explicit(&heap.bytes, memory_order_acquire);
    for (struct unit *u = heap.unit + 1, *end = heap.unit + (bytes >> RTC_UNIT_SHIFT); u < end;
         u++) {
        uint64_t owner = atomic_load_explicit(&u->owner, memory_order_acquire);
        uint32_t kind = owner_kind(owner);
        if (u->back || (!is_slab(kind) && kind != UNIT_LARGE) ||
            (!inherited && fork_is_inherited(u)))
            continue;
        if (!(is_slab(kind) ? visit_slab : visit_large)(u, owner, visit, about))
            return false;
    }
    return true;
}
