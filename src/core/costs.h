/*
 * costs.h - what of the run's costs is ours (costs.c).
 */
#ifndef COSTS_H
#define COSTS_H

#include "pool.h"

extern HIDDEN uint32_t
    cost_clock_ticks; /* that looking at the clock takes; sealed after start-up */

void costs_start(void);
void costs_stop(void); /* the processor's clock is about to be forbidden */
void costs_after_fork(void);

/* Is the operation that begins, of this thread, one of those that are timed?  Each asks, once. */
ALWAYS_INLINE bool cost_is_sampled_of(struct thread *t)
{
#ifdef RTC_UNTIMED /* what tests/counters/accounting.py compares with */
    return false;
#endif
    return unlikely(--t->cost_left < 0);
}

ALWAYS_INLINE bool cost_is_sampled(void)
{
    struct thread *t = self;
    return t && cost_is_sampled_of(t);
}

/* Then: around the same call, made again. */
enum cost_call {
    COST_IGNORED, /* it is not, after all */
    COST_TIMED,
    COST_COUNTED, /* its page faults are */
    COST_NESTED,  /* it is a handler's, in the midst of one that is timed */
};

enum cost_call cost_begin(enum cost_work work, uint64_t bytes); /* that it may clear or copy */
void cost_end(enum cost_call call);

/* Inside one: from here on it does `work`. */
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

#define COST_NESTED_MAX 1000 /* so many operations, and it has gone by siglongjmp */

/*
 * Around the program's own code that an operation calls, timed or not: its operations are none of
 * those among which some are chosen, for in the midst of one that is timed none can be; others
 * stand for them.
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

/* Around what is rare or takes long, and is none of an operation's time.  ns of the thread's own clock. */
uint64_t cost_phase_begin(void);
void cost_phase_end(enum cost_work work, uint64_t since);

/* The same of what is so rare that its page faults are counted, too: two system calls more. */
struct cost_part {
    uint64_t ns, faults;
};
struct cost_part cost_part_begin(void);
void cost_part_end(enum cost_work work, struct cost_part since);

#endif
