/*
 * stack_cache.c - the stack cache: derive a thread's backtrace from a cached one.
 *
 * The walk from a frame is a function of the frame's state (pc, stack pointer, and rbp if it is
 * used) and of the words read on the way.  So:
 *
 *   1. Walk the inner frames until one has the state of a frame in the cached backtrace.
 *   2. From there read again, from inner to outer frames, every word that the cached walk depended
 *      on: each return address, and each saved rbp that located an outer frame.  While the words
 *      are unchanged, so are the frames.  The address of a word is valid because all words of
 *      inner frames were verified.  So nothing is read that a walk would not read.
 *   3. If a word differs, the frames inside of it are valid, and the walk continues from them.
 *
 * All words are verified, always.  A stack that agrees in its next 4 frames may differ further out:
 * an outer function returned and was called again from another place, with the same layout.  This
 * happens at up to a tenth of all allocations of real programs.
 *
 * rbp is verified only where a frame needs it (needs_bp).  Most code uses it as a general register,
 * and then its value is not related to frames.
 *
 * A stack with more than CACHED_MORE frames beyond the requested number is cut there.  The walk
 * starts from scratch when returns leave fewer frames than requested.
 */
#include "unwinder_priv.h"

#include <string.h>

enum progress {
    WALK_ON,
    REJOINED, /* all outer frames are valid, or there are none */
    RESTART,  /* too deep, or too few frames left of a cut stack: walk all of it */
    MISMATCH, /* a stack that cannot be cached */
    NO_RULE,  /* a rule must be made, and this caller has not enough stack for it */
};

/*
 * State of an update.  The functions of the hot path are inlined, so it lives in registers.  The
 * other functions take single members, also in registers.  A copy in memory would use stack, which
 * may be small.
 */
struct update {
    struct stack_cache *all;
    struct cached_stack *t; /* one of all->cached */
    struct cursor c;
    struct rule *rule; /* of the last frame walked */
    /* Innermost cached frame that may be valid, or the sentinel frame[0]. */
    const struct cached_frame *old;
    struct fresh_frame *fresh;      /* after the last of the newly walked inner frames */
    const struct fresh_frame *most; /* limit of `fresh` */
    bool make;                      /* make missing rules */
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

/*
 * The rule last used for this hash of the pc, a hint.  (A hint per frame for its caller's rule is
 * less reliable.)
 */
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

/* Walk one frame outwards. */
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

/* ---- 2. verify the outer frames, word by word ------------------------------------------------ */

ALWAYS_INLINE uint64_t slot_differs(const struct cached_frame *f)
{
    return ((const uintptr_t *)f->sp)[-1] ^ f->pc;
}

ALWAYS_INLINE bool four_match(const struct cached_frame *f)
{
    return likely(
        !(slot_differs(f) | slot_differs(f + 1) | slot_differs(f + 2) | slot_differs(f + 3)));
}

/* One by one: the address of a word is valid only if the words of inner frames are unchanged. */
static const struct cached_frame *find_difference(const struct cached_frame *f,
                                                  const struct cached_frame *stop)
{
    while (f > stop && !slot_differs(f - 1))
        f--;
    return f;
}

/*
 * Verify return addresses from `from` outwards to `stop`.  Returns `stop`, or the innermost frame
 * with an outer neighbour that differs.
 *
 * Four words are compared at once, and the last four perhaps twice: the cost is not in the words
 * but in unpredictable branches.  This reads up to three words beyond one that differs, so it is
 * done only if the bounds of the stack are known.
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
 * The number of fresh frames inside of the frame that saved rbp at `bp`, among those before `f`.
 * 0: rbp of our caller.
 */
static uint32_t inside_saver(const struct fresh_frame *first, const struct fresh_frame *f,
                             const uintptr_t *bp)
{
    while (f > first && f[-1].bp == bp)
        f--;
    return (uint32_t)(f - first);
}

/*
 * The index, in the updated backtrace, of the frame that saved at `bp` the rbp of a fresh frame (or
 * the current rbp, if `f` is the end of the fresh frames).  Fresh frames follow `old`, innermost
 * last.
 */
ALWAYS_INLINE uint16_t saver_of(const struct update *u, const struct fresh_frame *f,
                                const uintptr_t *bp)
{
    return (uint16_t)(index_of(u->t, u->old) + fresh_count(u) + 1 -
                      inside_saver(u->all->fresh, f, bp));
}

/* rbp may now be saved at another address.  is_old has already compared its value. */
ALWAYS_INLINE void move_check(const struct update *u, struct cached_check *check)
{
    check->slot = u->c.bp;
    check->saver = saver_of(u, u->fresh, u->c.bp);
}

#ifdef RTC_MUTATE_STOP /* a mutation the stack tests must detect */
#define OUTERMOST(t, f) ((f) - (t)->frame > 5 ? (f)-4 : (t)->frame + 1)
#else
#define OUTERMOST(t, f) ((t)->frame + 1)
#endif

/*
 * The outermost valid frame: frame[1] if all are valid; else the caller of that frame has changed,
 * or its state has.
 */
ALWAYS_INLINE const struct cached_frame *verify(const struct update *u)
{
    struct cached_stack *t = u->t;
    const struct cached_frame *f = u->old;
    uint32_t n = t->checks, old = index_of(t, f);
    while (n && t->check[n - 1].frame > old)
        n--;
    /* siglongjmp may leave this function: remove the frames inside of `old` before their checks. */
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

/* ---- 3. valid inner frames, with changed outer ones ------------------------------------------ */

/*
 * Continue the walk from `last`, the outermost valid frame.  The frames from u.old to `last` become
 * fresh frames.  They are stepped over again, so words that have changed meanwhile are not cached.
 */
ALWAYS_INLINE enum progress continue_from(struct update *u, const struct cached_frame *last)
{
    for (; u->old >= last; u->old--)
        if (u->fresh >= u->most ||
            add_and_step(u, u->t->more[index_of(u->t, u->old)].rule) != STEP_ON)
            return RESTART;
    return WALK_ON;
}

/* Is the current frame equal to the cached frame `old`? */
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

/* ---- storing the backtrace ------------------------------------------------------------------- */

/* Add checks for the words, other than its return address, that unwinding a frame needs. */
static COLD void add_checks(struct cached_stack *t, uint32_t i, const struct fresh_frame *f,
                            uint16_t saver, uintptr_t high, bool known)
{
    /* Added first, because checks are verified in reverse order. */
    if (f->rule->kind == RULE_DRAP) {
        const uintptr_t *slot = drap_slot(*f->bp, f->sp, high, f->rule->offset);
        if (slot) /* else the walk ended here because of rbp, checked below */
            t->check[t->checks++] = (struct cached_check){slot, *slot, (uint16_t)i, 0};
    }
    if (f->rule->kind == RULE_CHAIN &&
        i == 1) { /* in the outermost frame this word may have ended the walk */
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
    m->needs_bp = rule_uses_bp(r) | (!r->saved_bp & m[-1].needs_bp); /* branch-free */
    if (likely(!m->needs_bp))
        return;
    m->bp = *f->bp;
    if (rule_uses_bp(r))
        add_checks(t, i, f, saver_of(u, f, f->bp), u->c.high, u->c.known);
}

/*
 * No cached frame is valid.  If a return address of 0 ended the walk (a coroutine's first frame),
 * this word needs a check, too.
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
    t->count = 0; /* until all frames are stored: siglongjmp may leave this function */
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

/* ---- the whole update ------------------------------------------------------------------------ */

/*
 * The innermost cached frame that may be valid.  The number of frames that have returned is
 * unpredictable, so among the first eight it is counted without branches.
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
    struct update u; /* set member by member: an initialiser would clear it first */
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

/* The first attempt failed: start from scratch. */
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
    f->pc = 0; /* until the frame is stored: siglongjmp may leave this function */
    atomic_signal_fence(memory_order_seq_cst);
    m->word = word_of(key, r);
    m->hash = depot_hash(m[-1].hash, m->word);
    m->rule = r;
    m->id = 0;
    atomic_signal_fence(memory_order_seq_cst);
    f->pc = key;
}

/* Only one frame is requested: no walk. */
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

/* ---- the most frequent case ------------------------------------------------------------------ */

/*
 * Are all words from frame `f` outwards unchanged?  Also false if a check depends on an rbp saved
 * by `f` or by our caller.
 */
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

/*
 * Does this call's rule lead to the same caller as the rule of the previous call from the same
 * frame?
 */
ALWAYS_INLINE bool is_same_caller(const struct cached_frame *f, const struct cached_frame_more *m,
                                  const struct rule *r)
{
    return r->kind == RULE_SP && f->sp + (uintptr_t)(intptr_t)r->offset == f[-1].sp &&
           !m->needs_bp && !m[-1].needs_bp;
}

/*
 * Most calls come from the function activation that made the last one, from the same call site or
 * another.  Then only the innermost frame can differ, if all words are unchanged.
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

/* ---- selection of a cached backtrace --------------------------------------------------------- */

#define MISSES_MAX 16u /* one in so many misses replaces another entry than the last one */

/*
 * A hash of call site and stack depth, which distinguishes most calls.  The walk verifies the stack
 * anyway, so a cheap hash without multiplication is sufficient.
 */
ALWAYS_INLINE uint32_t mark_of(const struct entry *at)
{
    uintptr_t sp = (uintptr_t)at;
    return (uint32_t)(at->pc ^ at->pc >> 10 ^ sp >> 4 ^ sp >> 14) % CACHED_MARKS;
}

/*
 * Choose the entry for a call with an unknown mark.  Usually the call has most in common with the
 * last entry.  But if a few kinds of calls alternate, each needs an entry of its own, which it then
 * finds by its mark.
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

/*
 * Rules were dropped.  In a child that does not use its parent's depot the depot ids are invalid,
 * too.
 */
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
