/*
 * quiesce.c - quiescence: how writers of records are stopped for a fork, and resumed.
 *
 * Set the epoch word to 0 and issue a barrier: then every thread is outside its section, or will
 * see the 0.  Waiting is bounded on both sides.  A thread may stay inside (it was stopped, or left
 * by siglongjmp).  The forking thread may wait for a lock of libc that a waiting thread holds.
 */
#include "fork_priv.h"

#define QUIESCE_NS 20000000ull
#define ESCAPE_NS 50000000ull

static struct epoch_page before_start;
struct epoch_page *epoch_page = &before_start;
bool fence_entries = true;

static struct {
    _Atomic uint32_t stopped; /* futex of the waiting threads */
    _Atomic uint32_t waiting; /* their number */
} quiesce;

void quiesce_start(uint32_t epoch)
{
    struct epoch_page *page = os_map(PAGE_BYTES);
    if (os_failed(page))
        page = &before_start; /* forks that libc does not see remain undetected */
    else
        os_wipe_on_fork(page, PAGE_BYTES);
    fence_entries = !os_barrier_ready();
    atomic_store(&page->alive, 1);
    atomic_store(&page->epoch, epoch);
    epoch_page = page;
}

/* Wait until every other thread is outside; false: one stayed inside too long. */
static bool wait_until_quiescent(void)
{
    uint64_t begin = 0;
    for (struct thread *t = threads_first(); t; t = t->next) {
        while (t != self && thread_is_inside(t)) {
            uint64_t now = os_clock_ns();
            begin = begin ? begin : now;
            if (now - begin > QUIESCE_NS)
                return false;
            os_yield();
        }
    }
    return true;
}

bool quiesce_writers(void)
{
    if (!os_has(OS_QUIESCE))
        return true;
    atomic_store(&quiesce.stopped, 1);
    /* a thread that is not in the list yet sees the 0, or the list has it */
    atomic_store(&epoch_page->epoch, 0);
    struct thread *all = threads_first();
    if (!all || (all == self && !all->next))
        return true;
    os_barrier();
    return wait_until_quiescent();
}

void quiesce_resume(uint32_t epoch)
{
    atomic_store(&epoch_page->epoch, epoch);
    atomic_store(&quiesce.stopped, 0);
    if (atomic_load(&quiesce.waiting))
        os_wake(&quiesce.stopped, false);
}

bool fork_wait(void)
{
    uint64_t begin = os_clock_ns();
    while (atomic_load_explicit(&epoch_page->epoch, memory_order_acquire) == 0) {
        if (handshake_lasts())
            return true; /* it began after the caller looked for one: look again */
        if (fork_is_by_caller())
            return false; /* a prepare handler of another library, called after fork_prepare */
        if (os_clock_ns() - begin > ESCAPE_NS)
            return fork_end_dead_stop();
        atomic_fetch_add(&quiesce.waiting, 1);
        os_wait(&quiesce.stopped, 1, ESCAPE_NS, false);
        atomic_fetch_sub(&quiesce.waiting, 1);
    }
    return true;
}

void quiesce_after_fork(void)
{
    atomic_store(&quiesce.stopped, 0);
    atomic_store(&quiesce.waiting, 0);
    handshake_after_fork();
}
