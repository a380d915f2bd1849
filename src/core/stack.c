/*
 * stack.c - from a call to the number of its stack: unwind finds the frames, the depot keeps them.
 */
#include "core.h"

void stack_start(void)
{
    const struct unwind_setup setup = {
        .find = loader_find, .number = modules_number, .frames = rt.options.frames};
    unwind_start(&setup);
}

static COLD uint32_t put_new(struct trace *t)
{
    struct unwind_totals totals = unwind_totals();
    atomic_store_explicit(&image()->pc_count, totals.rules, memory_order_relaxed);
    atomic_store_explicit(&image()->pc_bytes, totals.bytes, memory_order_relaxed);
    return depot_put_trace(t, true);
}

uint32_t stack_put_trace(struct trace *t)
{
    uint64_t hash = t->more[t->count].hash;
    uint32_t id = depot_find_trace(t);
    if (unlikely(!id))
        id = put_new(t);
    if (unlikely(!id))
        return 0;
    struct trace_recent *recent = &t->recent[hash % TRACE_RECENT];
    recent->hash = 0; /* this thread may leave us by siglongjmp: never a hash with another's id */
    atomic_signal_fence(memory_order_seq_cst);
    recent->id = id;
    atomic_signal_fence(memory_order_seq_cst);
    recent->hash = hash;
    return id;
}

/* A stack that cannot be kept, or nobody to keep it. */
COLD uint32_t stack_put_walk(const struct entry *at, bool may_grow)
{
    struct walk walk;
    unwind_walk(at, &walk, may_grow);
    uint32_t id = depot_put(walk.word, walk.count, walk.end, may_grow);
    return may_grow ? stack_note_walk(&walk, at, id) : stack_compare_walk(&walk, id);
}
