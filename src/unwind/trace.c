/*
 * trace.c - a thread's stack, from its last one.
 *
 * The walk from a frame is a function of its state - pc, stack pointer, and rbp where that is
 * used - and of the words that are read on the way.  So:
 *
 *   1. Walk the inner frames until one is in a state that the last stack had, too.
 *   2. From there read again, inner to outer, every word that the last walk went by: each return
 *      address, and each saved rbp that an outer frame was found by.  While they are the same, so
 *      are the frames.  A word's address is trusted because all inner ones were right, so nothing
 *      is read that a walk would not read.
 *   3. Where a word differs, the frames up to there stand, and the walk goes on from them.
 *
 * All words, always: a stack that agrees in its next 4 frames may differ further out (an outer
 * function returned and was called again from elsewhere, with the same layout) - up to a tenth of
 * all allocations of real programs do.
 *
 * rbp is watched only where a frame needs it (needs_bp): most code has it for a general register,
 * and its value there says nothing about frames.
 *
 * A stack deeper than TRACE_WALK is cut there.  When it returns so far that fewer than
 * RTC_STACK_FRAMES remain the walk begins anew.
 */
#include "unwinder_priv.h"

#define NONE (-1)

/* What a walk is in the midst of. */
struct update {
    struct trace *t;
    struct cursor c;
    const struct rule *rule; /* of the last frame */
    int32_t old;             /* innermost frame of the last stack that may still stand, or NONE */
    uint32_t fresh;          /* frames found inside of it */
    uint16_t saver;          /* the fresh frame that saved rbp as it is now: see trace_fresh */
    uint32_t end;
    bool may_grow;
};

enum progress {
    GO_ON,
    ARRIVED, /* the rest stands, or there is none */
    ANEW,    /* too deep, or too little of a stack that was cut: all of it must be walked */
    NOT_SO,  /* a stack that cannot be kept */
};

/* ---- 1. inner frames ------------------------------------------------------------------------- */

static void add_fresh(struct update *u, uint32_t rule)
{
    u->t->fresh[u->fresh++] = (struct trace_fresh){
        .sp = u->c.sp, .pc = u->c.key, .bp = u->c.bp, .rule = rule, .saver = u->saver};
}

/* Is the frame that we have come to the last stack's `old`? */
static inline bool is_old(const struct update *u)
{
    const struct trace *t = u->t;
    const struct trace_frame *f = &t->frame[u->old];
    return f->sp == u->c.sp && f->pc == u->c.key &&
           (!t->needs_bp[u->old] || t->bp[u->old] == *u->c.bp);
}

static enum progress arrive(struct update *u, uint32_t end)
{
    u->old = NONE;
    u->end = end;
    return ARRIVED;
}

/* One frame further out. */
static enum progress walk_on(struct update *u)
{
    struct rule spare;
    const struct rule *r = rule_of(u->c.key, u->rule, &spare, u->may_grow);
    if (unlikely(r == &spare))
        return NOT_SO;
    u->rule = r;
    add_fresh(u, (uint32_t)(r - rules));
    const uintptr_t *bp = u->c.bp;
    enum step s = step(&u->c, r);
    if (u->c.bp != bp)
        u->saver = (uint16_t)(u->fresh - 1);
    if (likely(s == STEP_ON))
        return GO_ON;
    if (s == STEP_SIGNAL || s == STEP_COMPLEX)
        return NOT_SO;
    return arrive(u, end_of(s));
}

/* ---- 2. the rest, word by word ------------------------------------------------------------------ */

static inline bool slot_holds(const struct trace_frame *f)
{
    return ((const uintptr_t *)f->sp)[-1] == f->pc;
}

/* What rbp is found by from here on has moved: its value was compared by is_old. */
static void move_check(const struct update *u, struct trace_check *check)
{
    check->slot = u->c.bp;
    check->saver = u->saver == FRESH_ENTRY
                       ? (uint16_t)((uint32_t)u->old + 1 + u->fresh)
                       : (uint16_t)((uint32_t)u->old + u->fresh - u->saver);
}

/*
 * The outermost frame that stands: 0, all do; else that frame's caller is another one, or in
 * another state.
 */
static int32_t verify(struct update *u)
{
    struct trace *t = u->t;
    int32_t i = u->old;
    uint32_t n = t->checks;
    while (n && t->check[n - 1].frame > i)
        n--;
    t->checks = n;
#ifdef RTC_MUTATE_STOP /* what the tests of stacks must notice */
    int32_t stop_at = i > 4 ? i - 4 : 0;
#else
    int32_t stop_at = 0;
#endif
    for (;;) {
        int32_t next = n ? t->check[n - 1].frame : stop_at;
        for (; i > next; i--)
            if (unlikely(!slot_holds(&t->frame[i - 1])))
                return i;
        if (!n || next < stop_at)
            return 0;
        struct trace_check *check = &t->check[--n];
        if (check->saver > u->old)
            move_check(u, check);
        else if (*check->slot != check->value)
            return i + 1;
    }
}

/* ---- 3. frames that stand, though what is outside of them does not -------------------------------- */

/* Goes on from `last`, the outermost one: the frames from u->old to it become fresh ones. */
static enum progress go_on_from(struct update *u, int32_t last)
{
    struct trace *t = u->t;
    for (int32_t i = u->old; i >= last; i--) {
        const struct rule *r = &rules[t->rule[i]];
        if (u->fresh == TRACE_WALK)
            return ANEW;
        u->rule = r;
        add_fresh(u, t->rule[i]);
        const uintptr_t *bp = u->c.bp;
        if (step(&u->c, r) != STEP_ON)
            return ANEW; /* it has changed meanwhile: not even then is a wrong one kept */
        if (u->c.bp != bp)
            u->saver = (uint16_t)(u->fresh - 1);
    }
    u->old = last - 1;
    return GO_ON;
}

/* ---- keeping it --------------------------------------------------------------------------------- */

static uint16_t index_of_saver(const struct update *u, uint16_t saver)
{
    return (uint16_t)((uint32_t)u->old + (saver == FRESH_ENTRY ? u->fresh + 1 : u->fresh - saver));
}

/* The words, beside its return address, that a frame is left by. */
static void add_checks(struct update *u, uint32_t i, const struct trace_fresh *f,
                       const struct rule *r)
{
    struct trace *t = u->t;
    if (r->kind == RULE_SP || r->kind == RULE_END)
        return;
    if (r->kind == RULE_DRAP) { /* first, for the list is read backwards */
        const uintptr_t *slot = (const uintptr_t *)(*f->bp + (uintptr_t)(intptr_t)r->offset);
        t->check[t->checks++] = (struct trace_check){slot, *slot, (uint16_t)i, 0};
    }
    t->check[t->checks++] =
        (struct trace_check){f->bp, *f->bp, (uint16_t)i, index_of_saver(u, f->saver)};
}

static void keep_frame(struct update *u, uint32_t i, const struct trace_fresh *f)
{
    struct trace *t = u->t;
    const struct rule *r = &rules[f->rule];
    bool uses_bp = r->kind != RULE_SP && r->kind != RULE_END;
    t->frame[i] = (struct trace_frame){f->sp, f->pc};
    t->word[i] = word_of(f->pc, r);
    t->hash[i] = depot_hash(i ? t->hash[i - 1] : depot_root(t->end), t->word[i]);
    t->id[i] = 0;
    t->rule[i] = f->rule;
    t->needs_bp[i] = uses_bp || (i && !r->saved_bp && t->needs_bp[i - 1]);
    if (unlikely(t->needs_bp[i])) {
        t->bp[i] = *f->bp;
        if (uses_bp)
            add_checks(u, i, f, r);
    }
}

/* No frame stands.  The word that said there are no more counts, too: a coroutine's first is 0. */
static void begin_anew(struct update *u)
{
    const uintptr_t *slot = (const uintptr_t *)u->c.sp - 1;
    u->t->end = u->end;
    u->t->check[0] = (struct trace_check){slot, *slot, 0, 0};
    u->t->checks = 1;
}

static enum progress keep(struct update *u)
{
    struct trace *t = u->t;
    uint32_t from = (uint32_t)(u->old + 1), count = from + u->fresh;
    t->count = 0; /* until it is whole: this thread may leave us by siglongjmp */
    atomic_signal_fence(memory_order_seq_cst);
    if (u->old == NONE)
        begin_anew(u);
    if (unlikely(count > TRACE_FRAMES || (t->end == STACK_CUT && count < RTC_STACK_FRAMES)))
        return ANEW;
    for (uint32_t i = from; i < count; i++)
        keep_frame(u, i, &t->fresh[count - 1 - i]);
    atomic_signal_fence(memory_order_seq_cst);
    t->count = count;
    return ARRIVED;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static enum progress meet(struct update *u)
{
    int32_t last = verify(u);
    if (likely(last == 0))
        return ARRIVED;
    return last > u->old ? ANEW : go_on_from(u, last);
}

static enum progress walk(struct update *u)
{
    for (;;) {
        while (u->old >= 0 && u->t->frame[u->old].sp < u->c.sp)
            u->old--;
        enum progress p = u->old >= 0 && is_old(u) ? meet(u) : walk_on(u);
        if (p != GO_ON)
            return p;
        if (unlikely(u->fresh == TRACE_WALK))
            return arrive(u, STACK_CUT);
    }
}

static enum progress try(struct trace *t, const struct entry *at, bool may_grow)
{
    struct update u = {.t = t,
                       .c = cursor_at(at),
                       .rule = &rules[0],
                       .old = (int32_t)t->count - 1,
                       .saver = FRESH_ENTRY,
                       .may_grow = may_grow};
    enum progress p = walk(&u);
    return p == ARRIVED ? keep(&u) : p;
}

bool trace_update(struct trace *t, const struct entry *at, bool may_grow)
{
    uint32_t epoch = atomic_load_explicit(&rules_epoch, memory_order_acquire);
    if (unlikely(t->epoch != epoch)) {
        t->epoch = epoch;
        t->count = 0;
    }
    enum progress p = try(t, at, may_grow);
    if (unlikely(p == ANEW)) {
        t->count = 0;
        p = try(t, at, may_grow);
    }
    if (likely(p == ARRIVED))
        return true;
    t->count = 0;
    return false;
}
