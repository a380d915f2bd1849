/*
 * walk.c - a stack walk, frame by frame: for signal handlers, for stacks that cannot be cached, and
 * for a thread's first backtrace.  It implements all kinds of rules except RULE_SP.
 */
#include "stack_switch.h"
#include "unwinder_priv.h"

/* Step to a CFA that was read from memory, not computed from the stack pointer. */
static enum step step_far(struct cursor *c, uintptr_t cfa, uint32_t saved_bp)
{
    return cfa > c->sp && cfa % sizeof cfa == 0 ? step_to(c, cfa, saved_bp) : STEP_OFF_STACK;
}

/*
 * The handler of a fault may interrupt work on the helper stack.  The frame of helper_switch leads
 * back to the program's stack, at an arbitrary address.
 */
static bool exits_helper(const struct cursor *c, uintptr_t cfa)
{
    return self && self->helper.use && cfa == self->helper.use->sp + SWITCH_CFA_BYTES &&
           c->sp - (uintptr_t)self->helper.room <=
               sizeof self->helper.room; /* sp is at the top in helper_switch */
}

static enum step step_by_frame_pointer(struct cursor *c, const struct rule *r)
{
    uintptr_t cfa = *c->bp + (uintptr_t)(intptr_t)r->offset;
    if (likely(!exits_helper(c, cfa)))
        return step_far(c, cfa, r->saved_bp);
    return stack_interrupted(cfa, &c->high, &c->known) ? step_to(c, cfa, r->saved_bp)
                                                       : STEP_OFF_STACK;
}

/* Code without CFI: rbp may be a frame pointer.  If it is, it points to the caller's saved rbp. */
static enum step step_by_chain(struct cursor *c, const struct rule *r)
{
    uintptr_t bp = *c->bp;
    if (bp == 0 && r->offset)
        return STEP_END; /* the ABI's mark of the outermost frame, set by the loader */
    const uintptr_t *slot = chain_slot(bp, c->sp, c->high, c->known);
    if (!slot || (*slot >= c->sp && *slot < c->high) || !rule_may_return(r, *slot))
        return STEP_NO_INFO;
    return step_to(c, bp + 2 * sizeof bp, 2 * sizeof bp);
}

static enum step step_by_drap(struct cursor *c, const struct rule *r)
{
    uintptr_t bp = *c->bp;
    const uintptr_t *slot = drap_slot(bp, c->sp, c->high, r->offset);
    if (!slot)
        return STEP_OFF_STACK;
    enum step s = step_far(c, *slot, 0);
    c->bp = (const uintptr_t *)bp;
    return s;
}

static enum step step_by_signal(struct cursor *c)
{
    uintptr_t ucontext = signal_context(c->sp);
    struct cursor i = {.bp = (const uintptr_t *)(ucontext + SIGNAL_FP)};
    if (c->known && c->high - ucontext < SIGNAL_BYTES)
        return STEP_OFF_STACK;
    i.key = (signal_word(ucontext, SIGNAL_PC) & KEY_PC) | KEY_EXACT;
    i.sp = signal_word(ucontext, SIGNAL_SP);
    if (!stack_interrupted(i.sp, &i.high, &i.known))
        return STEP_OFF_STACK;
    *c = i;
    return STEP_SIGNAL;
}

static enum step step_by_kind(struct cursor *c, const struct rule *r)
{
    switch ((enum rule_kind)r->kind) {
    case RULE_BP:
        return step_by_frame_pointer(c, r);
    case RULE_CHAIN:
        return step_by_chain(c, r);
    case RULE_DRAP:
        return step_by_drap(c, r);
    case RULE_SIGNAL:
        return step_by_signal(c);
    case RULE_END:
        return STEP_END;
    case RULE_NONE:
        return STEP_NO_INFO;
    default:
        return STEP_COMPLEX;
    }
}

struct stepped step_slow(struct cursor c, const struct rule *r)
{
    struct stepped s = {.c = c};
    s.step = step_by_kind(&s.c, r);
    return s;
}

static void walk(const struct entry *at, const struct kept_regs *here, struct walk *out,
                 bool may_grow)
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
            walk_with_registers(at, here, out);
        return;
    }
    out->end = STACK_CUT;
}

struct walking {
    const struct entry *at;
    struct kept_regs here; /* of unwind_walk, on the program's stack: the walk starts there */
    bool may_grow;
    void (*use)(const struct walk *w, void *about);
    void *about;
};

static void walk_on_helper(void *about)
{
    const struct walking *w = about;
    struct walk out;
    walk(w->at, &w->here, &out, w->may_grow);
    w->use(&out, w->about);
}

__attribute__((noinline)) void unwind_walk(const struct entry *at, bool may_grow,
                                           void (*use)(const struct walk *w, void *about),
                                           void *about)
{
    struct walking w = {.at = at, .may_grow = may_grow, .use = use, .about = about};
    regs_capture(&w.here);
    helper_call(walk_on_helper, &w);
}
