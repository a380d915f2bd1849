/*
 * stopped.c - programs whose threads are inside an operation when the program ends, or when they
 * are stopped in mid-run: `stopped WHAT`. stopped.py compares them with runs without a checker.
 */
/* rtc-build: -pthread -Wl,-z,now */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "rtcheck/check.h"

#define STATUS 7

static sem_t ready;
static void *volatile kept;

static pthread_t start(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL))
        abort();
    return thread;
}

static __attribute__((noinline)) void lose(void)
{
    kept = malloc(4711);
    kept = NULL;
}

/* ---- streams, which exit flushes behind all handlers -------------------------------------------- */

static void *hold_stdout(void *unused)
{
    flockfile(stdout);
    printf("held\n");
    sem_post(&ready);
    pause();
    exit(1);
    return unused;
}

/* The thread never releases the stream's lock. */
static void stream_locked(void)
{
    start(hold_stdout);
    sem_wait(&ready);
}

static void *print_for_ever(void *unused)
{
    for (unsigned i = 0;; i++) {
        printf("line %u\n", i);
        if (i == 500)
            sem_post(&ready);
    }
    return unused;
}

static void *open_for_ever(void *unused)
{
    for (;;) {
        FILE *f = fopen("/dev/null", "w");
        if (f) {
            fputs("nothing", f);
            fclose(f);
        }
        fflush(NULL);
    }
    return unused;
}

/* At any moment they have locks of streams and of libc's list of streams. */
static void printing(void)
{
    start(print_for_ever);
    start(open_for_ever);
    sem_wait(&ready);
}

static pthread_mutex_t lock_of_writer = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_asked;

static ssize_t write_locked(void *unused, const char *bytes, size_t count)
{
    (void)unused;
    atomic_store(&is_asked, true);
    pthread_mutex_lock(&lock_of_writer);
    ssize_t n = write(1, bytes, count);
    pthread_mutex_unlock(&lock_of_writer);
    return n;
}

static void *lock_and_run(void *unused)
{
    pthread_mutex_lock(&lock_of_writer);
    sem_post(&ready);
    while (!atomic_load(&is_asked))
        ;
    pthread_mutex_unlock(&lock_of_writer);
    return unused;
}

static void *lock_and_sleep(void *unused)
{
    pthread_mutex_lock(&lock_of_writer);
    sem_post(&ready);
    while (!atomic_load(&is_asked))
        if (usleep(1000))
            exit(1);
    pthread_mutex_unlock(&lock_of_writer);
    return unused;
}

/* A stream of the program, whose flush needs a lock that a thread releases when it sees the flush. */
static void flush_waits_for(void *(*body)(void *))
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_locked});
    if (!f)
        abort();
    start(body);
    sem_wait(&ready);
    fputs("written\n", f);
}
static void flush_waits_for_running(void)
{
    flush_waits_for(lock_and_run);
}
static void flush_waits_for_sleeping(void)
{
    flush_waits_for(lock_and_sleep);
}

/* ---- handlers that join ------------------------------------------------------------------------- */

static pthread_t joined;
static atomic_bool enough;

static void *sleep_until_enough(void *unused)
{
    sem_post(&ready);
    while (!atomic_load(&enough))
        if (usleep(1000))
            exit(1);
    free(kept);
    return unused;
}

static void join_it(void)
{
    atomic_store(&enough, true);
    pthread_join(joined, NULL);
    puts("joined");
}

static void handler_joins(void)
{
    kept = malloc(100);
    joined = start(sleep_until_enough);
    sem_wait(&ready);
    atexit(join_it);
}

static bool joins_in_destructor;

__attribute__((destructor)) static void destructor(void)
{
    if (joins_in_destructor)
        join_it();
}

static void destructor_joins(void)
{
    kept = malloc(100);
    joined = start(sleep_until_enough);
    sem_wait(&ready);
    joins_in_destructor = true;
}

/* The handler is that of stopped_first.c. */
static void handler_before_runtime(void)
{
}

/* ---- threads that are about to enter a call, or leave it ------------------------------------------ */

static void *usleep_often(void *unused)
{
    while (usleep(20) == 0)
        ;
    exit(1);
    return unused;
}

static void *poll_often(void *unused)
{
    while (poll(NULL, 0, 1) == 0)
        ;
    exit(1);
    return unused;
}

static void *select_often(void *unused)
{
    struct timeval limit;
    do
        limit = (struct timeval){0, 20};
    while (select(0, NULL, NULL, NULL, &limit) == 0);
    exit(1);
    return unused;
}

static void *epoll_often(void *unused)
{
    struct epoll_event e;
    int fd = epoll_create1(0);
    while (epoll_wait(fd, &e, 1, 1) == 0)
        ;
    exit(1);
    return unused;
}

static void *sigtimedwait_often(void *unused)
{
    const struct timespec limit = {0, 20000};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    do
        errno = 0;
    while (sigtimedwait(&set, NULL, &limit) < 0 && errno == EAGAIN);
    exit(1);
    return unused;
}

static void *sem_timedwait_often(void *unused)
{
    struct timespec limit;
    sem_t never;
    sem_init(&never, 0, 0);
    do {
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_nsec += 20000;
        limit.tv_sec += limit.tv_nsec / 1000000000;
        limit.tv_nsec %= 1000000000;
    } while (sem_timedwait(&never, &limit) < 0 && errno == ETIMEDOUT);
    exit(1);
    return unused;
}

static void busy(void)
{
    static void *(*const bodies[])(void *) = {usleep_often,       poll_often,
                                              select_often,       epoll_often,
                                              sigtimedwait_often, sem_timedwait_often};
    char *argv[] = {"passwd", NULL};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        start(bodies[i]);
    for (int i = 0; i < 300; i++) {
        (void)rtc_check_leaks(RTC_QUIET, NULL);
        if (i % 8 == 0)
            execv("/etc/passwd", argv);
    }
}

/* ---- threads that end the program, too ------------------------------------------------------------- */

static pthread_barrier_t together;

static void *exit_together(void *unused)
{
    pthread_barrier_wait(&together);
    exit(STATUS);
    return unused;
}

static void *exit_now_together(void *unused)
{
    pthread_barrier_wait(&together);
    _exit(STATUS);
    return unused;
}

static void *exec_together(void *unused)
{
    pthread_barrier_wait(&together);
    execl("/bin/sh", "sh", "-c", "exit 7", NULL);
    return unused;
}

static void ends_together(void)
{
    pthread_barrier_init(&together, NULL, 5);
    start(exit_together);
    start(exit_now_together);
    start(exec_together);
    start(exit_now_together);
    pthread_barrier_wait(&together);
}

/* ---- which ------------------------------------------------------------------------------------------ */

#define ONE(name)   \
    {               \
#name, name \
    }
static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    ONE(stream_locked),           ONE(printing),
    ONE(flush_waits_for_running), ONE(flush_waits_for_sleeping),
    ONE(handler_joins),           ONE(destructor_joins),
    ONE(handler_before_runtime),  ONE(busy),
    ONE(ends_together),
};

int main(int argc, char **argv)
{
    sem_init(&ready, 0, 0);
    lose();
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof all[0]; i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].run();
            return STATUS;
        }
    return 2;
}
