/*
 * groups.c - sums by allocation stack and class, with an example block and its witness.
 *
 * The example of a group is the first block added to it; the witness is the pointer first seen to
 * that block.  Groups are found by a hash of their key.  The table has room for all stacks of the
 * heap.  If there are more stacks than announced, their blocks are added to the groups of stack 0
 * (unknown), for which room is reserved.
 */
#include "leakscan_priv.h"

#include <stdatomic.h>

static struct leak_group *group_new(struct reach_scan *r, uint32_t *group_slot, uint32_t stack,
                                    enum reach as)
{
    struct leak_group *g = r->group + r->groups++;
    *group_slot = r->groups;
    g->stack = stack;
    atomic_init(&g->reach, as);
    return g;
}

/* The entry of this group in the hash table, or the free entry for it. */
static uint32_t *group_slot_of(struct reach_scan *r, uint32_t stack, enum reach as)
{
    for (uint32_t i = (uint32_t)((stack * 8ull + as) * 0x9e3779b97f4a7c15ull >> 32);; i++) {
        uint32_t *group_slot = &r->group_of[i & r->group_mask];
        if (!*group_slot)
            return group_slot;
        const struct leak_group *g = r->group + (*group_slot - 1);
        if (g->stack == stack && atomic_load_explicit(&g->reach, memory_order_relaxed) == as)
            return group_slot;
    }
}

/* A full table keeps room for stack 0. */
static struct leak_group *group_of(struct reach_scan *r, uint32_t stack, enum reach as)
{
    uint32_t *group_slot = group_slot_of(r, stack, as);
    if (!*group_slot && stack != 0 && r->groups + REACH_COUNT >= r->groups_max) {
        stack = 0;
        group_slot = group_slot_of(r, stack, as);
    }
    return *group_slot ? r->group + (*group_slot - 1) : group_new(r, group_slot, stack, as);
}

/* Record the block that contains the pointer at `at`. */
static void set_holder(const struct reach_scan *r, struct leak_group *g, uint64_t at)
{
    struct reach_spot s;
    if (!reach_locate_anywhere(r, at, &s))
        return;
    struct reach_block holder = reach_look(r, s.slot, s.start);
    g->from = holder.start;
    g->from_bytes = holder.request;
    g->from_stack = reach_stack(&holder);
}

static void set_witness(const struct reach_scan *r, struct leak_group *g,
                        const struct reach_block *b, struct reach_trail t)
{
    g->block = b->start;
    g->block_bytes = b->request;
    g->thread = word_thread(reach_word_of(r, b));
    g->witness = (uint32_t)(t.where & WHERE_KIND);
    if (g->witness == WITNESS_NONE || g->witness == WITNESS_SELF)
        return;
    uint32_t number = (uint32_t)(t.pointer & ((1u << TRAIL_NUMBER_BITS) - 1));
    g->value = b->start + (t.pointer >> TRAIL_NUMBER_BITS);
    g->at = t.where & ~WHERE_KIND;
    if (g->witness == WITNESS_ROOT)
        g->root = number;
    if (g->witness == WITNESS_BLOCK)
        set_holder(r, g, g->at);
    if (g->witness == WITNESS_REGISTER) {
        g->at >>= 3;
        g->thread = number;
    }
}

static struct leak_group *group_with(struct reach_scan *r, const struct reach_block *b,
                                     enum reach as, struct reach_trail t)
{
    struct leak_group *g = group_of(r, reach_stack(b), as);
    if (!g->block)
        set_witness(r, g, b, t);
    return g;
}

static void add(struct leak_group *g, uint64_t note, uint64_t blocks, uint64_t bytes)
{
    g->blocks += blocks;
    g->bytes += bytes;
    if (note & NOTE_NEW) {
        g->new_blocks += blocks;
        g->new_bytes += bytes;
    }
}

uint64_t reach_count_first(struct reach_scan *r, const struct reach_spot *s, enum reach_count c,
                           struct reach_trail t)
{
    struct reach_block b = reach_look(r, s->slot, s->start);
    struct leak_group *g = NULL;
    if (!(b.note & NOTE_UNCOUNTED))
        g = group_with(r, &b, r->as[c], t);
    if (!r->kind_of[s->slot]) {
        r->kind[0].counted[c] = 0;
        if (g)
            add(g, b.note, 1, b.request);
    }
    return b.request;
}

void reach_settle(struct reach_scan *r)
{
    for (struct reach_kind *k = r->kind + 1; k <= r->kind + r->kinds; k++) {
        for (enum reach_count c = 0; c < COUNTS; c++) {
            uint32_t blocks = k->counted[c];
            if (blocks && !(k->note & NOTE_UNCOUNTED))
                add(group_of(r, (uint32_t)k->note, r->as[c]), k->note, blocks,
                    blocks * note_bytes(k->note));
            k->counted[c] = 0;
        }
    }
}

void reach_count_indirect(struct reach_scan *r, const struct reach_spot *s, struct reach_trail t)
{
    struct reach_block b = reach_look(r, s->slot, s->start);
    struct leak_group *g = group_with(r, &b, r->as[COUNT_OWNER], t);
    g->indirect_blocks += r->indirect_blocks;
    g->indirect_bytes += r->indirect_bytes;
}

struct leak_group *reach_groups(const struct reach_scan *r, uint32_t *count)
{
    *count = r->groups;
    return r->group;
}
