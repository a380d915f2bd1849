/*
 * turns.h - tables of whom to tell, read without a lock (turns.c).
 */
#ifndef TURNS_H
#define TURNS_H

#include "left.h"
#include "pool.h"

/* What a table begins with. */
struct turn_table {
    size_t bytes;
    struct turn_table *retired;
};

/* Around a look at tables, and the callbacks that it leads to; on the caller's stack. */
struct turn {
    struct turn *outer;   /* in the midst of which it is, and which mostly stands for it; NULL: it is the outermost */
    struct thread *noted; /* in this thread's struct; NULL: counted */
    uint32_t side;
    uint64_t era; /* counted: when; 0: not (yet); set where none is noted */
};

extern HIDDEN struct turn_now {
    _Atomic uint64_t turn;
    _Atomic uint32_t awaited; /* somebody waits for the last one to be over */
} turn_now;
extern HIDDEN __thread struct turn *turn_inner; /* the innermost of this thread */
void turn_begin_slowly(struct turn *t);
void turn_end_slowly(const struct turn *t);
void turn_taken_back(void); /* whoever waits looks again */
void turns_leave(const struct jump *j);

/* Between a note and what is looked at then: pairs with the barrier in turns_wait. */
ALWAYS_INLINE void turn_fence(void)
{
    if (unlikely(fence_entries))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

ALWAYS_INLINE void turn_note(struct thread *me)
{
    uint64_t turn = atomic_load_explicit(&turn_now.turn, memory_order_relaxed);
    atomic_store_explicit(&me->turn, turn + 1, memory_order_relaxed);
    turn_fence();
}

/* Filled in: a handler that comes now may jump out of it. */
ALWAYS_INLINE void turn_enter(struct turn *t)
{
    atomic_signal_fence(memory_order_seq_cst);
    turn_inner = t;
    atomic_signal_fence(memory_order_seq_cst);
}

/* As mostly; false: not in this way. */
ALWAYS_INLINE bool turn_begin_outermost(struct turn *t)
{
    t->noted = self;
    if (unlikely(!t->noted || turn_inner))
        return false;
    t->outer = NULL;
    turn_enter(t);
    turn_note(t->noted);
    return true;
}

ALWAYS_INLINE void turn_end_outermost(struct turn *t)
{
    turn_inner = NULL;
    atomic_store_explicit(&t->noted->turn, 0, memory_order_release);
    turn_fence();
    if (unlikely(atomic_load_explicit(&turn_now.awaited, memory_order_relaxed)))
        turn_taken_back();
}

ALWAYS_INLINE void turn_begin(struct turn *t)
{
    if (unlikely(!turn_begin_outermost(t)))
        turn_begin_slowly(t);
}

ALWAYS_INLINE void turn_end(struct turn *t)
{
    if (likely(!t->outer && t->noted))
        turn_end_outermost(t);
    else
        turn_end_slowly(t);
}

bool turns_inside(void); /* is the calling thread between the two? */

/*
 * Around a change of what tables say.  -EDEADLK: in a callback, which would wait for itself.  turns_look: to
 * know what was changed; callbacks may.
 */
int turns_begin_change(void);
void turns_look(void);
void turns_end_change(void);
/* Cleared; NULL: no memory. */
void *turns_new_table(size_t bytes);
/* Another one has taken its place (NULL: there was none); it is freed by a turns_wait. */
void turns_retire(struct turn_table *old);
/* Nobody who began before sees anything but the present tables when this returns. */
void turns_wait(void);
/* A lock for what a callback may do, too; nothing is called while it is held.  A fork drops it. */
void turns_lock(void);
void turns_unlock(void);
void turns_constructed(void);

#endif
