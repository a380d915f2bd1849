/*
 * reach_slab.h - a heap of any size with one slab.  The test makes its blocks.
 */
#ifndef REACH_SLAB_H
#define REACH_SLAB_H

#include "reach_here.h"

struct slab_heap {
    uint64_t *memory;
    struct block_record *record;
    uint32_t *slab_of_unit;
    struct reach_slab slab;
    struct reach_heap heap;
};

/* At least `slots` slots of `slot_bytes`; after their units there is memory of `behind` bytes. */
static inline void slab_heap_begin(struct slab_heap *h, uint32_t slots, uint32_t slot_bytes,
                                   uint32_t stacks, uint64_t extra)
{
    const uint64_t bytes = align_up((uint64_t)slots * slot_bytes, UNIT);
    h->memory = aligned_alloc(UNIT, bytes + extra);
    h->record = calloc(bytes / slot_bytes, sizeof *h->record);
    h->slab_of_unit = calloc(bytes / UNIT, sizeof *h->slab_of_unit);
    for (uint64_t i = 0; i < bytes / UNIT; i++)
        h->slab_of_unit[i] = 1;
    h->slab = (struct reach_slab){.start = (uintptr_t)h->memory,
                                  .records = h->record,
                                  .magic = ((1ull << 32) + slot_bytes / 16 - 1) / (slot_bytes / 16),
                                  .stride = sizeof *h->record,
                                  .slot_bytes = slot_bytes,
                                  .slots = slots};
    h->heap = (struct reach_heap){.base = h->slab.start,
                                  .bytes = bytes,
                                  .slab_of_unit = h->slab_of_unit,
                                  .slab = &h->slab,
                                  .slabs = 1,
                                  .slots = slots,
                                  .stacks = stacks};
}

static inline void slab_heap_end(struct slab_heap *h)
{
    free(h->memory);
    free(h->record);
    free(h->slab_of_unit);
}

#endif
