/*
 * liveness.c - registers and flags that are live before each instruction, of the whole text at once.
 *
 * A check uses registers that are not live, so what is dead here must be dead in fact.  Between
 * functions of the object the calling convention is not assumed: with -fipa-ra, gcc keeps values in
 * registers that the ABI lets a callee change, and assembly may use other conventions.  What is live
 * after a direct call is live at each return of the callee, and flows to its entry:
 *
 *   return       the ABI's results and preserved registers, since callers by pointer are unknown,
 *                and what is live after any direct call of the function
 *   direct call  what is live at the callee's first instruction
 *   jump into another function: returns there also return to the callers of this one
 *
 * Some registers are live only because code is unknown: all before an indirect jump, arguments
 * before calls by the ABI.  If the callee changes such a register, no compiler relies on it after
 * the call (callees.c).  Therefore each set is in 64 bits: what may be live, and in the upper half
 * what a known instruction reads.
 *
 * The ABI is used at calls by pointer and of other objects.  Code that was not decoded, or not as
 * one sequence, may read all registers.
 */
#include <stdlib.h>

#include "liveness_priv.h"

#define KNOWN(set) ((set) | (uint64_t)(set) << 32)
#define KNOWN_OF(live) ((live) >> 32 << 32)
#define LIVE_KNOWN KNOWN(LIVE_ALL)
#define PRESERVED (BIT(RBX) | BIT(RBP) | BIT(12) | BIT(13) | BIT(14) | BIT(15) | BIT(RSP))
#define RESULTS (BIT(RAX) | BIT(RDX))
#define ARGUMENTS \
    (BIT(RDI) | BIT(RSI) | BIT(RDX) | BIT(RCX) | BIT(R8) | BIT(R9) | BIT(RAX) | BIT(R10))

static void set_dirty(struct analysis *a, uint32_t function)
{
    if (function != NONE)
        a->is_dirty[a->range_of[function]] = true;
}

static bool add_live(uint64_t *to, uint64_t live)
{
    if ((*to | live) == *to)
        return false;
    *to |= live;
    return true;
}

static void add_at_return(struct analysis *a, uint32_t function, uint64_t live)
{
    if (add_live(&a->at_return[function], live))
        set_dirty(a, function);
}

static uint64_t live_after(const struct analysis *a, uint32_t n)
{
    return n + 1 < a->code->count ? a->live[n + 1] : LIVE_KNOWN;
}

static uint64_t before_abi_call(const struct instruction *i, uint64_t after)
{
    uint64_t lost = KNOWN((uint64_t)(FLAGS | (is_descriptor_call(i) ? 0 : BIT(R11))));

    return KNOWN((uint64_t)i->use) | ARGUMENTS | (after & ~lost) | PRESERVED;
}

static uint64_t before_call(struct analysis *a, const struct instruction *i, uint64_t after)
{
    uint32_t n = code_at(a->code, a->object, i->target);
    const struct instruction *to = n == NONE ? NULL : &a->code->at[n];

    if (to && is_linkage(a, to))
        return before_abi_call(i, after);
    if (!to || !is_seen(a, to->function))
        return LIVE_KNOWN;
    after = KNOWN_OF(after) | after >> 32 | ((uint32_t)after & ~a->changed[to->function]);
    add_at_return(a, to->function, is_seen(a, i->function) ? after : LIVE_KNOWN);
    return a->live[n] | BIT(RSP);
}

static uint64_t before_jump(struct analysis *a, const struct instruction *i)
{
    uint32_t n = code_at(a->code, a->object, i->target);
    const struct instruction *to = n == NONE ? NULL : &a->code->at[n];
    uint64_t at_return = a->at_return[item_of(a, i->function)];

    if (to && is_linkage(a, to))
        return ARGUMENTS | PRESERVED | at_return;
    if (!to || !is_seen(a, to->function))
        return LIVE_KNOWN;
    if (to->function != i->function)
        add_at_return(a, to->function, at_return);
    return a->live[n];
}

/* The next instruction may be the first of another function. */
static uint64_t before_next(struct analysis *a, uint32_t n)
{
    const struct instruction *i = &a->code->at[n];

    if (i->function != NONE && (n + 1 == a->code->count || i[1].function != i->function)) {
        uint32_t after = code_after(a->code, n);
        uint32_t next = after == NONE ? NONE : a->code->at[after].function;
        if (is_seen(a, next))
            add_at_return(a, next, a->at_return[i->function]);
    }
    return live_after(a, n);
}

/* Through a word that no index selects: a call by pointer at the end, if not to a known target. */
static bool is_tail_call(const struct instruction *i)
{
    return (i->access == ACCESS_CHECKED || i->access == ACCESS_PC) &&
           i->operand.index == NO_REGISTER;
}

/* By a table whose targets are known, or a tail call; otherwise all registers may be live there. */
static uint64_t before_jump_by(const struct analysis *a, const struct instruction *i)
{
    uint32_t item = item_of(a, i->function);
    uint64_t at_targets = a->at_targets[item];

    if (!a->has_targets[item] && !is_tail_call(i))
        return KNOWN((uint64_t)i->use) | REGISTERS_ALL;
    return KNOWN((uint64_t)i->use) | ARGUMENTS | PRESERVED | at_targets;
}

static uint64_t live_before(struct analysis *a, uint32_t n)
{
    const struct instruction *i = &a->code->at[n];
    uint64_t use = KNOWN((uint64_t)i->use), set = KNOWN((uint64_t)i->set);
    uint32_t item = item_of(a, i->function);

    switch (i->flow) {
    case FLOW_NEXT:
        return (before_next(a, n) & ~set) | use;
    case FLOW_BRANCH:
        return ((before_next(a, n) | before_jump(a, i)) & ~set) | use;
    case FLOW_JUMP:
        return before_jump(a, i);
    case FLOW_CALL:
        return before_call(a, i, live_after(a, n));
    case FLOW_CALL_BY:
        return before_abi_call(i, live_after(a, n));
    case FLOW_JUMP_BY:
        return before_jump_by(a, i);
    case FLOW_RETURN:
        return use | a->at_return[item];
    case FLOW_STOP:
        return LIVE_ALL;
    default:
        return LIVE_KNOWN;
    }
}

/* One pass over a range, backward.  Returns whether it must be repeated. */
static bool sweep(struct analysis *a, const struct range *r, bool *entry_changed)
{
    bool changed = false;

    for (uint32_t n = r->end; n-- > r->first;) {
        bool is_new = add_live(&a->live[n], live_before(a, n));
        if (!is_new)
            continue;
        changed = true;
        *entry_changed |= a->is_entry[n];
        if (a->is_target[n])
            add_live(&a->at_targets[item_of(a, a->code->at[n].function)], a->live[n]);
    }
    return changed;
}

static void solve_range(struct analysis *a, uint32_t r)
{
    bool entry_changed = false;

    while (sweep(a, &a->ranges[r], &entry_changed))
        ;
    for (uint32_t n = a->first_user[r]; entry_changed && n < a->first_user[r + 1]; n++)
        a->is_dirty[a->users[n]] = true;
}

static void solve(struct analysis *a)
{
    bool again = true;

    while (again) {
        again = false;
        for (uint32_t r = a->range_count; r-- > 0;) {
            if (!a->is_dirty[r])
                continue;
            a->is_dirty[r] = false;
            solve_range(a, r);
            again = true;
        }
    }
}

uint32_t *liveness_of(const struct code *c, const struct object *o, const struct functions *f,
                      const bool *is_target)
{
    struct analysis a = {.code = c, .object = o, .functions = f, .is_target = is_target};
    uint32_t *live = zeroed(c->count, sizeof *live);

    analysis_begin(&a);
    for (uint32_t n = 0; n < f->count; n++)
        a.at_return[n] = is_seen(&a, n) ? KNOWN((uint64_t)(RESULTS | PRESERVED)) : LIVE_KNOWN;
    a.at_return[f->count] = a.at_targets[f->count] = LIVE_KNOWN;
    solve(&a);
    for (uint32_t n = 0; n < c->count; n++)
        live[n] = (uint32_t)a.live[n];
    analysis_end(&a);
    return live;
}
