/*
 * quiet.c - how writers of records are stopped for a fork, and go on.
 *
 * The epoch word 0, a barrier, and every thread is either outside or about to find the 0.  Waiting
 * is bounded on both sides: a thread may stay inside (it was stopped, or left by siglongjmp), and
 * the forking thread may be waiting for a lock of libc that one of those who wait holds.
 */
#include "pool_priv.h"

#define QUIET_NS 20000000ull
#define ESCAPE_NS 50000000ull

static struct go_page before_start;
struct go_page *go_page = &before_start;
bool fence_entries = true;

static struct {
    _Atomic uint32_t stopped; /* futex of the threads that wait */
    _Atomic uint32_t waiting; /* how many */
} quiet;

void quiet_start(uint32_t epoch)
{
    struct go_page *page = os_map(PAGE_BYTES);
    if (os_failed(page))
        page = &before_start; /* forks that libc does not see stay unseen */
    else
        os_wipe_on_fork(page, PAGE_BYTES);
    fence_entries = !os_barrier_ready();
    atomic_store(&page->alive, 1);
    atomic_store(&page->epoch, epoch);
    go_page = page;
}

/* Waits until every other thread is outside; false: one would not come out. */
static bool wait_for_quiet(void)
{
    uint64_t begin = 0;
    for (struct thread *t = threads_first(); t; t = t->next) {
        while (t != self && thread_is_inside(t)) {
            uint64_t now = os_clock_ns();
            begin = begin ? begin : now;
            if (now - begin > QUIET_NS)
                return false;
            os_yield();
        }
    }
    return true;
}

bool quiet_stop(void)
{
    if (!os_has(OS_QUIESCE))
        return true;
    atomic_store(&quiet.stopped, 1);
    atomic_store(&go_page->epoch, 0); /* a thread not in the list yet finds this, or we find it */
    struct thread *all = threads_first();
    if (!all || (all == self && !all->next))
        return true;
    os_barrier();
    return wait_for_quiet();
}

void quiet_resume(uint32_t epoch)
{
    atomic_store(&go_page->epoch, epoch);
    atomic_store(&quiet.stopped, 0);
    if (atomic_load(&quiet.waiting))
        os_wake(&quiet.stopped, false);
}

bool fork_wait(void)
{
    uint64_t begin = os_clock_ns();
    while (atomic_load_explicit(&go_page->epoch, memory_order_acquire) == 0) {
        if (fork_is_mine())
            return false; /* a prepare handler of somebody else's, after ours */
        if (os_clock_ns() - begin > ESCAPE_NS)
            return false;
        atomic_fetch_add(&quiet.waiting, 1);
        os_wait(&quiet.stopped, 1, ESCAPE_NS, false);
        atomic_fetch_sub(&quiet.waiting, 1);
    }
    return true;
}

void quiet_after_fork(void)
{
    atomic_store(&quiet.stopped, 0);
    atomic_store(&quiet.waiting, 0);
}
