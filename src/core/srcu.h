/*
 * srcu.h - tables of whom to tell, read without a lock (srcu.c).
 */
#ifndef SRCU_H
#define SRCU_H

#include "nonlocal_exit.h"
#include "pool.h"

/* What a table begins with. */
struct srcu_table {
    size_t bytes;
    struct srcu_table *retired;
};

/* Around a look at tables, and the callbacks that it leads to; on the caller's stack. */
struct srcu_reader {
    struct srcu_reader *
        outer; /* in the midst of which it is, and which mostly stands for it; NULL: it is the outermost */
    struct thread *thread; /* in this thread's struct; NULL: counted */
    uint32_t side;
    uint64_t generation; /* counted: when; 0: not (yet); set where none is noted */
};

extern HIDDEN struct srcu_state {
    _Atomic uint64_t read_epoch;
    _Atomic uint32_t has_writer; /* somebody waits for the last one to be over */
} srcu_state;
extern HIDDEN __thread struct srcu_reader *srcu_innermost; /* the innermost of this thread */
void srcu_read_begin_slow(struct srcu_reader *t);
void srcu_read_end_slow(const struct srcu_reader *t);
void srcu_wake_writer(void); /* whoever waits looks again */
void srcu_nonlocal_exit(const struct jump *j);

/* Between a note and what is looked at then: pairs with the barrier in srcu_synchronize. */
ALWAYS_INLINE void srcu_fence(void)
{
    if (unlikely(fence_entries))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

ALWAYS_INLINE void srcu_publish_epoch(struct thread *me)
{
    uint64_t epoch = atomic_load_explicit(&srcu_state.read_epoch, memory_order_relaxed);
    atomic_store_explicit(&me->read_epoch, epoch + 1, memory_order_relaxed);
    srcu_fence();
}

/* Filled in: a handler that comes now may jump out of it. */
ALWAYS_INLINE void srcu_set_innermost(struct srcu_reader *t)
{
    atomic_signal_fence(memory_order_seq_cst);
    srcu_innermost = t;
    atomic_signal_fence(memory_order_seq_cst);
}

/* As mostly; false: not in this way. */
ALWAYS_INLINE bool srcu_read_begin_outermost(struct srcu_reader *t)
{
    t->thread = self;
    if (unlikely(!t->thread || srcu_innermost))
        return false;
    t->outer = NULL;
    srcu_set_innermost(t);
    srcu_publish_epoch(t->thread);
    return true;
}

ALWAYS_INLINE void srcu_read_end_outermost(struct srcu_reader *t)
{
    srcu_innermost = NULL;
    atomic_store_explicit(&t->thread->read_epoch, 0, memory_order_release);
    srcu_fence();
    if (unlikely(atomic_load_explicit(&srcu_state.has_writer, memory_order_relaxed)))
        srcu_wake_writer();
}

ALWAYS_INLINE void srcu_read_begin(struct srcu_reader *t)
{
    if (unlikely(!srcu_read_begin_outermost(t)))
        srcu_read_begin_slow(t);
}

ALWAYS_INLINE void srcu_read_end(struct srcu_reader *t)
{
    if (likely(!t->outer && t->thread))
        srcu_read_end_outermost(t);
    else
        srcu_read_end_slow(t);
}

bool srcu_is_reading(void); /* is the calling thread between the two? */

/*
 * Around a change of what tables say.  -EDEADLK: in a callback, which would wait for itself.  srcu_update_lock: to
 * know what was changed; callbacks may.
 */
int srcu_update_begin(void);
void srcu_update_lock(void);
void srcu_update_end(void);
/* Cleared; NULL: no memory. */
void *srcu_table_new(size_t bytes);
/* Another one has taken its place (NULL: there was none); it is freed by a srcu_synchronize. */
void srcu_retire(struct srcu_table *old);
/* Nobody who began before sees anything but the present tables when this returns. */
void srcu_synchronize(void);
/* A lock for what a callback may do, too; nothing is called while it is held.  A fork drops it. */
void srcu_lock(void);
void srcu_unlock(void);
void srcu_constructed(void);

#endif
