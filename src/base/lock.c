/*
 * lock.c - a futex mutex of three states.  Contended takers spin briefly (critical sections are
 * a few hundred instructions), then sleep.
 */
#include "base.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#define SPINS 64

/* Locks are taken in rank order; a debug build stops where that is broken. */
static void assert_rank(const struct thread *t, const struct lock *l)
{
#ifndef NDEBUG
    if (t->locks && t->held[t->locks - 1]->rank >= l->rank)
        __builtin_trap();
#else
    (void)t;
    (void)l;
#endif
}

/* base lies under os, so the one system call a lock needs is issued here. */
static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *most)
{
    long nr = SYS_futex;
    register long timeout __asm__("r10") = (long)most;
    __asm__ volatile("syscall"
                     : "+a"(nr)
                     : "D"(word), "S"((long)op), "d"((long)value), "r"(timeout)
                     : "rcx", "r11", "memory");
    return nr;
}

static void note_taken(struct lock *l)
{
    struct thread *t = self;
    if (!t || t->locks == LOCKS_HELD_MAX)
        return;
    assert_rank(t, l);
    t->held[t->locks++] = l;
}

static void note_dropped(struct lock *l)
{
    struct thread *t = self;
    for (uint32_t i = t ? t->locks : 0; i-- > 0;)
        if (t->held[i] == l) {
            t->held[i] = t->held[--t->locks];
            return;
        }
}

void locks_abandon(void)
{
    while (self && self->locks)
        lock_drop(self->held[self->locks - 1]);
    self_state &= ~(uint32_t)SELF_IN_LIMBO;
}

/* most: NULL, or how long one wait may be; false: it was as long, and somebody has it still. */
ALWAYS_INLINE bool take(struct lock *l, const struct timespec *most)
{
    uint32_t seen = 0;
    if (atomic_compare_exchange_strong_explicit(&l->word, &seen, 1, memory_order_acquire,
                                                memory_order_relaxed))
        return true; /* pairs with the exchange in lock_drop */
    for (int i = 0; i < SPINS; i++) {
        __builtin_ia32_pause();
        seen = 0;
        if (atomic_compare_exchange_weak_explicit(&l->word, &seen, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    }
    while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire) != 0)
        if (futex(&l->word, FUTEX_WAIT_PRIVATE, 2, most) == -ETIMEDOUT)
            return false; /* the word stays 2: at worst one wake too many */
    return true;
}

void lock_take(struct lock *l)
{
    (void)take(l, NULL);
    note_taken(l);
}

bool lock_take_within(struct lock *l, uint32_t ns)
{
    const struct timespec most = {.tv_nsec = ns};
    if (!take(l, &most))
        return false;
    note_taken(l);
    return true;
}

bool lock_try(struct lock *l)
{
    uint32_t seen = 0;
    if (!atomic_compare_exchange_strong_explicit(&l->word, &seen, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false; /* pairs with the exchange in lock_drop */
    note_taken(l);
    return true;
}

void lock_wake(struct lock *l)
{
    futex(&l->word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

void lock_drop(struct lock *l)
{
    note_dropped(l);
    if (atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2)
        lock_wake(l);
}

void lock_reset(struct lock *l)
{
    atomic_store_explicit(&l->word, 0, memory_order_relaxed);
}
