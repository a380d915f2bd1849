/*
 * costs.h - sampling profiler of rtcheck's own cost (costs.c).
 */
#ifndef COSTS_H
#define COSTS_H

#include "heap.h"

extern HIDDEN uint32_t
    cost_clock_ticks; /* ticks that one reading of the TSC takes; constant after start-up */

void costs_start(void);
void costs_stop(void); /* before reading the TSC may be forbidden */
void costs_after_fork(void);

/* Is the operation that begins in this thread sampled? Call this exactly once per operation. */
ALWAYS_INLINE bool cost_is_sampled_of(struct thread *t)
{
#ifdef RTC_UNTIMED /* the baseline of tests/counters/accounting.py */
    return false;
#endif
    return unlikely(--t->cost_left < 0);
}

/* The same for a thread that is not registered yet: only if each operation is logged. */
bool cost_is_sampled_first(void);

ALWAYS_INLINE bool cost_is_sampled(void)
{
    struct thread *t = self;
    return likely(t) ? cost_is_sampled_of(t) : cost_is_sampled_first();
}

/* If it is sampled: call these around the same call, repeated. */
enum cost_call {
    COST_IGNORED, /* not timed after all */
    COST_TIMED,
    COST_COUNTED, /* only its page faults are counted */
    COST_NESTED,  /* a handler's, nested in a timed operation */
    COST_LOGGED,  /* not timed: the caller logs the operation (vmmalloc.h) */
};

/* bytes: those that the operation may clear or copy. */
enum cost_call cost_begin(enum cost_work work, uint64_t bytes);
void cost_end(enum cost_call call);

/* In a timed operation: the work from now on is `work`. */
ALWAYS_INLINE void cost_switch(struct cost_watch *w, uint8_t work)
{
    if (w->is_nested || !w->pieces)
        return;
    uint64_t now = os_ticks();
    w->ticks[w->work] += (int64_t)(now - w->since - cost_clock_ticks);
    w->met |= 1u << w->work;
    w->work = work;
    w->since = now;
}

void cost_begin_nested(struct thread *t);
void cost_end_nested(struct thread *t);

#define COST_NESTED_MAX 1000 /* operations; after them the callback was left by siglongjmp */

/*
 * Call these around the program's code that an operation calls, timed or not. Operations of that
 * code are not sampled: within a timed one none could be. Other operations represent them.
 */
ALWAYS_INLINE int32_t cost_pause(void)
{
    struct thread *t = self;
    if (unlikely(!t))
        return 0;
    int32_t saved_count = t->cost_left;
    t->cost_left = saved_count < COST_NESTED_MAX ? saved_count + COST_NESTED_MAX : saved_count;
    if (unlikely(t->timed))
        cost_begin_nested(t);
    return saved_count;
}

ALWAYS_INLINE void cost_resume(int32_t saved_count)
{
    struct thread *t = self;
    if (unlikely(!t))
        return;
    if (unlikely(t->timed))
        cost_end_nested(t);
    t->cost_left = saved_count;
}

/*
 * Call these around work that is rare or takes long, to exclude it from an operation's time.
 * Returns ns of the thread's CPU clock.
 */
uint64_t cost_phase_begin(void);
void cost_phase_end(enum cost_work work, uint64_t since);

/*
 * The same for work so rare that its page faults are counted too, which takes two more system
 * calls.
 */
struct cost_part {
    uint64_t ns, faults;
};
struct cost_part cost_part_begin(void);
void cost_part_end(enum cost_work work, struct cost_part since);

#endif
