/*
 * callees.c - which ranges depend on each other, and which registers a call of a function changes.
 *
 * gcc's -fipa-ra lets a caller rely on registers that the callee, with all that it calls, does not
 * write.  A register that is written counts as changed, so the set must not have more than gcc's:
 * registers that the function pushes may be restored, and do not count.
 */
#include <stdlib.h>

#include "liveness_priv.h"

#define VOLATILE \
    (BIT(RAX) | BIT(RCX) | BIT(RDX) | BIT(RSI) | BIT(RDI) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11))

uint32_t item_of(const struct analysis *a, uint32_t function)
{
    return function == NONE ? a->functions->count : function;
}

bool is_seen(const struct analysis *a, uint32_t function)
{
    if (function == NONE)
        return false;
    switch (a->functions->at[function].state) {
    case PLAN_TRANSLATED:
    case PLAN_LSDA:
    case PLAN_UNMOVABLE:
    case PLAN_SKIPPED:
        return true;
    default:
        return false;
    }
}

bool is_linkage(const struct analysis *a, const struct instruction *i)
{
    return i->function != NONE && a->functions->at[i->function].state == PLAN_LINKAGE;
}

bool is_descriptor_call(const struct instruction *i)
{
    return i->flow == FLOW_CALL_BY && i->access == ACCESS_CHECKED && i->operand.base == RAX &&
           i->operand.index == NO_REGISTER && i->operand.displacement == 0;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void find_ranges(struct analysis *a)
{
    const struct code *c = a->code;

    for (uint32_t n = 0; n < c->count; n++) {
        if (n > 0 && c->at[n].function == c->at[n - 1].function) {
            a->ranges[a->range_count - 1].end++;
            a->has_targets[item_of(a, c->at[n].function)] |= a->is_target[n];
            continue;
        }
        if (c->at[n].function != NONE)
            a->range_of[c->at[n].function] = a->range_count;
        a->ranges = grown(a->ranges, a->range_count, sizeof *a->ranges);
        a->ranges[a->range_count++] = (struct range){n, n + 1};
    }
}

/* The first instruction that another range uses in this one, from position *at on; or NONE. */
static uint32_t next_use(const struct analysis *a, uint32_t r, uint32_t *at)
{
    const struct range *range = &a->ranges[r];

    while (*at < range->end) {
        uint32_t n = (*at)++;
        const struct instruction *i = &a->code->at[n];
        uint32_t to = has_target(i) ? code_at(a->code, a->object, i->target) : NONE;
        if (to != NONE && (to < range->first || to >= range->end))
            return to;
    }
    if (*at == range->end && range->end < a->code->count) {
        ++*at;
        return range->end;
    }
    return NONE;
}

static uint32_t range_at(const struct analysis *a, uint32_t n)
{
    uint32_t low = 0, high = a->range_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (a->ranges[middle].first <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Count the users of each range, then list them. */
static void find_users(struct analysis *a)
{
    uint32_t total = 0, to, *next = zeroed(a->range_count + 1ul, sizeof *next);

    for (uint32_t r = 0; r < a->range_count; r++)
        for (uint32_t at = a->ranges[r].first; (to = next_use(a, r, &at)) != NONE; total++) {
            a->is_entry[to] = true;
            a->first_user[range_at(a, to) + 1]++;
        }
    for (uint32_t r = 0; r < a->range_count; r++)
        a->first_user[r + 1] += a->first_user[r];
    a->users = zeroed(total, sizeof *a->users);
    for (uint32_t r = 0; r < a->range_count; r++)
        for (uint32_t at = a->ranges[r].first; (to = next_use(a, r, &at)) != NONE;) {
            uint32_t used = range_at(a, to);
            a->users[a->first_user[used] + next[used]++] = r;
        }
    free(next);
}

/* ---- registers that a call changes ------------------------------------------------------------- */

static int pushed(const struct analysis *a, const struct instruction *i)
{
    const uint8_t *code = a->object->content + i->offset;

    if (i->bytes == 1 && (code[0] & 0xf8) == 0x50)
        return code[0] & 7;
    return i->bytes == 2 && code[0] == 0x41 && (code[1] & 0xf8) == 0x50 ? 8 + (code[1] & 7)
                                                                        : NO_REGISTER;
}

/* What one instruction adds, with what its callee changes as far as that is found. */
static uint32_t changed_by(const struct analysis *a, const struct instruction *i)
{
    uint32_t n = has_target(i) ? code_at(a->code, a->object, i->target) : NONE;
    const struct instruction *to = n == NONE ? NULL : &a->code->at[n];

    if (i->flow == FLOW_CALL_BY)
        return is_descriptor_call(i) ? 0 : VOLATILE;
    if (!has_target(i) || !to || to->function == i->function)
        return i->changed;
    if (is_linkage(a, to))
        return VOLATILE;
    return is_seen(a, to->function) ? a->changed[to->function] : 0;
}

static bool add_changed(struct analysis *a, uint32_t function)
{
    const struct range *r = &a->ranges[a->range_of[function]];
    uint32_t changed = a->changed[function], kept = 0;

    for (uint32_t n = r->first; n < r->end; n++) {
        int register_ = pushed(a, &a->code->at[n]);
        kept |= register_ == NO_REGISTER ? 0 : BIT(register_);
        changed |= changed_by(a, &a->code->at[n]);
    }
    changed &= VOLATILE & ~kept;
    if (changed == a->changed[function])
        return false;
    a->changed[function] = changed;
    return true;
}

static void find_changed(struct analysis *a)
{
    bool again = true;

    while (again) {
        again = false;
        for (uint32_t n = a->functions->count; n-- > 0;)
            again |= add_changed(a, n);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

void analysis_begin(struct analysis *a)
{
    uint32_t count = a->code->count, functions = a->functions->count;

    a->live = zeroed(count, sizeof *a->live);
    a->at_return = zeroed(functions + 1ul, sizeof *a->at_return);
    a->at_targets = zeroed(functions + 1ul, sizeof *a->at_targets);
    a->has_targets = zeroed(functions + 1ul, sizeof *a->has_targets);
    a->changed = zeroed(functions + 1ul, sizeof *a->changed);
    a->range_of = zeroed(functions + 1ul, sizeof *a->range_of);
    a->is_entry = zeroed(count, sizeof *a->is_entry);
    find_ranges(a);
    a->is_dirty = zeroed(a->range_count, sizeof *a->is_dirty);
    a->first_user = zeroed(a->range_count + 2ul, sizeof *a->first_user);
    find_users(a);
    find_changed(a);
    for (uint32_t r = 0; r < a->range_count; r++)
        a->is_dirty[r] = true;
}

void analysis_end(struct analysis *a)
{
    free(a->live);
    free(a->at_return);
    free(a->at_targets);
    free(a->has_targets);
    free(a->changed);
    free(a->ranges);
    free(a->range_of);
    free(a->is_dirty);
    free(a->is_entry);
    free(a->users);
    free(a->first_user);
}
