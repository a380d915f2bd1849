/*
 * thread_list.h - all threads, and their counters (threads.c).
 *
 * Calling conditions: see heap.h.
 */
#ifndef THREAD_LIST_H
#define THREAD_LIST_H

#include "base.h"
#include "shadow.h"

struct thread *threads_register(void); /* creates `self`; NULL: no memory.  Not in a section. */
void threads_remove(struct thread *t); /* the thread is over; its struct may be reused */
struct thread *threads_first(void);    /* list of all; lock-free to walk */
uint32_t threads_alive(void);
/*
 * The fallback struct, shared by threads past their end (or without memory); its user holds the
 * lock.
 */
struct thread *threads_fallback_take(void);
void threads_fallback_drop(void);
uint32_t threads_born(void); /* number of all threads so far */
extern HIDDEN _Atomic uint32_t threads_announced;

/* Changes before a new thread runs, or at the latest at its first call into the runtime. */
ALWAYS_INLINE uint32_t threads_announcements(void)
{
    return atomic_load_explicit(&threads_announced, memory_order_relaxed);
}

ALWAYS_INLINE void threads_announce(void)
{
    atomic_fetch_add_explicit(&threads_announced, 1, memory_order_relaxed);
}

uint32_t threads_next_number(void);
/* Add a thread's balance to the image's bytes in use; the peak is in the image header. */
void threads_publish_balance(struct thread *t);
/* Raise the image's peak to in_use, if that is more; returns the peak. */
uint64_t threads_peak(int64_t in_use);
/* Owner of the thread stack in a mapping that contains `at`. */
struct thread_fact {
    uint32_t number; /* 0: no thread's */
    bool ended;
};

struct thread_fact threads_on_stack(uintptr_t start, uintptr_t end,
                                    uintptr_t at); /* takes no lock */
bool threads_inside(uint32_t number);              /* is that thread in a critical section? */
/* While the world is stopped: wipe stale pointers to allocated blocks from the threads' tables. */
void threads_wipe_stale(void);
/* Is there no other thread, and was the fallback struct never used? */
bool threads_is_alone(void);
bool threads_all_outside(void); /* is no other thread in a critical section? */
/* The number of a living thread; 0: it never called the runtime. */
uint32_t threads_number_of(uint32_t tid);
uint32_t threads_main(void);               /* number of the main thread, 0 = unknown */
struct thread_totals threads_totals(void); /* takes no lock, may be called in any context */
/*
 * A consistent snapshot while threads keep counting; no thread waits for it.  Not in a section.
 * false: impossible, because another thread's fork lasts longer than a second, this is the child of
 * a vfork, or the caller is a signal handler that has interrupted a section of its thread.
 */
bool threads_totals_at_once(struct thread_totals *sum);
/* The counters of a record now: this thread's, in its answer to a handshake. */
struct thread_totals thread_record_totals(const struct thread_record *r);
/*
 * The record of a living thread, which is not reused after its end; NULL: it never called the
 * runtime.
 */
struct thread_record *threads_record_of(uint32_t tid);
/* The same for the counters of one thread. */
bool threads_record_at_once(struct thread_record *r, struct thread_totals *sum);
/* Before a fork: save the totals for the child. */
void threads_note_totals(void);
/*
 * In a forked child: `t` (may be NULL) is the only thread left; returns the list of the others.
 * threads_renew gives t a number and counters of this image.
 */
struct thread *threads_after_fork(struct thread *t);
void threads_renew(struct thread *t);

/* ---- for heap and fork only ------------------------------------------------------------------ */

/* Bytes of slots in the quarantines of all threads. */
uint64_t threads_quarantined(void);
/* The process outlived all its threads.  true: none was in a critical section. */
bool threads_post_mortem(void);

#endif
