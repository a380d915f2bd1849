/*
 * reaper.c - takes the records of ended processes out of the run file while the run goes on, so
 * that a shell script of many thousand processes does not grow it.
 *
 * A thread that sleeps on the run header's doorbell.  It rings when a process says goodbye, which is
 * a moment before that process is gone, and not at all for one that was killed: so the thread looks
 * again by itself, soon after a ring and less and less often then.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

#define BATCH_MS 5   /* rings within that time are one */
#define SOON_MS 20   /* first look after a ring */
#define IDLE_MS 2000 /* looks become rarer up to here */

/* true: woken, or the word is not `seen` any more; false: the time is over. */
static bool futex_wait_ms(_Atomic uint32_t *word, uint32_t seen, unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    return syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0) == 0 || errno != ETIMEDOUT;
}

static void *reap(void *arg)
{
    struct reaper *r = arg;
    _Atomic uint32_t *bell = &r->file->run->doorbell;
    unsigned patience_ms = SOON_MS;
    while (!atomic_load(&r->stop)) {
        uint32_t seen = atomic_load(bell);
        report_absorb_ended(r->report, r->file->fd);
        if (!futex_wait_ms(bell, seen, patience_ms)) {
            patience_ms = patience_ms * 2 < IDLE_MS ? patience_ms * 2 : IDLE_MS;
            continue;
        }
        patience_ms = SOON_MS;
        futex_wait_ms(&r->stop, 0, BATCH_MS);
    }
    return NULL;
}

void reaper_start(struct reaper *r, struct report *report, const struct run_file *file,
                  struct lost *lost)
{
    *r = (struct reaper){.report = report, .file = file};
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); /* the signals are the main thread's */
    int bad = pthread_create(&r->thread, NULL, reap, r);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    r->is_running = bad == 0;
    if (bad)
        lost_add(lost, "no thread (%s): records of ended processes stay until the end",
                 strerror(bad));
}

void reaper_end(struct reaper *r)
{
    if (!r->is_running)
        return;
    _Atomic uint32_t *bell = &r->file->run->doorbell;
    atomic_store(&r->stop, 1);
    atomic_fetch_add(bell, 1); /* it may be about to sleep on either */
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    syscall(SYS_futex, &r->stop, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    pthread_join(r->thread, NULL);
    r->is_running = false;
}
