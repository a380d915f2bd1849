/*
 * stack.c - from a call to the id of its stack: unwind finds the frames, the depot keeps them, and
 * each thread caches ids of recent stacks.
 */
#include "init.h"
#include "translated.h"

#define FEW_THREADS 16u
#define ROW_NS 10000u /* longest time for one row of call frame information */

static void long_end(uint64_t begun)
{
    cost_phase_end(COST_UNWIND, begun);
}

static void row_made(void)
{
    if (self && self->timed)
        self->cost.reason_ns += ROW_NS;
}

static uintptr_t original(uintptr_t pc, bool is_return)
{
    return is_return ? translated_return(pc) : translated_original(pc);
}

void stack_start(void)
{
    const struct unwind_setup setup = {.find = loader_find,
                                       .original = rt.options.access_full ? original : NULL,
                                       .copy_end = rt.options.access_full ? translated_end : NULL,
                                       .number = modules_number,
                                       .frames = rt.options.frames,
                                       .long_begin =
                                           rt.options.cost_every ? cost_phase_begin : NULL,
                                       .long_end = long_end,
                                       .row_made = row_made};
    unwind_start(&setup);
}

/* ---- recent ids ------------------------------------------------------------------------------ */

/* No branch but the loop's: it could not be predicted which way matches. */
static inline uint32_t find_recent(const struct recent_stacks *line, uint64_t hash)
{
    uint64_t id = 0;
    for (uint32_t i = 0; i < RECENT_WAYS; i++)
        id |= line->way[i].id & -(uint64_t)(line->way[i].hash == hash);
    return (uint32_t)id;
}

/* Limit of a thread's cache lines for ids: higher if there are few threads. */
static uint32_t recent_limit(void)
{
    return threads_alive() <= FEW_THREADS ? RECENT_MAX : RECENT_MAX / 4;
}

/*
 * An id that the depot has was in the cache too, unless there are more stacks than room: then grow
 * it.
 */
static void count_lost(struct stack_cache *all)
{
    if (++all->recent_lost <= 8 * all->recent_mask || all->recent_mask >= recent_limit() - 1)
        return;
    all->recent_lost = 0;
    all->recent_mask = 2 * all->recent_mask | (RECENT_MIN - 1);
}

static void keep_recent(struct stack_cache *all, uint64_t hash, uint32_t id)
{
    struct recent_stacks *line = &all->recent[hash & all->recent_mask];
    uint32_t i = all->recent_next++ % RECENT_WAYS;
    /* A siglongjmp may leave here: there must never be a hash with another stack's id. */
    line->way[i].id = 0;
    atomic_signal_fence(memory_order_seq_cst);
    line->way[i].hash = hash;
    atomic_signal_fence(memory_order_seq_cst);
    line->way[i].id = id;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static COLD uint32_t put_new(struct cached_stack *t)
{
    struct unwind_totals totals = unwind_totals();
    atomic_store_explicit(&image()->pc_count, totals.rules, memory_order_relaxed);
    atomic_store_explicit(&image()->pc_bytes, totals.bytes, memory_order_relaxed);
    return depot_put_cached(t, true);
}

static uint32_t put_lost(struct stack_cache *all, struct cached_stack *t)
{
    uint32_t id = depot_find_cached(t);
    if (likely(id))
        count_lost(all);
    else
        id = put_new(t);
    if (likely(id))
        keep_recent(all, t->more[t->count].hash, id);
    return id;
}

uint32_t stack_put_cached(struct stack_cache *all, struct cached_stack *t)
{
    uint64_t hash = t->more[t->count].hash;
    uint32_t id = find_recent(&all->recent[hash & all->recent_mask], hash);
    return likely(id) ? id : put_lost(all, t);
}

COLD uint32_t stack_put_aside(struct thread *t, const struct entry *at)
{
    if (!rt.options.frames)
        return 0;
    if (!t->timed) {
        t->stacks_plain = true;
        return stack_put_plain(t, at);
    }
    uint8_t work = t->cost.work;
    cost_switch(&t->cost, COST_UNWIND);
    uint32_t id = stack_put_plain(t, at);
    cost_switch(&t->cost, work);
    return id;
}

struct putting {
    struct stack_cache *all;
    const struct entry *at;
    bool may_grow, kept;
    uint32_t id;
};

static void put_making_rules(void *about)
{
    struct putting *p = about;
    struct cached_stack *cached = stack_cache_update(p->all, p->at, true);
    p->kept = cached != NULL;
    if (cached)
        p->id = stack_id_of(p->all, cached, p->at);
}

COLD uint32_t stack_put_cold(struct stack_cache *all, const struct entry *at)
{
    struct putting p = {.all = all, .at = at};
    if (all->lacks_rule) {
        all->lacks_rule = false;
        helper_call(put_making_rules, &p);
    }
    return p.kept ? p.id : stack_put_walk(at, true);
}

static void put_walked(const struct walk *w, void *about)
{
    struct putting *p = about;
    p->id = depot_put(w->word, w->count, w->end, p->may_grow);
    p->id = p->may_grow ? stack_note_walk(w, p->at, p->id) : stack_compare_walk(w, p->id);
}

/* Walk a stack that cannot be cached, or that of a thread without a cache. */
COLD uint32_t stack_put_walk(const struct entry *at, bool may_grow)
{
    struct putting p = {.at = at, .may_grow = may_grow};
    unwind_walk(at, may_grow, put_walked, &p);
    return p.id;
}
