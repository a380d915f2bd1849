/*
 * fork_fresh.c - forks while threads that have just been started allocate and free, on a busy processor.
 *
 *     fork_fresh ROUNDS DEPTH SEED
 *
 * Every process starts THREADS threads, forks, and its child does the same, DEPTH deep.  The program makes no
 * error, so every error in the report is false.
 *
 * Two processes spin on the same processor, and the threads are nice to them, so a fork finds threads preempted
 * wherever a time slice ended, and its wait for them times out.  Some forking threads are nicer still
 * (SCHED_IDLE): then the others' wait for the fork times out, and they enter while it is under way.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4u
#define BLOCKS 16u
#define SPINNERS 2u
#define AFTER_FORK 10u
#define LATE_EVERY 16u

static _Atomic unsigned started;
static _Atomic int stop, nicely;

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fork_fresh: %s\n", what);
    _exit(9);
}

static void churn(uintptr_t seed)
{
    unsigned char *block[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        size_t bytes = 1 + (seed + i * 37) % 300;
        block[i] = i % 4 ? malloc(bytes) : calloc(1, bytes);
        must(block[i] != NULL, "out of memory");
        memset(block[i], (int)i, bytes);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2)
        must((block[i] = realloc(block[i], 1 + (seed + i * 53) % 350)) != NULL, "out of memory");
    for (unsigned i = 0; i < BLOCKS; i++)
        free(block[i]);
}

static void *allocate(void *arg)
{
    uintptr_t seed = (uintptr_t)arg;
    if (nicely)
        must(setpriority(PRIO_PROCESS, (id_t)gettid(), 10) == 0, "setpriority");
    atomic_fetch_add(&started, 1);
    for (unsigned more = 0; more < AFTER_FORK; more += stop != 0)
        churn(seed++);
    return NULL;
}

static void descend(unsigned depth, uintptr_t seed);

struct late {
    unsigned depth;
    uintptr_t seed;
    pid_t pid;
};

static pid_t fork_deeper(unsigned depth, uintptr_t seed)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        descend(depth - 1, (seed * 2862933555777941757u + 3037000493u) >> 7);
        exit(0);
    }
    return pid;
}

/* In a separate thread, as an ordinary user cannot leave SCHED_IDLE; its child does not inherit it. */
static void *fork_late(void *arg)
{
    struct late *late = arg;
    struct sched_param none = {0};
    must(sched_setscheduler(0, SCHED_IDLE | SCHED_RESET_ON_FORK, &none) == 0, "sched_setscheduler");
    late->pid = fork_deeper(late->depth, late->seed);
    return NULL;
}

static pid_t fork_child(unsigned depth, uintptr_t seed)
{
    struct late late = {depth, seed, -1};
    pthread_t id;
    if (seed % LATE_EVERY != 0)
        return fork_deeper(depth, seed);
    must(pthread_create(&id, NULL, fork_late, &late) == 0, "pthread_create");
    must(pthread_join(id, NULL) == 0, "pthread_join");
    return late.pid;
}

static void descend(unsigned depth, uintptr_t seed)
{
    pthread_t id[THREADS];
    pid_t pid = -1;
    int status;
    started = 0;
    stop = 0;
    nicely = seed >> 1 & 1;
    churn(seed);
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_create(&id[i], NULL, allocate, (void *)(seed + i)) == 0, "pthread_create");
    while (nicely && started < 1 + seed % THREADS)
        sched_yield();
    if (depth)
        pid = fork_child(depth, seed);
    stop = 1;
    must(pid < 0 || (waitpid(pid, &status, 0) == pid && status == 0), "a child failed");
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
}

static void stay_on_one_processor(void)
{
    cpu_set_t may, one;
    must(sched_getaffinity(0, sizeof may, &may) == 0, "sched_getaffinity");
    int cpu = 0;
    while (!CPU_ISSET(cpu, &may))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    must(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

static pid_t spin(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
        _exit(127);
    }
    return pid;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned long rounds = strtoul(argv[1], NULL, 10), seed = strtoul(argv[3], NULL, 10);
    unsigned depth = (unsigned)strtoul(argv[2], NULL, 10);
    pid_t spinner[SPINNERS];
    stay_on_one_processor();
    for (unsigned i = 0; i < SPINNERS; i++)
        spinner[i] = spin();
    for (unsigned long i = 0; i < rounds; i++)
        descend(depth, (seed + i) * 11400714819323198485u >> 9);
    for (unsigned i = 0; i < SPINNERS; i++)
        kill(spinner[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    printf("forks %lu\n", rounds * depth);
    return 0;
}
