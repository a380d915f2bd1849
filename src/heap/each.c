/*
 * each.c - visit the record of every block; make records of blocks whose records were lost.
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

/* ---- lost records (runfile/cut.c) ------------------------------------------------------------ */

/* Where the content of an object will be, if all of it was lost. */
static void *content_of(const struct lost_records *lost, const void *object, size_t bytes)
{
    uintptr_t at = (uintptr_t)object;
    return at >= lost->start && at < lost->end && bytes <= lost->end - at
               ? lost->content + (at - lost->start)
               : NULL;
}

static void fill_slab(const struct lost_records *lost, uint64_t owner)
{
    uint32_t slots = size_class[owner_kind(owner) - 1].slots;
    uintptr_t first = (uintptr_t)segment_record(owner_pointer(owner), 0);
    if (first >= lost->end || first + (uintptr_t)slots * RECORD_BYTES <= lost->start)
        return;
    for (uint32_t i = 0; i < slots; i++) {
        void *record = content_of(lost, segment_record(owner_pointer(owner), i), RECORD_BYTES);
        if (record)
            block_distrust(record, 1, RECORD_BYTES);
    }
}

static void fill_large(const struct lost_records *lost, const struct unit *head, uint64_t owner)
{
    struct large_record *r = content_of(lost, owner_pointer(owner), sizeof *r);
    if (!r)
        return;
    r->unit = unit_number(head);
    r->units = note_of(head)->units;
    r->lead = note_of(head)->lead;
    large_record_distrust(r);
}

void pool_fill_lost(const struct lost_records *lost)
{
    uint64_t bytes = atomic_load_explicit(&heap.bytes, memory_order_acquire);
    for (struct unit *u = heap.unit + 1, *end = heap.unit + (bytes >> RTC_UNIT_SHIFT); u < end;
         u++) {
        uint64_t owner = atomic_load_explicit(&u->owner, memory_order_acquire);
        if (u->back)
            continue;
        if (is_slab(owner_kind(owner)))
            fill_slab(lost, owner);
        else if (owner_kind(owner) == UNIT_LARGE)
            fill_large(lost, u, owner);
    }
}
