/*
 * early_thread.c - a library whose constructor starts threads, before the runtime's constructor: one that blocks all
 * signals except while it waits, and one in an uninterruptible read loop.  And it sets a handler of SIGUSR2 that
 * blocks all signals, too.
 *
 * rtc-build: shared -pthread
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void early_thread_raw_pair(void);
long early_thread_reads(void);

static sem_t asked, answered;

/* Wait for a signal: the runtime's, which makes this thread enable dispatch. */
static void wait_once(void)
{
    struct timespec most = {5, 0};
    sigset_t none;
    sigemptyset(&none);
    ppoll(NULL, 0, &most, &none);
}

static void *serve(void *unused)
{
    wait_once();
    for (;;) {
        while (sem_wait(&asked))
            ;
        long at = syscall(SYS_mmap, NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == -1 || syscall(SYS_munmap, at, 8192))
            abort();
        sem_post(&answered);
    }
    return unused;
}

static int pipes[2];
static volatile int reader;

static void *read_once(void *result)
{
    char c;
    reader = (int)syscall(SYS_gettid);
    *(volatile long *)result = read(pipes[0], &c, 1);
    return result;
}

/* Is the thread in the call? */
static int is_reading(int tid)
{
    char path[64], line[4] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    int fd = open(path, O_RDONLY);
    long got = read(fd, line, sizeof line - 1);
    close(fd);
    return got > 1 && line[0] == '0' + SYS_read && line[1] == ' ';
}

static pthread_t reading;
static long result_of_read = -2;

static void begin_reading(void)
{
    if (pipe(pipes) || pthread_create(&reading, NULL, read_once, &result_of_read))
        abort();
    while (!reader || !is_reading(reader))
        sched_yield();
}

long early_thread_reads(void)
{
    if (write(pipes[1], "x", 1) != 1 || pthread_join(reading, NULL))
        abort();
    return result_of_read;
}

static void on_signal(int signal)
{
    (void)signal;
    if (getppid() <= 0)
        abort();
}

static void __attribute__((constructor)) begin(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    pthread_t thread;
    sigset_t before;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    pthread_sigmask(SIG_SETMASK, &action.sa_mask, &before);
    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
    if (pthread_create(&thread, NULL, serve, NULL))
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    begin_reading();
}

void early_thread_raw_pair(void)
{
    sem_post(&asked);
    while (sem_wait(&answered))
        ;
}
