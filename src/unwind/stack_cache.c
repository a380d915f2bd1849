/*
 * stack_cache.c - a thread's stack, from its last one.
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
 * A stack deeper than CACHED_MORE beyond what is wanted is cut there.  When it returns so far that
 * fewer remain than are wanted the walk begins anew.
 */
#include "unwinder_priv.h"

#include <string.h>

enum progress {
    WALK_ON,
    REJOINED, /* the rest stands, or there is none */
    RESTART,  /* too deep, or too little of a stack that was cut: all of it must be walked */
    MISMATCH, /* a stack that cannot be kept */
    NO_RULE,  /* not without making a rule, which this caller has no stack for */
};

/*
 * What a walk is in the midst of.  The functions of the hot path are inlined so that it lives in
 * registers; the others take the members that they need, in registers too: copies would lie on a
 * stack that may be small.
 */
struct update {
    struct stack_cache *all;
    struct cached_stack *t; /* of them */
    struct cursor c;
    struct rule *rule; /* of the last frame */
    const struct cached_frame
        *old;                  /* innermost of the last stack that may still stand, or the wall */
    struct fresh_frame *fresh; /* behind the last of the frames found inside of it */
    const struct fresh_frame *most; /* how far that may go */
    bool make;                      /* rules that are missing */
    uint32_t end;
};

ALWAYS_INLINE uint32_t fresh_count(const struct update *u)
{
    return (uint32_t)(u->fresh - u->all->fresh);
}

ALWAYS_INLINE uint32_t index_of(const struct cached_stack *t, const struct cached_frame *f)
{
    return (uint32_t)(f - t->frame);
}

/* ---- 1. inner frames ------------------------------------------------------------------------- */

ALWAYS_INLINE uint32_t rule_slot(uint64_t key)
{
    return (uint32_t)(key ^ key >> 12) % CACHED_RULES;
}

static COLD struct rule *make_rule(uint64_t key)
{
    struct rule spare;
    const struct rule *r = rule_of(key, &spare, true);
    return r == &spare ? NULL : rule_at(rule_offset(r));
}

static struct rule *find_rule(struct stack_cache *all, uint64_t key, bool make)
{
    struct rule *r = rule_known(key);
    if (!r && make)
        r = make_rule(key);
    if (r)
        all->rule_at[rule_slot(key)] = rule_offset(r);
    return r;
}

/* What this pc was last time: a hint.  (Whom a frame's caller was last time is a worse one.) */
ALWAYS_INLINE struct rule *rule_here(struct stack_cache *all, uint64_t key, bool make)
{
    struct rule *r = rule_at(all->rule_at[rule_slot(key)]);
    return likely(rule_is(r, key)) ? r : find_rule(all, key, make);
}

ALWAYS_INLINE enum step add_and_step(struct update *u, struct rule *r)
{
    u->rule = r;
    *u->fresh++ = (struct fresh_frame){u->c.sp, u->c.key, u->c.bp, r};
    return step(&u->c, r);
}

static uint32_t end_reason(enum step s)
{
    return s == STEP_ON ? STACK_CUT : end_of(s);
}

/* One frame further out. */
ALWAYS_INLINE enum progress walk_on(struct update *u)
{
    struct rule *r = rule_here(u->all, u->c.key, u->make);
    if (unlikely(!r))
        return u->make ? MISMATCH : NO_RULE;
    enum step s = add_and_step(u, r);
    if (likely(s == STEP_ON && u->fresh < u->most))
        return WALK_ON;
    u->end = end_reason(s);
    u->old = u->t->frame;
    return s == STEP_COMPLEX || r->kind == RULE_SIGNAL ? MISMATCH : REJOINED;
}

/* ---- 2. the rest, word by word --------------------------------------------------------------- */

ALWAYS_INLINE uint64_t slot_differs(const struct cached_frame *f)
{
    return ((const uintptr_t *)f->sp)[-1] ^ f->pc;
}

ALWAYS_INLINE bool four_match(const struct cached_frame *f)
{
    return likely(
        !(slot_differs(f) | slot_differs(f + 1) | slot_differs(f + 2) | slot_differs(f + 3)));
}

/* One after the other: an address is right when the words inside of it were. */
static const struct cached_frame *find_difference(const struct cached_frame *f,
                                                  const struct cached_frame *stop)
{
    while (f > stop && !slot_differs(f - 1))
        f--;
    return f;
}

/*
 * Down to `stop`; the frame whose return address is another, else `stop`.
 *
 * Four at once, and the last four twice if need be: what costs is not the words, it is every
 * branch that cannot be guessed.  The price is to read up to three words further out than one that
 * differs; so only where the whole stack is known to be there.
 */
ALWAYS_INLINE const struct cached_frame *verify_slots(const struct cached_stack *t,
                                                      const struct cached_frame *from,
                                                      const struct cached_frame *stop)
{
    const struct cached_frame *f = from;
    if (unlikely(!t->known) || from < stop + 4)
        return find_difference(from, stop);
    for (; f >= stop + 4; f -= 4)
        if (!four_match(f - 4))
            return find_difference(f, stop);
    return four_match(stop) ? stop : find_difference(f, stop);
}

/*
 * How many of the fresh frames are inside of the one, before `f`, that saved rbp at `bp`; 0: our
 * caller's rbp.
 */
static uint32_t inside_saver(const struct fresh_frame *first, const struct fresh_frame *f,
                             const uintptr_t *bp)
{
    while (f > first && f[-1].bp == bp)
        f--;
    return (uint32_t)(f - first);
}

/*
 * The place, in the trace to be, of the frame that saved rbp, as it was in a fresh frame, at `bp`
 * (or, `f` behind them, as it is now): the fresh frames follow `old`, the innermost last.
 */
ALWAYS_INLINE uint16_t saver_of(const struct update *u, const struct fresh_frame *f,
                                const uintptr_t *bp)
{
    return (uint16_t)(index_of(u->t, u->old) + fresh_count(u) + 1 -
                      inside_saver(u->all->fresh, f, bp));
}

/* What rbp is found by from here on may have moved: its value was compared by is_old. */
ALWAYS_INLINE void move_check(const struct update *u, struct cached_check *check)
{
    check->slot = u->c.bp;
    check->saver = saver_of(u, u->fresh, u->c.bp);
}

#ifdef RTC_MUTATE_STOP /* what the tests of stacks must notice */
#define OUTERMOST(t, f) ((f) - (t)->frame > 5 ? (f)-4 : (t)->frame + 1)
#else
#define OUTERMOST(t, f) ((t)->frame + 1)
#endif

/*
 * The outermost frame that stands: the first, when all do; else that frame's caller is another
 * one, or in another state.
 */
ALWAYS_INLINE const struct cached_frame *verify(const struct update *u)
{
    struct cached_stack *t = u->t;
    const struct cached_frame *f = u->old;
    uint32_t n = t->checks, old = index_of(t, f);
    while (n && t->check[n - 1].frame > old)
        n--;
    /* This thread may leave us by siglongjmp: what is inside of `old` must not stay without checks. */
    t->count = old;
    atomic_signal_fence(memory_order_seq_cst);
    t->checks = n;
    while (unlikely(n)) {
        struct cached_check *check = &t->check[--n];
        const struct cached_frame *stop = &t->frame[check->frame];
        f = verify_slots(t, f, stop);
        if (f > stop)
            return f;
        if (check->saver > old)
            move_check(u, check);
        else if (*check->slot != check->value)
            return f + 1;
    }
    f = verify_slots(t, f, OUTERMOST(t, u->old));
    return f == OUTERMOST(t, u->old) ? &t->frame[1] : f;
}

/* ---- 3. frames that stand, though what is outside of them does not --------------------------- */

/*
 * Goes on from `last`, the outermost one: the frames from u.old to it become fresh ones.  They
 * are stepped over as if for the first time, so what has changed meanwhile is not kept either.
 */
ALWAYS_INLINE enum progress continue_from(struct update *u, const struct cached_frame *last)
{
    for (; u->old >= last; u->old--)
        if (u->fresh >= u->most ||
            add_and_step(u, u->t->more[index_of(u->t, u->old)].rule) != STEP_ON)
            return RESTART;
    return WALK_ON;
}

/* Is the frame that we have come to the last stack's `old`? */
ALWAYS_INLINE bool is_old(const struct update *u)
{
    if ((u->old->sp ^ u->c.sp) | (u->old->pc ^ u->c.key))
        return false;
    const struct cached_frame_more *m = &u->t->more[index_of(u->t, u->old)];
    return likely(!m->needs_bp) || m->bp == *u->c.bp;
}

ALWAYS_INLINE enum progress rejoin(struct update *u)
{
    const struct cached_frame *last = verify(u);
    if (likely(last == &u->t->frame[1]))
        return REJOINED;
    return last > u->old ? RESTART : continue_from(u, last);
}

/* ---- keeping it ------------------------------------------------------------------------------ */

/* The words, beside its return address, that a frame is left by. */
static COLD void add_checks(struct cached_stack *t, uint32_t i, const struct fresh_frame *f,
                            uint16_t saver, uintptr_t high, bool known)
{
    if (f->rule->kind == RULE_DRAP) { /* first, for the list is read backwards */
        const uintptr_t *slot = drap_slot(*f->bp, f->sp, high, f->rule->offset);
        if (slot) /* else this frame could not be left: its rbp, below, says so */
            t->check[t->checks++] = (struct cached_check){slot, *slot, (uint16_t)i, 0};
    }
    if (f->rule->kind == RULE_CHAIN &&
        i == 1) { /* it may be what this word is that ends the stack */
        const uintptr_t *slot = chain_slot(*f->bp, f->sp, high, known);
        if (slot)
            t->check[t->checks++] = (struct cached_check){slot, *slot, (uint16_t)i, 0};
    }
    t->check[t->checks++] = (struct cached_check){f->bp, *f->bp, (uint16_t)i, saver};
}

ALWAYS_INLINE void keep_frame(const struct update *u, uint32_t i, const struct fresh_frame *f)
{
    struct cached_stack *t = u->t;
    struct cached_frame_more *m = &t->more[i];
    struct rule *r = f->rule;
    t->frame[i] = (struct cached_frame){f->sp, f->pc};
    m->word = word_of(f->pc, r);
    m->hash = depot_hash(m[-1].hash, m->word);
    m->rule = r;
    m->id = 0;
    m->needs_bp = rule_uses_bp(r) | (!r->saved_bp & m[-1].needs_bp); /* no branch to guess */
    if (likely(!m->needs_bp))
        return;
    m->bp = *f->bp;
    if (rule_uses_bp(r))
        add_checks(t, i, f, saver_of(u, f, f->bp), u->c.high, u->c.known);
}

/*
 * No frame stands.  Where a return address of 0 said that there are no more - a coroutine's first
 * frame - that word counts, too.
 */
ALWAYS_INLINE void restart_walk(const struct update *u)
{
    const uintptr_t *slot = (const uintptr_t *)u->c.sp - 1;
    u->t->end = u->end;
    u->t->known = u->c.known;
    u->t->more[0].hash = depot_root(u->end);
    u->t->checks = u->rule->kind != RULE_END;
    u->t->check[0] = (struct cached_check){slot, *slot, 1, 0};
}

ALWAYS_INLINE enum progress keep(const struct update *u)
{
    struct cached_stack *t = u->t;
    uint32_t old = index_of(t, u->old), count = old + fresh_count(u);
    t->count = 0; /* until it is whole: this thread may leave us by siglongjmp */
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(!old))
        restart_walk(u);
    if (unlikely(count > CACHED_FRAMES || (t->end == STACK_CUT && count < frames_wanted)))
        return RESTART;
    for (const struct fresh_frame *f = u->fresh; f > u->all->fresh;)
        keep_frame(u, ++old, --f);
    atomic_signal_fence(memory_order_seq_cst);
    t->count = count;
    return REJOINED;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/*
 * The innermost of the last stack's frames that may still stand.  How many have returned cannot be
 * guessed, so of the first eight that is counted and no branch taken.
 */
ALWAYS_INLINE const struct cached_frame *first_valid(const struct cached_stack *t, uintptr_t sp)
{
    const struct cached_frame *f = &t->frame[t->count];
    uint32_t returned = 0;
    if (likely(t->count >= 8))
        for (uint32_t i = 0; i < 8; i++)
            returned += f[-(ptrdiff_t)i].sp < sp;
    for (f -= returned; unlikely(f->sp < sp);)
        f--;
    return f;
}

static enum progress try(struct stack_cache *all, struct cached_stack *t, const struct entry *at,
                         bool make)
{
    struct update u; /* member by member: as a whole it would be cleared first */
    enum progress p;
    t->frame[0].sp = UINTPTR_MAX;
    u.all = all;
    u.t = t;
    u.c = cursor_at(at);
    u.rule = rules;
    u.old = first_valid(t, u.c.sp);
    u.fresh = all->fresh;
    u.most = all->fresh + frames_wanted + CACHED_MORE;
    u.make = make;
    u.end = 0;
    do {
        while (u.old->sp < u.c.sp)
            u.old--;
        p = is_old(&u) ? rejoin(&u) : walk_on(&u);
    } while (p == WALK_ON);
    return likely(p == REJOINED) ? keep(&u) : p;
}

/* The first attempt did not arrive. */
static COLD bool try_restart(struct stack_cache *all, struct cached_stack *t,
                             const struct entry *at, bool make, enum progress first)
{
    enum progress p = first;
    if (first != NO_RULE) {
        t->count = 0;
        p = try(all, t, at, make);
        if (p == REJOINED)
            return true;
        t->count = 0;
    }
    all->lacks_rule = p == NO_RULE;
    return false;
}

ALWAYS_INLINE void replace(struct cached_frame *f, struct cached_frame_more *m, struct rule *r,
                           uint64_t key)
{
    f->pc = 0; /* until it is whole: this thread may leave us by siglongjmp */
    atomic_signal_fence(memory_order_seq_cst);
    m->word = word_of(key, r);
    m->hash = depot_hash(m[-1].hash, m->word);
    m->rule = r;
    m->id = 0;
    atomic_signal_fence(memory_order_seq_cst);
    f->pc = key;
}

/* One frame is wanted: nothing is walked. */
static bool only_caller(struct stack_cache *all, struct cached_stack *t, const struct entry *at,
                        bool make)
{
    uint64_t key = at->pc & KEY_PC;
    struct rule *r = rule_here(all, key, make);
    if (!r) {
        all->lacks_rule = !make;
        return false;
    }
    t->end = STACK_CUT;
    t->more[0].hash = depot_root(STACK_CUT);
    replace(&t->frame[1], &t->more[1], r, key);
    t->count = 1;
    return true;
}

static inline bool try_all(struct stack_cache *all, struct cached_stack *t, const struct entry *at,
                           bool make)
{
    if (unlikely(frames_wanted == 1))
        return only_caller(all, t, at, make);
    enum progress p = try(all, t, at, make);
    return likely(p == REJOINED) || try_restart(all, t, at, make, p);
}

/* ---- the commonest case ---------------------------------------------------------------------- */

/* Do all words hold, seen from frame `f`, if it saves no rbp but as it did? */
ALWAYS_INLINE bool all_match(const struct cached_stack *t, const struct cached_frame *f)
{
    uint32_t inner = index_of(t, f);
    for (uint32_t n = t->checks; unlikely(n); n--) {
        const struct cached_check *check = &t->check[n - 1];
        const struct cached_frame *stop = &t->frame[check->frame];
        if (check->saver >= inner || stop > f)
            return false;
        f = verify_slots(t, f, stop);
        if (f > stop || *check->slot != check->value)
            return false;
    }
    const struct cached_frame *outermost = OUTERMOST(t, f);
    return verify_slots(t, f, outermost) == outermost;
}

/* Does this call's rule lead to the same caller as that of the last call from the same frame? */
ALWAYS_INLINE bool is_same_caller(const struct cached_frame *f, const struct cached_frame_more *m,
                                  const struct rule *r)
{
    return r->kind == RULE_SP && f->sp + (uintptr_t)(intptr_t)r->offset == f[-1].sp &&
           !m->needs_bp && !m[-1].needs_bp;
}

/*
 * Most calls are made by the function activation that made the last one, from the same place or
 * from another in it: then the innermost frame is all that can differ, if all words hold.
 */
ALWAYS_INLINE bool refresh(struct stack_cache *all, struct cached_stack *t, const struct entry *at,
                           bool make)
{
    uint64_t key = at->pc & KEY_PC;
    struct cached_frame *f = &t->frame[t->count];
    if (unlikely(t->count < 2) || f->sp != (uintptr_t)(at + 1))
        return try_all(all, t, at, make);
    struct cached_frame_more *m = &t->more[t->count];
    if (f->pc == key && likely(!m->needs_bp))
        return likely(all_match(t, f)) || try_all(all, t, at, make);
    struct rule *r = rule_at(all->rule_at[rule_slot(key)]);
    if (!rule_is(r, key) || !is_same_caller(f, m, r) || unlikely(!all_match(t, f)))
        return try_all(all, t, at, make);
    replace(f, m, r, key);
    return true;
}

/* ---- which one ------------------------------------------------------------------------------- */

#define MISSES_MAX 16u /* one of so many begins from another trace than the last */

/*
 * Tells most calls from another: from one place, at one depth of the stack.  All of the stack is read
 * behind it, so it takes no multiplication.
 */
ALWAYS_INLINE uint32_t mark_of(const struct entry *at)
{
    uintptr_t sp = (uintptr_t)at;
    return (uint32_t)(at->pc ^ at->pc >> 10 ^ sp >> 4 ^ sp >> 14) % CACHED_MARKS;
}

/*
 * A call that is like none.  Mostly it has more in common with the last one than with others; but
 * where a few kinds take turns each has to come to a trace of its own, which it then finds by its
 * mark.
 */
ALWAYS_INLINE uint32_t find_victim(struct stack_cache *all)
{
    uint32_t n = ++all->misses;
    return likely(n % MISSES_MAX) ? all->last : n / MISSES_MAX % CACHED_STACKS;
}

ALWAYS_INLINE struct cached_stack *choose(struct stack_cache *all, const struct entry *at)
{
    uint32_t mark = mark_of(at), i = all->by_mark[mark];
    if (all->mark[i] != mark) {
        i = find_victim(all);
        all->by_mark[mark] = (uint8_t)i;
        all->mark[i] = (uint16_t)mark;
    }
    all->last = i;
    return &all->cached[i];
}

/* Rules were dropped - in a child that goes without its parent's depot the ids are, too. */
static COLD void begin_epoch(struct stack_cache *all, uint32_t epoch)
{
    for (uint32_t i = 0; i < CACHED_STACKS; i++)
        if (all->cached[i].count)
            all->cached[i].count = 0;
    memset(all->recent, 0, (all->recent_mask + 1) * sizeof all->recent[0]);
    all->epoch = epoch;
}

struct cached_stack *stack_cache_update(struct stack_cache *all, const struct entry *at, bool make)
{
    uint32_t epoch = atomic_load_explicit(&rules_epoch, memory_order_acquire);
    if (unlikely(all->epoch != epoch))
        begin_epoch(all, epoch);
    struct cached_stack *t = choose(all, at);
    return likely(refresh(all, t, at, make)) ? t : NULL;
}
