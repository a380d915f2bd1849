/*
 * find.c - from an address to its block, and from the block to its record.
 */
#include "heap_priv.h"

struct found pool_find(const void *p)
{
    uint64_t offset = (uintptr_t)p - heap.base;
    if (offset >= atomic_load_explicit(&heap.bytes, memory_order_acquire))
        return (struct found){.verdict = PTR_FOREIGN};
    struct unit *u = heap.unit + (offset >> RTC_UNIT_SHIFT);
    struct unit *head = u - u->back;
    uint64_t owner = atomic_load_explicit(&head->owner, memory_order_acquire);
    uint32_t kind = owner_kind(owner);
    uint64_t inside = (uintptr_t)p - unit_address(head);
    if (is_slab(kind)) {
        const struct size_class *c = &size_class[kind - 1];
        struct slot_position position = classify_in_slab(inside, c->slot_bytes, c->slots);
        return (struct found){position.verdict, head, kind, position.slot, position.offset};
    }
    if (kind == UNIT_LARGE && (uintptr_t)p >= large_start_of(head)) {
        inside = (uintptr_t)p - large_start_of(head);
        return (struct found){inside ? PTR_INSIDE : PTR_START, head, kind, 0, (uint32_t)inside};
    }
    return (struct found){.verdict = kind == UNIT_FOREIGN ? PTR_FOREIGN : PTR_UNUSED};
}

uint64_t pool_inside(const struct found *f, uintptr_t at)
{
    if (f->verdict != PTR_INSIDE)
        return 0;
    return is_slab(f->kind) ? f->offset : at - large_start_of(f->head);
}

/* Returned for a record that no longer exists: its state is never that of a block. */
static struct large_record no_record;

/* The block may be gone if the caller does not own it: in a sweep, or at a double free. */
static struct block_record *record_of(const struct found *f)
{
    uint64_t owner = atomic_load_explicit(&f->head->owner, memory_order_acquire);
    if (owner_kind(owner) != f->kind)
        return &no_record.block;
    if (f->kind == UNIT_LARGE) {
        struct large_record *large = owner_pointer(owner);
        return &large->block;
    }
    return segment_record(owner_pointer(owner), f->slot);
}

struct block_record *pool_record(const struct found *f, uint32_t write_epoch)
{
    if (atomic_load_explicit(&f->head->epoch, memory_order_acquire) != write_epoch)
        fork_own(f->head, write_epoch);
    return record_of(f);
}

const struct block_record *pool_look(const struct found *f, uint32_t write_epoch)
{
    if (write_epoch && fork_is_unsure(f->head))
        fork_own(f->head, write_epoch);
    return record_of(f);
}

uint64_t pool_room(const struct found *f)
{
    if (is_slab(f->kind))
        return size_class[f->kind - 1].slot_bytes - 1;
    return large_room(f->head);
}

uint64_t pool_request(const struct found *f, const struct block_record *b, uint64_t word)
{
    /* the requested size is unknown: all of the slot may be used */
    if (word_state(word) == BLOCK_INHERITED)
        return pool_room(f);
    if (is_slab(f->kind))
        return word_size(word);
    const struct large_record *large = (const struct large_record *)(const void *)b;
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&large->request,
                                memory_order_relaxed);
}
