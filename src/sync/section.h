/*
 * section.h - critical sections, and the interface of sync: how operations, forks, signal handlers
 * and callbacks of the program exclude each other.
 *
 *   section.c        changes that a fork or a signal handler must not find incomplete (this header)
 *   srcu.c           sleepable RCU for tables of callbacks (srcu.h)
 *   notify.c, notice.c  calls of the program after a section (notify.h; notice_*: mapped.h)
 *   nonlocal_exit.c  cleanup after longjmp, siglongjmp or the end of a thread (nonlocal_exit.h)
 *
 * A section is entered and left without a read-modify-write: the thread stores the section's
 * address in its `crit`, then reads the epoch, and stores 0 at the end.  A fork sets the epoch to
 * 0, issues a membarrier and waits, for a bounded time, until no thread is inside (fork/quiesce.c).
 * A handler that finds `crit` set has interrupted a section and must not use its state; a section
 * that siglongjmp has left is recognised.
 *
 * Data: thread.crit and thread.read_epoch; pending notifications in the thread's struct; the page
 * of SRCU counters, which the kernel wipes at a fork.
 *
 * Locks: ranked locks are taken inside sections only, except that of a fork.  The two of srcu.c
 * have no rank and are never nested: the writers' lock, held while readers end, and srcu_lock, for
 * short changes that callbacks make too.  No callback of the program runs inside a section or with
 * srcu_lock held.
 */
#ifndef SECTION_H
#define SECTION_H

#include "nonlocal_exit.h"
#include "heap.h"
#include "unwinder.h"

enum section_kind {
    SECTION_NORMAL,
    SECTION_HANDLER,  /* a signal handler that interrupted a section of its own thread */
    SECTION_BOOT,     /* start-up is not possible yet */
    SECTION_CALLBACK, /* a callback that must not allocate */
};

/*
 * Lives on the stack. Its address in thread.crit is where the section was entered. Its mark shows
 * that this frame still exists: siglongjmp leaves sections without a notice.
 */
struct section {
    uint64_t mark;
    struct thread *t;
    uint32_t write_epoch;
    enum section_kind kind;
};

#define SECTION_MARK 0x5ec7104e5ec7104eull

void stack_compare(void); /* stack_oracle.c */
bool section_begin_slow(struct section *s);
bool section_begin_to_allocate_slow(struct section *s, const struct entry *at);
void section_end_slow(struct section *s);

/* The common case: a registered thread, outside of sections, and no fork waits. */
ALWAYS_INLINE bool section_begin_quickly(struct section *s)
{
    struct thread *t = self;
    if (likely(t && !atomic_load_explicit(&t->crit, memory_order_relaxed))) {
        s->mark = SECTION_MARK;
        s->t = t;
        s->kind = SECTION_NORMAL;
        atomic_store_explicit(&t->crit, (uintptr_t)s, memory_order_relaxed);
        if (unlikely(fence_entries))
            atomic_thread_fence(memory_order_seq_cst);
        else
            atomic_signal_fence(memory_order_seq_cst); /* pairs with the membarrier of a fork */
        s->write_epoch = atomic_load_explicit(&epoch_page->epoch, memory_order_acquire);
        if (likely(s->write_epoch))
            return true;
        atomic_store_explicit(&t->crit, 0, memory_order_release);
    }
    return false;
}

/* false: s->kind holds the reason; do not call section_end. */
ALWAYS_INLINE bool section_begin(struct section *s)
{
    return likely(section_begin_quickly(s)) || section_begin_slow(s);
}

/* The same for an allocation by the program's call `at`: it fails in a callback. */
ALWAYS_INLINE bool section_begin_to_allocate(struct section *s, const struct entry *at)
{
    return likely(section_begin_quickly(s)) || section_begin_to_allocate_slow(s, at);
}

ALWAYS_INLINE void section_end(struct section *s)
{
    struct thread *t = s->t;
    atomic_store_explicit(&t->crit, 0, memory_order_release);
    if (unlikely(t->after || atomic_load_explicit(&t->deferred.count, memory_order_relaxed)))
        section_end_slow(s);
#ifdef RTC_ORACLE
    stack_compare();
#endif
}

void section_nonlocal_exit(const struct jump *j);

#endif
