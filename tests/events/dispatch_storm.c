/*
 * dispatch_storm.c - a row of dispatch.c: threads map, allocate and fork while signals come that map, too.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch.h"

#define THREADS 4
#define TURNS 150
#define FORKS_EVERY 50

static void pair(void)
{
    void *at = (void *)syscall(SYS_mmap, NULL, 65536, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(at != MAP_FAILED && mprotect(at, 4096, PROT_READ) == 0 && munmap(at, 65536) == 0);
}

static void on_signal(int signal)
{
    (void)signal;
    pair();
}

static void fork_once(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        pair();
        _exit(0);
    }
    assert(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void *work(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        char *block = malloc(100 + (size_t)i * 7);
        memset(block, i, 100);
        pair();
        free(block);
        if (i % FORKS_EVERY == 0)
            fork_once();
    }
    return unused;
}

void storm(void)
{
    struct itimerval often = {{0, 997}, {0, 997}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread[THREADS];
    sigfillset(&action.sa_mask);
    assert(sigaction(SIGPROF, &action, NULL) == 0 && setitimer(ITIMER_PROF, &often, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        assert(pthread_create(&thread[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        assert(pthread_join(thread[i], NULL) == 0);
}
