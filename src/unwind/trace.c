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

enum progress {
    GO_ON,
    ARRIVED, /* the rest stands, or there is none */
    ANEW,    /* too deep, or too little of a stack that was cut: all of it must be walked */
    NOT_SO,  /* a stack that cannot be kept */
};

/*
 * What a walk is in the midst of.  The functions of the hot path are inlined so that it lives in
 * registers; the others take it and give it back by value.
 */
struct update {
    struct trace *t;
    struct cursor c;
    struct rule *rule; /* of the last frame */
    int32_t old;       /* innermost frame of the last stack that may still stand, or NONE */
    uint32_t fresh;    /* frames found inside of it */
    uint16_t saver;    /* the fresh frame that saved rbp as it is now: see trace_fresh */
    bool may_grow;
    uint32_t end;
    enum progress progress;
};

/* ---- 1. inner frames ------------------------------------------------------------------------- */

static struct rule *find_rule(struct update u)
{
    struct rule spare;
    const struct rule *r = rule_of(u.c.key, &spare, u.may_grow);
    if (r == &spare)
        return NULL;
    uint32_t n = (uint32_t)(r - rules);
    u.t->rule_of[u.c.key % TRACE_RECENT] = n;
    if (u.rule != rules) /* what all begin with would go from cache to cache */
        atomic_store_explicit(&u.rule->next, n, memory_order_relaxed);
    return &rules[n];
}

/* Two hints: whom the last frame's caller was last time, and what this pc was last time. */
ALWAYS_INLINE struct rule *rule_here(const struct update *u)
{
    struct rule *r = &rules[atomic_load_explicit(&u->rule->next, memory_order_relaxed)];
    if (likely(rule_is(r, u->c.key)))
        return r;
    r = &rules[u->t->rule_of[u->c.key % TRACE_RECENT]];
    return likely(rule_is(r, u->c.key)) ? r : find_rule(*u);
}

/* Is the frame that we have come to the last stack's `old`? */
ALWAYS_INLINE bool is_old(const struct update *u)
{
    const struct trace_frame *f = &u->t->frame[u->old];
    const struct trace_more *m = &u->t->more[u->old];
    return f->sp == u->c.sp && f->pc == u->c.key && (likely(!m->needs_bp) || m->bp == *u->c.bp);
}

ALWAYS_INLINE enum step add_and_step(struct update *u, struct rule *r)
{
    const uintptr_t *bp = u->c.bp;
    u->rule = r;
    u->t->fresh[u->fresh++] =
        (struct trace_fresh){u->c.sp, u->c.key, bp, (uint32_t)(r - rules), u->saver};
    enum step s = step(&u->c, r);
    u->saver = u->c.bp != bp ? (uint16_t)(u->fresh - 1) : u->saver;
    return s;
}

/* One frame further out. */
ALWAYS_INLINE enum progress walk_on(struct update *u)
{
    struct rule *r = rule_here(u);
    if (unlikely(!r))
        return NOT_SO;
    enum step s = add_and_step(u, r);
    u->end = s == STEP_ON ? STACK_CUT : end_of(s);
    if (likely(s == STEP_ON && u->fresh < TRACE_WALK))
        return GO_ON;
    u->old = NONE;
    return s == STEP_SIGNAL || s == STEP_COMPLEX ? NOT_SO : ARRIVED;
}

/* ---- 2. the rest, word by word ------------------------------------------------------------------ */

ALWAYS_INLINE bool slot_holds(const struct trace_frame *f)
{
    return likely(((const uintptr_t *)f->sp)[-1] == f->pc);
}

/* Down to `stop`; the frame whose return address is another, else `stop`. */
ALWAYS_INLINE const struct trace_frame *verify_slots(const struct trace_frame *f,
                                                     const struct trace_frame *stop)
{
    for (; f - stop >= 4; f -= 4) { /* in this order: an address is right when inner ones were */
        if (!slot_holds(f - 1))
            return f;
        if (!slot_holds(f - 2))
            return f - 1;
        if (!slot_holds(f - 3))
            return f - 2;
        if (!slot_holds(f - 4))
            return f - 3;
    }
    while (f > stop && slot_holds(f - 1))
        f--;
    return f;
}

/* A saver's place in the trace to be: the fresh frames follow `old`, the innermost last. */
ALWAYS_INLINE uint16_t index_of_saver(const struct update *u, uint16_t saver)
{
    return (uint16_t)((uint32_t)u->old + (saver == FRESH_ENTRY ? u->fresh + 1 : u->fresh - saver));
}

/* What rbp is found by from here on may have moved: its value was compared by is_old. */
static void move_check(struct update u, struct trace_check *check)
{
    check->slot = u.c.bp;
    check->saver = index_of_saver(&u, u.saver);
}

#ifdef RTC_MUTATE_STOP /* what the tests of stacks must notice */
#define STOP_AT(old) ((old) > 4 ? (old) - 4 : 0)
#else
#define STOP_AT(old) 0
#endif

/*
 * The outermost frame that stands: 0, all do; else that frame's caller is another one, or in
 * another state.
 */
ALWAYS_INLINE int32_t verify(const struct update *u)
{
    struct trace *t = u->t;
    const struct trace_frame *f = &t->frame[u->old];
    uint32_t n = t->checks;
    while (n && t->check[n - 1].frame > u->old)
        n--;
    t->checks = n;
    for (;;) {
        const struct trace_frame *stop = &t->frame[n ? t->check[n - 1].frame : STOP_AT(u->old)];
        f = verify_slots(f, stop);
        if (unlikely(f > stop))
            return (int32_t)(f - t->frame);
        if (likely(!n))
            return 0;
        struct trace_check *check = &t->check[--n];
        if (check->saver > u->old)
            move_check(*u, check);
        else if (*check->slot != check->value)
            return (int32_t)(f - t->frame) + 1;
    }
}

/* ---- 3. frames that stand, though what is outside of them does not -------------------------------- */

/*
 * Goes on from `last`, the outermost one: the frames from u.old to it become fresh ones.  They
 * are stepped over as if for the first time, so what has changed meanwhile is not kept either.
 */
static struct update go_on_from(struct update u, int32_t last)
{
    u.progress = GO_ON;
    for (int32_t i = u.old; i >= last && u.progress == GO_ON; i--)
        if (u.fresh == TRACE_WALK || add_and_step(&u, &rules[u.t->more[i].rule]) != STEP_ON)
            u.progress = ANEW;
    u.old = last - 1;
    return u;
}

ALWAYS_INLINE enum progress meet(struct update *u)
{
    int32_t last = verify(u);
    if (likely(last == 0))
        return ARRIVED;
    if (last > u->old)
        return ANEW;
    *u = go_on_from(*u, last);
    return u->progress;
}

/* ---- keeping it --------------------------------------------------------------------------------- */

/* The words, beside its return address, that a frame is left by. */
static void add_checks(struct update u, uint32_t i, const struct trace_fresh *f,
                       const struct rule *r)
{
    struct trace *t = u.t;
    if (r->kind == RULE_DRAP) { /* first, for the list is read backwards */
        const uintptr_t *slot = (const uintptr_t *)(*f->bp + (uintptr_t)(intptr_t)r->offset);
        t->check[t->checks++] = (struct trace_check){slot, *slot, (uint16_t)i, 0};
    }
    t->check[t->checks++] =
        (struct trace_check){f->bp, *f->bp, (uint16_t)i, index_of_saver(&u, f->saver)};
}

ALWAYS_INLINE uint64_t keep_frame(const struct update *u, uint32_t i, const struct trace_fresh *f,
                                  uint64_t outer)
{
    struct trace *t = u->t;
    struct trace_more *m = &t->more[i];
    const struct rule *r = &rules[f->rule];
    bool uses_bp = r->kind != RULE_SP && r->kind != RULE_END;
    t->frame[i] = (struct trace_frame){f->sp, f->pc};
    m->word = word_of(f->pc, r);
    m->hash = depot_hash(outer, m->word);
    m->rule = f->rule;
    m->id = 0;
    m->needs_bp = uses_bp || (!r->saved_bp && i && m[-1].needs_bp);
    if (unlikely(m->needs_bp)) {
        m->bp = *f->bp;
        if (uses_bp)
            add_checks(*u, i, f, r);
    }
    return m->hash;
}

/*
 * No frame stands.  Where a return address of 0 said that there are no more - a coroutine's first
 * frame - that word counts, too.
 */
static void begin_anew(struct update u)
{
    const uintptr_t *slot = (const uintptr_t *)u.c.sp - 1;
    u.t->end = u.end;
    u.t->checks = u.rule->kind != RULE_END;
    u.t->check[0] = (struct trace_check){slot, *slot, 0, 0};
}

ALWAYS_INLINE enum progress keep(const struct update *u)
{
    struct trace *t = u->t;
    uint32_t from = (uint32_t)(u->old + 1), count = from + u->fresh;
    if (u->fresh == 0 && count == t->count)
        return ARRIVED;
    t->count = 0; /* until it is whole: this thread may leave us by siglongjmp */
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(u->old == NONE))
        begin_anew(*u);
    if (unlikely(count > TRACE_FRAMES || (t->end == STACK_CUT && count < RTC_STACK_FRAMES)))
        return ANEW;
    uint64_t hash = from ? t->more[from - 1].hash : depot_root(t->end);
    for (uint32_t i = from; i < count; i++)
        hash = keep_frame(u, i, &t->fresh[count - 1 - i], hash);
    atomic_signal_fence(memory_order_seq_cst);
    t->count = count;
    return ARRIVED;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

ALWAYS_INLINE enum progress walk(struct update *u)
{
    enum progress p;
    do {
        while (u->old >= 0 && u->t->frame[u->old].sp < u->c.sp)
            u->old--;
        p = u->old >= 0 && is_old(u) ? meet(u) : walk_on(u);
    } while (p == GO_ON);
    return p;
}

static enum progress try(struct trace *t, const struct entry *at, bool may_grow)
{
    struct update u = {.t = t,
                       .c = cursor_at(at),
                       .rule = rules,
                       .old = (int32_t)t->count - 1,
                       .saver = FRESH_ENTRY,
                       .may_grow = may_grow};
    enum progress p = walk(&u);
    return likely(p == ARRIVED) ? keep(&u) : p;
}

static COLD bool try_anew(struct trace *t, const struct entry *at, bool may_grow)
{
    t->count = 0;
    if (try(t, at, may_grow) == ARRIVED)
        return true;
    t->count = 0;
    return false;
}

bool trace_update(struct trace *t, const struct entry *at, bool may_grow)
{
    uint32_t epoch = atomic_load_explicit(&rules_epoch, memory_order_acquire);
    if (unlikely(t->epoch != epoch)) {
        t->epoch = epoch;
        t->count = 0;
    }
    return likely(try(t, at, may_grow) == ARRIVED) || try_anew(t, at, may_grow);
}
