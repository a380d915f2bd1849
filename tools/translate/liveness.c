/*
 * liveness.c - registers and flags that are live before each instruction, of the whole text at once.
 *
 * A check uses registers that are not live, so what is dead here must be dead in fact.  Between
 * functions of the object nothing is taken from the ABI: compilers rely on registers that a callee
 * happens not to change (gcc's -fipa-ra), and assembly has conventions of its own.  What is live
 * after a direct call is live at each return of the callee, and flows to its entry:
 *
 *   return       the ABI's results and preserved registers, since callers by pointer are unknown,
 *                and what is live after any direct call of the function
 *   direct call  what is live at the callee's first instruction
 *   jump into another function: returns there also return to the callers of this one
 *
 * The ABI is used at calls by pointer and of other objects.  Code that was not decoded, or not as
 * one sequence, may read all registers.
 */
#include <stdlib.h>

#include "translate_priv.h"

#define ARGUMENTS \
    (BIT(RDI) | BIT(RSI) | BIT(RDX) | BIT(RCX) | BIT(R8) | BIT(R9) | BIT(RAX) | BIT(R10))
#define PRESERVED (BIT(RBX) | BIT(RBP) | BIT(12) | BIT(13) | BIT(14) | BIT(15) | BIT(RSP))
#define RESULTS (BIT(RAX) | BIT(RDX))

struct analysis {
    const struct code *code;
    const struct object *object;
    const struct functions *functions;
    const bool *is_target;
    uint32_t *live;
    /* Of each function, the last item for code outside of functions. */
    uint32_t *at_return;
    uint32_t *at_targets; /* of indirect branches */
    bool changed;
};

static uint32_t item_of(const struct analysis *a, uint32_t function)
{
    return function == NONE ? a->functions->count : function;
}

static void add_live(struct analysis *a, uint32_t *to, uint32_t live)
{
    if ((*to | live) == *to)
        return;
    *to |= live;
    a->changed = true;
}

/* Is the code of this function one sequence of instructions, whose flow is seen? */
static bool is_seen(const struct analysis *a, uint32_t function)
{
    if (function == NONE)
        return false;
    switch (a->functions->at[function].state) {
    case PLAN_TRANSLATED:
    case PLAN_LSDA:
    case PLAN_UNMOVABLE:
        return true;
    default:
        return false;
    }
}

static bool is_linkage(const struct analysis *a, const struct instruction *i)
{
    return i->function != NONE && a->functions->at[i->function].state == PLAN_LINKAGE;
}

static uint32_t live_after(const struct analysis *a, uint32_t n)
{
    return n + 1 < a->code->count ? a->live[n + 1] : LIVE_ALL;
}

/* Before a call by the ABI.  call *(%rax) may be a TLS descriptor's, which preserves r11, too. */
static uint32_t before_abi_call(const struct instruction *i, uint32_t after)
{
    bool is_descriptor = i->flow == FLOW_CALL_BY && i->operand.base == RAX;

    return i->use | ARGUMENTS | (after & ~(FLAGS | (is_descriptor ? 0 : BIT(R11)))) | PRESERVED;
}

static uint32_t before_call(struct analysis *a, const struct instruction *i, uint32_t after)
{
    uint32_t n = code_at(a->code, a->object, i->target);
    const struct instruction *to = n == NONE ? NULL : &a->code->at[n];

    if (to && is_linkage(a, to))
        return before_abi_call(i, after);
    if (!to || !is_seen(a, to->function))
        return LIVE_ALL;
    add_live(a, &a->at_return[to->function], is_seen(a, i->function) ? after : LIVE_ALL);
    return a->live[n] | BIT(RSP);
}

static uint32_t before_jump(struct analysis *a, const struct instruction *i)
{
    uint32_t n = code_at(a->code, a->object, i->target);
    const struct instruction *to = n == NONE ? NULL : &a->code->at[n];
    uint32_t at_return = a->at_return[item_of(a, i->function)];

    if (to && is_linkage(a, to))
        return ARGUMENTS | PRESERVED | at_return;
    if (!to || !is_seen(a, to->function))
        return LIVE_ALL;
    if (to->function != i->function)
        add_live(a, &a->at_return[to->function], at_return);
    return a->live[n];
}

/* The next instruction may be the first of another function. */
static uint32_t before_next(struct analysis *a, uint32_t n)
{
    const struct instruction *i = &a->code->at[n];

    if (n + 1 < a->code->count) {
        uint32_t next = a->code->at[n + 1].function;
        if (next != i->function && i->function != NONE && is_seen(a, next))
            add_live(a, &a->at_return[next], a->at_return[i->function]);
    }
    return live_after(a, n);
}

static uint32_t live_before(struct analysis *a, uint32_t n)
{
    const struct instruction *i = &a->code->at[n];
    uint32_t item = item_of(a, i->function);

    switch (i->flow) {
    case FLOW_NEXT:
        return (before_next(a, n) & ~i->set) | i->use;
    case FLOW_BRANCH:
        return ((before_next(a, n) | before_jump(a, i)) & ~i->set) | i->use;
    case FLOW_JUMP:
        return before_jump(a, i);
    case FLOW_CALL:
        return before_call(a, i, live_after(a, n));
    case FLOW_CALL_BY:
        return before_abi_call(i, live_after(a, n));
    case FLOW_JUMP_BY:
        return i->use | REGISTERS_ALL | (a->at_targets[item] & FLAGS);
    case FLOW_RETURN:
        return i->use | a->at_return[item];
    default:
        return LIVE_ALL;
    }
}

static void sweep(struct analysis *a)
{
    for (uint32_t n = a->code->count; n-- > 0;) {
        const struct instruction *i = &a->code->at[n];
        add_live(a, &a->live[n], live_before(a, n));
        if (a->is_target[n])
            add_live(a, &a->at_targets[item_of(a, i->function)], a->live[n]);
    }
}

uint32_t *liveness_of(const struct code *c, const struct object *o, const struct functions *f,
                      const bool *is_target)
{
    struct analysis a = {.code = c, .object = o, .functions = f, .is_target = is_target};

    a.live = zeroed(c->count, sizeof *a.live);
    a.at_return = zeroed((size_t)f->count + 1, sizeof *a.at_return);
    a.at_targets = zeroed((size_t)f->count + 1, sizeof *a.at_targets);
    for (uint32_t n = 0; n < f->count; n++)
        a.at_return[n] = is_seen(&a, n) ? RESULTS | PRESERVED : LIVE_ALL;
    a.at_return[f->count] = a.at_targets[f->count] = LIVE_ALL;
    do {
        a.changed = false;
        sweep(&a);
    } while (a.changed);
    free(a.at_return);
    free(a.at_targets);
    return a.live;
}
