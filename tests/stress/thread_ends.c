/*
 * thread_ends.c - eight threads end while signals arrive, whose handler allocates.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -fno-builtin
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 8

static _Atomic int tid[THREADS];
static _Atomic bool is_over;
static _Thread_local volatile bool is_handled;

static void on_signal(int signal)
{
    (void)signal;
    free(malloc(40));
    is_handled = true;
}

static void *send_signals(void *about)
{
    while (!is_over)
        for (int i = 0; i < THREADS; i++)
            if (tid[i])
                syscall(SYS_tgkill, getpid(), tid[i], SIGUSR1); /* ESRCH: it has ended */
    return about;
}

static void *end_soon(void *slot)
{
    void *p = malloc(100);
    *(_Atomic int *)slot = (int)syscall(SYS_gettid);
    while (!is_handled)
        sched_yield();
    free(p);
    return NULL;
}

int main(void)
{
    pthread_t sender, threads[THREADS];
    signal(SIGUSR1, on_signal);
    pthread_create(&sender, NULL, send_signals, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, end_soon, (void *)&tid[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    is_over = true;
    pthread_join(sender, NULL);
    puts("done");
    return 0;
}
