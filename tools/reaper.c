/*
 * reaper.c - takes the records of ended processes out of the run file while the run goes on, so
 * that a shell script of many thousand processes does not grow it; and has errors told as they happen.
 *
 * A thread that sleeps on the run header's doorbell.  It rings when a process says goodbye, which is
 * a moment before that process is gone, and not at all for one that was killed: so the thread looks
 * again by itself, soon after a ring and less and less often then.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

#define BATCH_MS 5   /* rings within that time are one */
#define SOON_MS 20   /* first look after a ring */
#define IDLE_MS 2000 /* looks become rarer up to here */
#define CHECKS_AT_A_TIME 32u
#define SCANNER_WAIT_MS 30000
#define LIVE_MS 300 /* errors of a run that ends sooner are told at the end alone */

/* true: woken, or the word is not `seen` any more; false: the time is over. */
static bool futex_wait_ms(_Atomic uint32_t *word, uint32_t seen, unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    return syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0) == 0 || errno != ETIMEDOUT;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Tells errors that are some time old. */
static void print_live(struct reaper *r)
{
    char *text = NULL;
    size_t bytes = 0;
    if (r->log < 0 || r->how.deterministic || r->how.format != PRINT_TEXT ||
        atomic_load(&r->file->run->error_sites) == r->live.places) {
        r->live_since_ms = 0;
        return;
    }
    r->live_since_ms = r->live_since_ms ? r->live_since_ms : now_ms();
    if (now_ms() - r->live_since_ms < LIVE_MS)
        return;
    r->live_since_ms = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    report_live(&r->live, r->file->fd, out, &r->how);
    if (fclose(out) == 0)
        text_write(r->log, text, bytes);
    free(text);
}

/* Programs wait for it, as long as they can see us. */
static void print_checks(struct reaper *r)
{
    uint32_t requested = atomic_load(&r->file->run->checks_requested), count;
    struct check_reported at[CHECKS_AT_A_TIME];
    if (requested == r->checks_requested)
        return;
    r->checks_requested = requested;
    do {
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        if (!out)
            return;
        count = report_checks(r->file->fd, 0, out, &r->how, at, CHECKS_AT_A_TIME);
        if (fclose(out) == 0 && r->log >= 0)
            text_write(r->log, text, bytes);
        free(text);
        report_checks_done(r->file->fd, at, count);
    } while (count == CHECKS_AT_A_TIME);
}

static void *reap(void *arg)
{
    struct reaper *r = arg;
    _Atomic uint32_t *bell = &r->file->run->doorbell;
    unsigned timeout_ms = SOON_MS;
    while (!atomic_load(&r->stop)) {
        uint32_t seen = atomic_load(bell);
        report_absorb_ended(r->report, r->file->fd);
        print_live(r);
        print_checks(r);
        if (r->live_since_ms && timeout_ms > LIVE_MS)
            timeout_ms = LIVE_MS;
        if (!futex_wait_ms(bell, seen, timeout_ms)) {
            timeout_ms = timeout_ms * 2 < IDLE_MS ? timeout_ms * 2 : IDLE_MS;
            continue;
        }
        timeout_ms = SOON_MS;
        futex_wait_ms(&r->stop, 0, BATCH_MS);
    }
    return NULL;
}

void reaper_start(struct reaper *r, struct warnings *warnings)
{
    sigset_t all, was;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);                  /* blocked, it would end us: guard.c */
    pthread_sigmask(SIG_SETMASK, &all, &was); /* the signals are the main thread's */
    int bad = pthread_create(&r->thread, NULL, reap, r);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    r->is_running = bad == 0;
    if (bad)
        warnings_add(warnings, "no thread (%s): records of ended processes stay until the end",
                     strerror(bad));
}

/* What they find goes into the file as long as this waits; one that is stopped is not waited for for ever. */
void wait_for_scanners(struct report *r, struct run_header *run)
{
    uint64_t begin = now_ms();
    for (;;) {
        uint32_t seen = atomic_load(&run->doorbell);
        if (report_scanners(r) == 0 || now_ms() - begin > SCANNER_WAIT_MS)
            return;
        futex_wait_ms(&run->doorbell, seen, SOON_MS);
    }
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
