/*
 * guarded.c - which blocks are guarded: all, or samples.
 *
 * Each thread counts its allocations down to the next sample.  Distances between samples are random,
 * because programs allocate periodically; their average is the rate of --guard=N.
 *
 * An allocation whose stack had no guarded block yet is preferred: a sample with a known stack is
 * passed on to the following allocations of the thread, WINDOW at most.  The next distance is shorter
 * by so many, so the rate stays the same.  Known stacks are kept as bits, by hash.  When most bits are
 * set, all are cleared.
 *
 * By default the first FIRST allocations of a thread are not samples: the report of a small program is
 * the same each time.  And samples take no more than a hundredth of the time (guard_rest): where
 * page faults are slow one costs 60 us, and some programs allocate ten million blocks a second.
 */
#include "track_priv.h"
#include "guarded.h"

#include <string.h>

#define WINDOW 16u
#define WINDOW_SHARE 8u /* of the rate's distance, for frequent samples */
#define SEEN_BITS 8192u /* a power of two */
#define SEEN_MOST (SEEN_BITS / 2)
/* Less than a hundredth of the time: the page faults of the program are not measured. */
#define REST_FACTOR 300u
#define FIRST 1000u
#define UNTIL_STARTED 64

static struct {
    _Atomic bool on;
    _Atomic bool stopped;
    _Atomic uint32_t seen_count;
    _Atomic uint64_t seen[SEEN_BITS / 64];
    _Atomic uint64_t next_edge[SEEN_BITS / 64]; /* the edge of the next guarded block of a stack */
} guarded;

bool guarded_is_on(void)
{
    return atomic_load_explicit(&guarded.on, memory_order_relaxed);
}

bool guarded_is_wanted(void)
{
    return rt.options.guard.every || rt.options.guard.stacks.count || rt.options.access_full;
}

bool guarded_start(void)
{
    bool has_stacks = rt.options.guard.stacks.count && guarded_stacks_start();
    bool on = (rt.options.guard.every || has_stacks || rt.options.access_full) && !os_by_valgrind();
    atomic_store_explicit(&guarded.stopped, !on, memory_order_relaxed);
    atomic_store_explicit(&guarded.on, on, memory_order_relaxed);
    if (self)
        self->guard_left = 0;
    return on;
}

void guarded_stop(void)
{
    atomic_store_explicit(&guarded.stopped, true, memory_order_relaxed);
    if (atomic_exchange_explicit(&guarded.on, false, memory_order_relaxed))
        guard_open_all();
}

/* ---- known stacks ---------------------------------------------------------------------------- */

static uint32_t bit_of(uint32_t stack)
{
    return (uint32_t)(stack * 0x9e3779b97f4a7c15ull >> 40) % SEEN_BITS;
}

/* Both edges in turn: loops often allocate in a fixed order, so each stack has its own order. */
static enum guard_edge next_edge(uint32_t stack)
{
    uint32_t bit = bit_of(stack);
    uint64_t mask = 1ull << bit % 64;
    bool odd =
        atomic_fetch_xor_explicit(&guarded.next_edge[bit / 64], mask, memory_order_relaxed) & mask;
    return odd ? GUARD_EDGE_START : GUARD_EDGE_END;
}

/* Mark the stack as known; true: it was. */
static bool is_known(uint32_t stack)
{
    uint32_t bit = bit_of(stack);
    uint64_t mask = 1ull << bit % 64;
    bool was = atomic_fetch_or_explicit(&guarded.seen[bit / 64], mask, memory_order_relaxed) & mask;
    if (was || atomic_fetch_add_explicit(&guarded.seen_count, 1, memory_order_relaxed) < SEEN_MOST)
        return was;
    for (uint32_t i = 0; i < countof(guarded.seen); i++)
        atomic_store_explicit(&guarded.seen[i], 0, memory_order_relaxed);
    atomic_store_explicit(&guarded.seen_count, 0, memory_order_relaxed);
    return false;
}

/* ---- distances ------------------------------------------------------------------------------- */

static uint32_t random_below(struct thread *t, uint32_t end)
{
    uint32_t x = t->guard_seed;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    t->guard_seed = x;
    return (uint32_t)((uint64_t)x * end >> 32);
}

/* A distance from 1 to 2 * every - 1, less the allocations that were passed on. */
static void choose_next(struct thread *t)
{
    uint32_t distance = 1 + random_below(t, 2 * rt.options.guard.every - 1);
    t->guard_left = (int32_t)distance - 1 - (int32_t)t->guard_passed;
    t->guard_passed = 0;
    if (t->guard_left < 0) {
        t->guard_passed = (uint32_t)-t->guard_left;
        t->guard_left = 0;
    }
}

static void choose_first(struct thread *t)
{
    uint64_t fixed = os_test_seed();
    uint64_t seed = (fixed ? fixed : os_ticks()) + t->number;
    t->guard_seed = (uint32_t)(seed * 0x9e3779b97f4a7c15ull >> 32) | 1;
    t->guard_left = (int32_t)random_below(t, rt.options.guard.every) +
                    (rt.options.guard.is_limited ? (int32_t)FIRST : 0);
    t->guard_passed = 0;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static uint32_t window(void)
{
    uint32_t share = rt.options.guard.every / WINDOW_SHARE;
    return share < WINDOW ? share : WINDOW;
}

/* Not yet, or never again. */
static bool is_idle(struct thread *t)
{
    if (guarded_is_on())
        return false;
    bool stopped = atomic_load_explicit(&guarded.stopped, memory_order_relaxed);
    t->guard_left = stopped ? INT32_MAX : UNTIL_STARTED;
    return true;
}

/* Has this thread used its share of the time? */
static bool must_rest(struct thread *t)
{
    return rt.options.guard.is_limited && os_ticks() < t->guard_rest;
}

static bool is_sample(struct thread *t, uint32_t stack)
{
    if (is_known(stack) && t->guard_passed < window()) {
        t->guard_passed++;
        t->guard_left = 0;
        return false;
    }
    choose_next(t);
    return true;
}

static enum guard_edge edge_of(enum guard_edges edges, uint32_t stack)
{
    return edges == GUARD_EDGES_END     ? GUARD_EDGE_END
           : edges == GUARD_EDGES_START ? GUARD_EDGE_START
                                        : next_edge(stack);
}

/* Each allocation of given stacks, and no other. */
static bool choose_by_stack(struct thread *t, const struct entry *at, struct guarded_choice *out)
{
    t->guard_left = 0;
    out->stack = stack_put(t, at);
    const struct guard_stack *wanted = guarded_stack(out->stack);
    if (wanted)
        out->place = (struct guard_place){edge_of(wanted->edges, out->stack), wanted->gap};
    return wanted;
}

bool guarded_choose(struct thread *t, const struct entry *at, struct guarded_choice *out)
{
    bool all = rt.options.guard.every == GUARD_ALL;
    if (is_idle(t))
        return false;
    if (!rt.options.guard.every && !rt.options.guard.stacks.count) {
        t->guard_left = INT32_MAX;
        return false;
    }
    if (rt.options.guard.stacks.count)
        return choose_by_stack(t, at, out);
    if (!t->guard_seed && !all) {
        choose_first(t);
        if (--t->guard_left >= 0)
            return false;
    }
    if (must_rest(t)) {
        choose_next(t);
        return false;
    }
    t->guard_left = 0;
    out->stack = stack_put(t, at);
    if (!all && !is_sample(t, out->stack))
        return false;
    out->place =
        (struct guard_place){edge_of(rt.options.guard.edges, out->stack), GUARD_GAP_ALIGNED};
    return true;
}

/* ---- bad accesses ---------------------------------------------------------------------------- */

/* As a freed block that is not guarded. */
static void refill(uintptr_t at)
{
    struct found f = pool_find((const void *)at);
    uint64_t word, stacks;
    if (f.kind != UNIT_LARGE || !block_read(pool_look(&f, 0), &word, &stacks) ||
        word_state(word) != BLOCK_FREED)
        return;
    fill_put((void *)(at - pool_inside(&f, at)), pool_request(&f, pool_look(&f, 0), word));
}

void guarded_open(uintptr_t at)
{
    if (guard_state_of(at) != GUARD_CLOSED)
        return;
    guard_open(at);
    refill(at);
}

/* ---- costs ----------------------------------------------------------------------------------- */

void guarded_charge(struct thread *t, uint64_t ticks)
{
    if (!rt.options.guard.is_limited)
        return;
    uint64_t now = os_ticks();
    t->guard_rest = (t->guard_rest > now ? t->guard_rest : now) + REST_FACTOR * ticks;
}

void guarded_free(struct thread *t, const struct found *f)
{
    uint64_t since = os_ticks();
    guard_give(f);
    guarded_charge(t, os_ticks() - since);
}

void guarded_after_fork(struct thread *t)
{
    t->guard_seed = 0;
    t->guard_left = 0;
}
