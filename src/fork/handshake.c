/*
 * handshake.c - a consistent snapshot of the counters of all threads, for which no thread waits.
 *
 * The reader sets the number of the handshake, then the epoch word to 0, and issues a barrier: it
 * announces a moment.  A thread that enters a section afterwards finds the 0, saves its counters,
 * which no operation is changing, as its answer, and enters.  Counters of a thread that has not
 * answered are read where they are: it is outside of sections, or still in one that it entered
 * before the moment.  (Garbage collectors do so with threads: a soft handshake.)
 *
 * The sum is consistent: if it has an operation, it has each one that had ended before that one
 * began.  Let X be an operation that the sum lacks.  It ends after its thread's counters were
 * read, so what follows from it begins after the moment, in a thread that has answered before.
 *
 * One operation changes several counters.  thread.counting is set meanwhile; a reader that finds it
 * set waits.  Counters only grow: if they are equal before and after a look at `counting` that
 * found it clear, no change was under way at that time.
 *
 * The reader waits for LIMIT_NS at most.  A thread that a debugger has stopped while it counts, or
 * that has left by siglongjmp then, counts with what its counters hold.
 *
 * The cost of entering a section is unchanged, because it tests the epoch word already.  A thread
 * inside a section that finds the number of a handshake that it answered may stay: then that
 * handshake has not ended, the next fork has not begun, and that fork will find the thread inside.
 * The number is cleared after the epoch word is restored, before forks are permitted again.
 */
#include "fork_priv.h"

#define LIMIT_NS 1000000000ull

static struct {
    _Atomic uint32_t number; /* of the present handshake; 0: there is none */
    /* protected by the exclusion of forks */
    uint32_t last; /* number that was used last */
    struct os_signals signals;
} handshakes;

bool handshake_lasts(void)
{
    return atomic_load(&handshakes.number);
}

void handshake_after_fork(void)
{
    atomic_store(&handshakes.number, 0);
}

bool handshake_begin(struct handshake *h)
{
    h->begin_ns = os_clock_ns();
    struct os_signals signals;
    if (!forks_exclude(LIMIT_NS, &signals))
        return false;
    handshakes.signals = signals;
    handshakes.last += handshakes.last == UINT32_MAX ? 2 : 1; /* never 0 */
    h->number = handshakes.last;
    atomic_store(&handshakes.number, h->number);
    atomic_store(&epoch_page->epoch, 0);
    os_barrier();
    return true;
}

void handshake_end(void)
{
    struct os_signals signals = handshakes.signals;
    atomic_store(&epoch_page->epoch, fork_epoch());
    atomic_store(&handshakes.number, 0);
    forks_permit(&signals);
}

bool handshake_answer(struct thread *t)
{
    uint32_t number = atomic_load(&handshakes.number);
    if (!number)
        return false;
    t->answer.totals = thread_record_totals(t->record);
    atomic_store_explicit(&t->answer.number, number, memory_order_release);
    return true;
}

bool handshake_is_answered(const struct thread *t)
{
    uint32_t number = atomic_load(&handshakes.number);
    return number && atomic_load_explicit(&t->answer.number, memory_order_relaxed) == number;
}

static bool has_answered(const struct handshake *h, const struct thread *t)
{
    return atomic_load_explicit(&t->answer.number, memory_order_acquire) == h->number;
}

static bool is_same(const struct thread_totals *a, const struct thread_totals *b)
{
    return a->allocs == b->allocs && a->frees == b->frees && a->reallocs == b->reallocs &&
           a->alloc_bytes == b->alloc_bytes && a->free_bytes == b->free_bytes;
}

/* false: the thread was changing them. */
static bool read_consistently(const struct thread *t, struct thread_totals *now)
{
    *now = thread_record_totals(t->record);
    atomic_thread_fence(memory_order_acquire);
    bool counting = atomic_load_explicit(&t->counting, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    struct thread_totals again = thread_record_totals(t->record);
    atomic_thread_fence(memory_order_acquire);
    return !counting && is_same(now, &again);
}

/* A thread outside of sections answers before its counters change: look for the answer last. */
struct thread_totals handshake_counters(const struct handshake *h, const struct thread *t)
{
    struct thread_totals now;
    while (!read_consistently(t, &now) && !has_answered(h, t) &&
           os_clock_ns() - h->begin_ns < LIMIT_NS)
        os_yield();
    return has_answered(h, t) ? t->answer.totals : now;
}
