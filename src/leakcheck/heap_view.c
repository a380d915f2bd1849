/*
 * heap_view.c - the heap as the marking phase sees it: one entry for each slab, made from unit
 * owners.
 */
#include "leakcheck_priv.h"

/* ---- description of slabs -------------------------------------------------------------------- */

static void describe_slab(struct reach_slab *s, const struct unit *head, uint64_t owner)
{
    const struct size_class *c = &size_class[owner_kind(owner) - 1];
    s->records = segment_record(owner_pointer(owner), 0);
    s->stride = RECORD_BYTES;
    s->slot_bytes = c->slot_bytes;
    s->slots = c->slots;
    s->magic = c->magic;
    s->start = unit_address(head);
    s->inherited = fork_is_inherited(head);
}

static void describe_large(struct reach_slab *s, const struct unit *head, uint64_t owner)
{
    const struct large_record *r = owner_pointer(owner);
    s->records = &r->block;
    s->stride = sizeof *r;
    s->slots = 1;
    s->request = atomic_load_explicit(&r->request, memory_order_relaxed);
    s->start = large_start_of(head);
    s->inherited = fork_is_inherited(head);
}

static void describe(struct reach_slab *s, const struct unit *head, uint64_t owner)
{
    if (is_slab(owner_kind(owner)))
        describe_slab(s, head, owner);
    else
        describe_large(s, head, owner);
}

bool heap_view_make(struct reach_heap *view, struct range *lists)
{
    uint64_t bytes = atomic_load_explicit(&heap.bytes, memory_order_acquire);
    uint32_t units = (uint32_t)(bytes >> RTC_UNIT_SHIFT);
    uint64_t numbers = align_up(units * sizeof(uint32_t), _Alignof(struct reach_slab));
    if (!range_take(lists, numbers + units * sizeof(struct reach_slab) + client_view_bytes() + 1))
        return false;
    uint32_t *slab_of_unit = (uint32_t *)lists->start;
    struct reach_slab *slab = (struct reach_slab *)(lists->start + numbers);
    *view = (struct reach_heap){.base = heap.base,
                                .bytes = bytes,
                                .slab_of_unit = slab_of_unit,
                                .slab = slab,
                                .stacks = (depot_next_chunk() << DEPOT_CHUNK_SHIFT) + 1};
    for (uint32_t u = 1; u < units; u++) {
        const struct unit *head = heap.unit + u - heap.unit[u].back;
        uint64_t owner = atomic_load_explicit(&head->owner, memory_order_acquire);
        uint32_t kind = owner_kind(owner);
        if (!is_slab(kind) && kind != UNIT_LARGE)
            continue;
        if (!heap.unit[u].back) {
            struct reach_slab *s = &slab[view->slabs++];
            s->first = view->slots;
            describe(s, head, owner);
            view->slots += s->slots;
        }
        slab_of_unit[u] = view->slabs;
    }
    return true;
}

/* ---- has this image blocks of its own? ------------------------------------------------------- */

static bool is_not_own(void *about, const struct found *f, const struct block_record *b)
{
    uint64_t word, stacks;
    (void)about, (void)f;
    (void)block_read(b, &word, &stacks);
    return word_state(word) != BLOCK_LIVE || word_mark(word) == MARK_INHERITED;
}

bool heap_view_has_own_blocks(void)
{
    return client_block_has_own() || !each_block(false, is_not_own, NULL);
}
