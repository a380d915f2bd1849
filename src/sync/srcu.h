/*
 * srcu.h - sleepable RCU (SRCU) for callback tables (srcu.c).
 */
#ifndef SRCU_H
#define SRCU_H

#include "nonlocal_exit.h"
#include "heap.h"

/* The header of a table. */
struct srcu_table {
    size_t bytes;
    struct srcu_table *retired;
};

/* Around a lookup in tables, and the callbacks that it calls; on the caller's stack. */
struct srcu_reader {
    /*
     * The reader that this one is nested in, which normally holds the epoch for both; NULL:
     * outermost.
     */
    struct srcu_reader *outer;
    struct thread *thread; /* the epoch is in this thread's struct; NULL: counted */
    uint32_t side;
    uint64_t generation; /* of `counters`, if thread is NULL; 0: not counted (yet) */
};

extern HIDDEN struct srcu_state {
    _Atomic uint64_t read_epoch;
    _Atomic uint32_t has_writer; /* a writer waits for readers of the last epoch */
} srcu_state;
extern HIDDEN __thread struct srcu_reader *srcu_innermost; /* the innermost of this thread */
void srcu_read_begin_slow(struct srcu_reader *t);
void srcu_read_end_slow(const struct srcu_reader *t);
void srcu_wake_writer(void); /* the waiting writer checks again */
void srcu_nonlocal_exit(const struct jump *j);

/*
 * Orders the stored epoch before the lookups that follow: pairs with the barrier in
 * srcu_synchronize.
 */
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

/* t is filled in first: a handler that comes now may jump out of it. */
ALWAYS_INLINE void srcu_set_innermost(struct srcu_reader *t)
{
    atomic_signal_fence(memory_order_seq_cst);
    srcu_innermost = t;
    atomic_signal_fence(memory_order_seq_cst);
}

/* The common case; false: use the slow path. */
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

bool srcu_is_reading(void); /* is the calling thread in a reader? */

/*
 * Call these around an update of tables. -EDEADLK: in a callback, which would wait for itself.
 * srcu_update_lock makes no such check, and is for reading what updates have changed.
 */
int srcu_update_begin(void);
void srcu_update_lock(void);
void srcu_update_end(void);
/* A table of zeros; NULL: no memory. */
void *srcu_table_new(size_t bytes);
/* Another table has replaced `old` (NULL: there was none). The next srcu_synchronize frees it. */
void srcu_retire(struct srcu_table *old);
/*
 * Wait until all readers that began before this call have ended. Later ones see only the present
 * tables.
 */
void srcu_synchronize(void);
/* A lock for changes that callbacks make too. Call nothing while it is held. A fork releases it. */
void srcu_lock(void);
void srcu_unlock(void);
void srcu_constructed(void);

#endif
