/*
 * groups.c - accesses that one check serves: a group.
 *
 * Accesses by the same base, index and scale are checked before the first of them, if all of them
 * are executed whenever the first is: they are in one basic block, nothing between them may fault,
 * and their registers, rsp and rbp are not written between them.  The cold part examines each
 * access of a group, in their order.  So reports are those of separate checks: with the unchanged
 * rsp and rbp, stacks can be unwound there as at each access.
 *
 * The window of a group is whole granules, if the address of an access of 8 bytes or more is
 * aligned, which the check tests.  Without such an access a group has the range of its first one.
 */
#include "translate_priv.h"

#define WINDOW_MOST 64

static uint32_t registers_of(const struct operand *o)
{
    return BIT(RSP) | BIT(RBP) | (o->base == NO_REGISTER ? 0 : BIT(o->base)) |
           (o->index == NO_REGISTER ? 0 : BIT(o->index));
}

static bool is_same_address(const struct operand *a, const struct operand *b)
{
    return a->base == b->base && a->index == b->index &&
           (a->scale == b->scale || a->index == NO_REGISTER);
}

/* Is instruction n + 1 executed always and only after instruction n? */
static bool continues(const struct emission *e, uint32_t n)
{
    const struct instruction *i = &e->code->at[n];

    return n + 1 < e->code->count && i->flow == FLOW_NEXT && i[1].function == i->function &&
           i[1].offset == i->offset + i->bytes && !e->is_label[n + 1];
}

static bool may_fault(const struct instruction *i)
{
    return (i->special & INSN_MAY_TRAP) || i->access == ACCESS_CHECKED ||
           i->access == ACCESS_STRING || i->access == ACCESS_UNCHECKABLE;
}

/* The accesses that may be in a group with that of instruction n: itself first. */
static void find_candidates(const struct emission *e, uint32_t n, struct group *g)
{
    const struct operand *o = &e->code->at[n].operand;

    g->count = 0;
    g->at[g->count++] = n;
    for (; g->count < GROUP_MOST && continues(e, n); n++) {
        const struct instruction *i = &e->code->at[n];
        if (((i->set | i->changed) & registers_of(o)) || (i->special & INSN_MAY_TRAP))
            return;
        if (i[1].access == ACCESS_CHECKED && is_same_address(o, &i[1].operand))
            g->at[g->count++] = n + 1;
        else if (may_fault(&i[1]))
            return;
    }
}

struct window {
    int64_t first, end; /* displacements */
};

/* An access that is probably aligned to granules; NULL: there is none. */
static const struct operand *anchor_of(const struct emission *e, const struct group *g)
{
    for (uint32_t k = 0; k < g->count; k++) {
        const struct operand *o = &e->code->at[g->at[k]].operand;
        if (o->bytes >= 8 && o->bytes % 8 == 0)
            return o;
    }
    return NULL;
}

/* The range of an access, in whole granules if there is an anchor. */
static struct window window_of(const struct operand *o, const struct operand *anchor)
{
    struct window w = {.first = o->displacement, .end = (int64_t)o->displacement + o->bytes};

    if (anchor) {
        w.first -= (w.first - anchor->displacement) & 7;
        w.end += (anchor->displacement - w.end) & 7;
    }
    return w;
}

static struct window both(struct window a, struct window b)
{
    return (struct window){.first = a.first < b.first ? a.first : b.first,
                           .end = a.end > b.end ? a.end : b.end};
}

void group_find(const struct emission *e, uint32_t n, struct group *g)
{
    find_candidates(e, n, g);
    const struct operand *anchor = g->count > 1 ? anchor_of(e, g) : NULL;
    struct window w = window_of(&e->code->at[n].operand, anchor), own = w;

    for (uint32_t k = 1; k < g->count; k++) {
        struct window next = both(w, window_of(&e->code->at[g->at[k]].operand, anchor));
        if (next.end - next.first > (anchor ? WINDOW_MOST : own.end - own.first) ||
            next.first < INT32_MIN)
            g->count = k;
        else
            w = next;
    }
    g->operand = e->code->at[n].operand;
    g->is_wide = anchor && g->count > 1;
    if (g->is_wide) {
        g->operand.displacement = (int32_t)w.first;
        g->operand.bytes = (uint16_t)(w.end - w.first);
    }
}

bool *labels_find(const struct code *c, const struct object *o, const bool *is_target)
{
    bool *is_label = zeroed(c->count, sizeof *is_label);

    for (uint32_t n = 0; n < c->count; n++) {
        uint32_t to = has_target(&c->at[n]) ? code_at(c, o, c->at[n].target) : NONE;
        is_label[n] |= is_target[n];
        if (to != NONE)
            is_label[to] = true;
    }
    return is_label;
}
