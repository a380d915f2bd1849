/*
 * busy.c - allocates and frees; the driver checks the reported costs.
 *
 *     busy plain | threads | forks | killed | forbidden | between | maps | notified | deep
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rtcheck/event.h"

#define PAIRS 50000
#define MOST 4
#define ROWS 70 /* more than two rows of 32 */

static void *pairs(void *unused)
{
    for (int i = 0; i < PAIRS; i++)
        free(malloc(64));
    return unused;
}

static void threads(void)
{
    pthread_t t[MOST];
    for (int i = 0; i < MOST; i++)
        if (pthread_create(&t[i], NULL, pairs, NULL) != 0)
            abort();
    for (int i = 0; i < MOST; i++)
        pthread_join(t[i], NULL);
}

static void forks(void)
{
    for (int i = 0; i < MOST; i++)
        if (fork() == 0) {
            pairs(NULL);
            exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static __attribute__((noinline)) void *take_below(int frames)
{
    void *volatile p = frames > 0 ? take_below(frames - 1) : malloc(64);
    return p;
}

/* Each stack differs from the one before in many frames, and most of the heap's lines are cold. */
static void deep(void)
{
    static void *kept[4096];
    for (int i = 0; i < PAIRS; i++) {
        free(kept[i % 4096]);
        kept[i % 4096] = take_below(i % 3 ? i % 41 : 1);
    }
    for (int i = 0; i < 4096; i++)
        free(kept[i]);
}

/* Children that begin at each operation of a timed row; their first operation may be the next of the row. */
static void between(void)
{
    for (int i = 0; i < ROWS; i++) {
        free(malloc(64));
        int status = 0;
        pid_t pid = i % 2 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0)
            _exit(!malloc(10));
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            abort();
    }
}

static void maps(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        void *p = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || munmap(p, 65536) != 0)
            abort();
    }
}

/* The handler takes two microseconds each time, which count as its own. */
static void busy_handler(unsigned type, union rtc_event *event, void *arg)
{
    struct timespec begun, now;
    (void)type, (void)event, (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < 2000);
    free(malloc(64));
}

static void last_error(void)
{
    __typeof__(rtc_event_set_handler) *set =
        (__typeof__(set))(uintptr_t)dlsym(RTLD_DEFAULT, "rtc_event_set_handler");
    if (!set || set(RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED, 0, busy_handler, NULL) != 0)
        abort();
    maps(PAIRS / 4);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pairs(NULL);
    if (strcmp(how, "threads") == 0)
        threads();
    if (strcmp(how, "forks") == 0)
        forks();
    if (strcmp(how, "deep") == 0)
        deep();
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(how, "forbidden") == 0)
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    if (strcmp(how, "between") == 0)
        between();
    if (strcmp(how, "maps") == 0)
        maps(PAIRS);
    if (strcmp(how, "notified") == 0)
        last_error();
    pairs(NULL);
    return 0;
}
