/*
 * reaper.c - a thread that takes the records of ended processes out of the run file during the
 * run.  So a shell script of many thousand processes does not make the file grow.  It also prints
 * errors as they happen.
 *
 * The thread sleeps on the doorbell futex of the run header.  A process rings it shortly before it
 * ends, and not at all if it is killed.  So the thread also polls: soon after a ring, then with
 * growing intervals.
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

#include "launcher.h"

#define BATCH_MS 5   /* rings within that time are handled at once */
#define SOON_MS 20   /* first poll after a ring */
#define IDLE_MS 2000 /* longest poll interval */
#define CHECKS_AT_A_TIME 32u
#define SCANNER_WAIT_MS 30000
#define LIVE_MS 300 /* errors of shorter runs are only printed at the end */

/* true: woken, or the word no longer equals `seen`; false: timeout. */
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

/* Print errors that have waited LIVE_MS. */
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

/*
 * Print requested leak checks.  The programs wait for it as long as the launcher is visible to
 * them.
 */
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
        count = report_checks(r->file->fd, (struct check_choice){0}, out, &r->how, at,
                              CHECKS_AT_A_TIME);
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
    sigdelset(&all, SIGBUS);                  /* a blocked SIGBUS kills us: guard.c */
    pthread_sigmask(SIG_SETMASK, &all, &was); /* signals are handled by the main thread */
    int bad = pthread_create(&r->thread, NULL, reap, r);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    r->is_running = bad == 0;
    if (bad)
        warnings_add(warnings, "no thread (%s): records of ended processes stay until the end",
                     strerror(bad));
}

/*
 * Findings that the scanners write after this function returns are not in the report.  The wait is
 * bounded, because a scanner may be stopped.
 */
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
    atomic_fetch_add(bell, 1); /* the thread may be about to sleep on either futex */
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    syscall(SYS_futex, &r->stop, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    pthread_join(r->thread, NULL);
    r->is_running = false;
}
