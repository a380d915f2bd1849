/*
 * walk.c - a stack, frame by frame: for handlers, for stacks that cannot be kept, and for the
 * first of a thread; and what a frame is left by, when that is not the stack pointer alone.
 */
#include "unwinder_priv.h"

/* To a CFA that memory told, and not the stack pointer. */
static enum step step_far(struct cursor *c, uintptr_t cfa, uint32_t saved_bp)
{
    return cfa > c->sp && cfa % sizeof cfa == 0 ? step_to(c, cfa, saved_bp) : STEP_ASTRAY;
}

/* Code without information: rbp may be a frame pointer.  If it is, it points to the caller's. */
static enum step step_by_chain(struct cursor *c, const struct rule *r)
{
    uintptr_t bp = *c->bp;
    if (bp == 0 && r->offset)
        return STEP_END; /* the ABI's mark of the outermost frame: the loader's */
    const uintptr_t *slot = chain_slot(bp, c, c->sp);
    if (!slot || (*slot >= c->sp && *slot < c->high) || !rule_may_return(r, *slot))
        return STEP_NO_INFO;
    return step_to(c, bp + 2 * sizeof bp, 2 * sizeof bp);
}

static enum step step_by_drap(struct cursor *c, const struct rule *r)
{
    uintptr_t bp = *c->bp;
    const uintptr_t *slot = drap_slot(bp, c->sp, c->high, r->offset);
    if (!slot)
        return STEP_ASTRAY;
    enum step s = step_far(c, *slot, 0);
    c->bp = (const uintptr_t *)bp;
    return s;
}

static enum step step_by_signal(struct cursor *c)
{
    uintptr_t ucontext = c->sp;
    struct cursor i = {.bp = (const uintptr_t *)(ucontext + SIGNAL_RBP)};
    if (c->known && c->high - ucontext < SIGNAL_BYTES)
        return STEP_ASTRAY;
    i.key = (signal_word(ucontext, SIGNAL_RIP) & KEY_PC) | KEY_EXACT;
    i.sp = signal_word(ucontext, SIGNAL_RSP);
    if (!stack_interrupted(i.sp, &i.high, &i.known))
        return STEP_ASTRAY;
    *c = i;
    return STEP_SIGNAL;
}

static enum step step_by_kind(struct cursor *c, const struct rule *r)
{
    switch ((enum rule_kind)r->kind) {
    case RULE_BP:
        return step_far(c, *c->bp + (uintptr_t)(intptr_t)r->offset, r->saved_bp);
    case RULE_CHAIN: return step_by_chain(c, r);
    case RULE_DRAP: return step_by_drap(c, r);
    case RULE_SIGNAL: return step_by_signal(c);
    case RULE_END: return STEP_END;
    case RULE_NONE: return STEP_NO_INFO;
    default: return STEP_COMPLEX;
    }
}

struct stepped step_slow(struct cursor c, const struct rule *r)
{
    struct stepped s = {.c = c};
    s.step = step_by_kind(&s.c, r);
    return s;
}

void unwind_walk(const struct entry *at, struct walk *out, bool may_grow)
{
    struct rule spare = {.key = 0};
    struct cursor c = cursor_at(at);
    for (out->count = 0; out->count < frames_wanted;) {
        const struct rule *r = rule_of(c.key, &spare, may_grow);
        walk_add(out, word_of(c.key, r), c.sp);
        enum step s = step(&c, r);
        if (s == STEP_ON || s == STEP_SIGNAL)
            continue;
        out->end = end_of(s);
        if (s == STEP_COMPLEX)
            walk_with_registers(at, out);
        return;
    }
    out->end = STACK_CUT;
}
