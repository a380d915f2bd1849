/*
 * lock.c - a futex mutex that records its holder.  A contended taker spins briefly (critical
 * sections are a few hundred instructions), then sleeps.
 *
 * siglongjmp may leave a critical section after any instruction; locks_abandon must then release
 * the thread's locks.  So a thread records a lock before it takes the lock.  It removes the record
 * after it has dropped the lock and woken a waiter.  locks_abandon drops those recorded locks that
 * this thread owns.  For the other recorded locks it wakes one waiter: the thread may have been
 * about to wake a waiter, or may itself have been woken.
 */
#include "base.h"
#include "system_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#define SPINS 64

/* Locks are taken in rank order; a debug build traps on a violation. */
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

/* base is below os, so the only system call of a lock is issued here. */
static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *most)
{
    return system_call4(SYS_futex, (long)word, op, (long)value, (long)most);
}

static void note(struct lock *l)
{
    struct thread *t = self;
    if (!t || t->locks == LOCKS_HELD_MAX)
        return;
    assert_rank(t, l);
    t->held[t->locks] = l;
    atomic_signal_fence(memory_order_seq_cst);
    t->locks++;
    atomic_signal_fence(memory_order_seq_cst);
}

static void forget(const struct lock *l)
{
    struct thread *t = self;
    for (uint32_t i = t ? t->locks : 0; i-- > 0;)
        if (t->held[i] == l) {
            t->held[i] = t->held[t->locks - 1];
            atomic_signal_fence(memory_order_seq_cst);
            t->locks--;
            return;
        }
}

bool lock_is_held(const struct lock *l)
{
    return self && (atomic_load_explicit(&l->word, memory_order_relaxed) & ~LOCK_CONTENDED) ==
                       lock_owner_word(self);
}

void locks_abandon(void)
{
    while (self && self->locks) {
        struct lock *l = self->held[self->locks - 1];
        if (lock_is_held(l)) {
            lock_drop(l);
        } else {
            lock_wake(l);
            forget(l);
        }
    }
    self_state &= ~(uint32_t)SELF_IN_FALLBACK;
}

static bool try(struct lock *l, uint32_t name)
{
    uint32_t seen = 0;
    return atomic_compare_exchange_strong_explicit(
        &l->word, &seen, name, memory_order_acquire,
        memory_order_relaxed); /* pairs with the exchange in lock_drop */
}

struct sleep {
    struct lock *l;
    uint32_t seen;
    const struct timespec *most;
};

static bool sleep(void *about)
{
    const struct sleep *s = about;
    return futex(&s->l->word, FUTEX_WAIT_PRIVATE, s->seen, s->most) != -ETIMEDOUT;
}

bool (*lock_wait_hook)(bool (*wait)(void *), void *about);

/*
 * Return at once if the lock is free, else mark it contended and sleep.  false: the wait timed out.
 */
static COLD bool try_later(struct lock *l, const struct timespec *most)
{
    uint32_t seen = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (!seen || (!(seen & LOCK_CONTENDED) && !atomic_compare_exchange_strong_explicit(
                                                  &l->word, &seen, seen | LOCK_CONTENDED,
                                                  memory_order_relaxed, memory_order_relaxed)))
        return true;
    struct sleep s = {l, seen | LOCK_CONTENDED, most};
    return lock_wait_hook ? lock_wait_hook(sleep, &s) : sleep(&s);
}

/*
 * `most`: time limit of one wait, or NULL.  false: the wait timed out, and the lock is still held.
 */
ALWAYS_INLINE bool take(struct lock *l, const struct timespec *most)
{
    uint32_t name = lock_owner_word(self);
    note(l);
    if (likely(try(l, name)))
        return true;
    for (int i = 0; i < SPINS; i++) {
        processor_pause();
        if (try(l, name))
            return true;
    }
    /* Assume that others wait, too: costs at most one needless wake. */
    while (!try(l, name | LOCK_CONTENDED))
        if (!try_later(l, most)) {
            forget(l);
            return false;
        }
    return true;
}

void lock_take(struct lock *l)
{
    (void)take(l, NULL);
}

bool lock_take_within(struct lock *l, uint32_t ns)
{
    const struct timespec most = {.tv_nsec = ns};
    return take(l, &most);
}

bool lock_try(struct lock *l)
{
    note(l);
    if (try(l, lock_owner_word(self)))
        return true;
    forget(l);
    return false;
}

void lock_wake(struct lock *l)
{
    futex(&l->word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

void lock_drop(struct lock *l)
{
    bool is_contended =
        atomic_exchange_explicit(&l->word, 0, memory_order_release) & LOCK_CONTENDED;
    if (is_contended)
        lock_wake(l);
    atomic_signal_fence(memory_order_seq_cst);
    forget(l);
}

void lock_reset(struct lock *l)
{
    atomic_store_explicit(&l->word, 0, memory_order_relaxed);
    forget(l);
}
