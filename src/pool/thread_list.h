/*
 * thread_list.h - all threads, and what they have counted (threads.c).
 *
 * Called as pool.h says.
 */
#ifndef THREAD_LIST_H
#define THREAD_LIST_H

#include "base.h"
#include "shadow.h"

struct thread *threads_register(void); /* makes `self`; NULL: no memory.  Not in a section. */
void threads_remove(struct thread *t); /* the thread is over: nothing of it is used any more */
struct thread *threads_first(void);    /* list of all; lock-free to walk */
uint32_t threads_alive(void);
/* The struct shared by threads past their end (and short of memory); its user holds the lock. */
struct thread *threads_fallback_take(void);
void threads_fallback_drop(void);
uint32_t threads_born(void); /* so many in all */
extern HIDDEN _Atomic uint32_t threads_announced;

/* Changes before a new thread runs, or when it calls us at last. */
ALWAYS_INLINE uint32_t threads_announcements(void)
{
    return atomic_load_explicit(&threads_announced, memory_order_relaxed);
}

ALWAYS_INLINE void threads_announce(void)
{
    atomic_fetch_add_explicit(&threads_announced, 1, memory_order_relaxed);
}

uint32_t threads_next_number(void);
/* Adds a thread's balance to what the image has in use; its peak is in the image header. */
void threads_publish_balance(struct thread *t);
/* So many bytes are in use: the peak is that at least; what it is. */
uint64_t threads_peak(int64_t in_use);
/* What all threads of this image did so far, ended ones and, in a child, the parent's included. */
struct thread_totals {
    uint64_t allocs, frees, reallocs, alloc_bytes, free_bytes;
};

/* Whose stack is it that `at` lies in, of those in a mapping? */
struct thread_fact {
    uint32_t number; /* 0: nobody's */
    bool ended;
};

struct thread_fact threads_on_stack(uintptr_t start, uintptr_t end,
                                    uintptr_t at); /* takes no lock */
bool threads_inside(uint32_t number);              /* is that thread in a critical section? */
/* All stand still: what their tables still say of blocks that they gave out is wiped. */
void threads_wipe_stale(void);
/* Is there no other thread, nor was there ever one that went on past its end? */
bool threads_is_alone(void);
bool threads_all_outside(void); /* is no other thread in a critical section? */
/* The number of a living thread; 0: it never called us. */
uint32_t threads_number_of(uint32_t tid);
uint32_t threads_main(void); /* number of the thread that main runs in, 0 = not known */
struct thread_totals threads_totals(void); /* takes no lock, may be called anywhere */
/*
 * The same as of one moment, though they may go on counting; false: it is not to be had (a thread stays in
 * its section, a fork is under way, or a handler interrupted one of its own thread).  Not in a section.
 */
bool threads_totals_at_once(struct thread_totals *sum);
/* The counters of a living thread, which stay its own when it is over; NULL: it never called us. */
struct thread_record *threads_record_of(uint32_t tid);
bool threads_record_at_once(struct thread_record *r, struct thread_totals *sum);
/* Before a fork: what the child begins with. */
void threads_note_totals(void);
/*
 * In a forked child: `t` (may be NULL) is the only thread left; the list of the others is
 * returned.  threads_renew gives t a number and counters of this image.
 */
struct thread *threads_after_fork(struct thread *t);
void threads_renew(struct thread *t);

#endif
