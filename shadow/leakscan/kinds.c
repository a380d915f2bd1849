/*
 * kinds.c - compress block records to two bytes for each slot.
 *
 * Marking needs the size and allocation stack of each block, in random address order.  So this data
 * should be small.  Records are not: they lie in pages of the run file.  But a program allocates at
 * few sites, and few sizes at each, so records have few distinct contents.  They are read once, in
 * order.  Each distinct content gets a number, its kind, and each slot stores the number of its
 * kind.  Marked blocks are counted by kind, too: the count of a kind is later added to its group.
 *
 * Kind 0 is used for large blocks, for client blocks, and when no number is left.  Records of kind
 * 0 are read each time.
 */
#include "leakscan_priv.h"

uint64_t reach_kinds_most(const struct reach_heap *h)
{
    return (h->slots < KINDS_MAX ? h->slots : KINDS_MAX) + 1u;
}

uint16_t reach_kind(struct reach_scan *r, uint64_t note)
{
    if (note & NOTE_LARGE)
        return 0;
    for (uint32_t i = (uint32_t)(note * 0x9e3779b97f4a7c15ull >> 32);; i++) {
        uint16_t *kind_slot = &r->kind_at[i & r->kind_mask];
        if (*kind_slot && r->kind[*kind_slot].note == note)
            return *kind_slot;
        if (*kind_slot)
            continue;
        if (r->kinds < r->kinds_max) {
            *kind_slot = (uint16_t)++r->kinds;
            r->kind[*kind_slot].note = note;
        }
        return *kind_slot;
    }
}

uint64_t reach_note(const struct reach_scan *r, const struct reach_slab *slab, uint64_t word,
                    uint64_t stacks)
{
    bool inherited = word_state(word) == BLOCK_INHERITED;
    uint64_t request = inherited ? slab->slot_bytes - 1u : word_size(word);
    uint64_t note = stacks >> 32 | (slab->slot_bytes ? request << NOTE_BYTES_SHIFT : NOTE_LARGE);
    if (slab->inherited || inherited || word_mark(word) == MARK_INHERITED)
        note |= NOTE_UNCOUNTED;
    if (word_mark(word) >= r->rules.mark_since)
        note |= NOTE_NEW;
    return note;
}

static uint64_t read_record(const struct reach_slab *slab, uint64_t slot, uint64_t *stacks)
{
    uint64_t word;
    (void)block_read(reach_record_of(slab, slot), &word, stacks);
    return word;
}

struct reach_block reach_look_up(const struct reach_scan *r, uint64_t slot, uint64_t start)
{
    const struct reach_slab *slab = reach_slab_at(r, slot, start);
    uint64_t stacks, word = read_record(slab, slot, &stacks);
    uint64_t note = reach_note(r, slab, word, stacks);
    uint64_t request = note & NOTE_LARGE ? slab->request : note_bytes(note);
    return (struct reach_block){slot, start, request, note};
}

uint64_t reach_word_of(const struct reach_scan *r, const struct reach_block *b)
{
    uint64_t stacks;
    return read_record(reach_slab_at(r, b->slot, b->start), b->slot, &stacks);
}
