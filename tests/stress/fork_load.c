/*
 * fork_load.c - many children at once, each with threads that allocate and free inherited blocks,
 * while the parent's own threads continue.
 *
 *     fork_load CHILDREN THREADS STEPS
 *
 * Every child leaves THREADS * LEFT blocks behind, the parent only the inherited ones; the driver
 * finds them in the report.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INHERITED 4000u
#define HELD 64u
#define LEFT 3u

static unsigned long threads, steps;
static uint8_t *inherited[INHERITED];
static _Atomic uint32_t next_inherited;
static _Atomic int stop;

static size_t bytes_of(uint32_t i)
{
    return i % 200 == 0 ? 70000 : 16 + i % 50 * 24;
}

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fork_load: %s\n", what);
    _exit(9);
}

static uint8_t *filled(size_t bytes)
{
    uint8_t *p = malloc(bytes);
    must(p != NULL, "out of memory");
    memset(p, (int)(bytes % 251), bytes);
    return p;
}

static void check(const uint8_t *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        must(p[i] == bytes % 251, "a block has changed");
}

static void churn(uint64_t random, unsigned long count)
{
    uint8_t *held[HELD] = {NULL};
    size_t bytes[HELD] = {0};
    for (unsigned long i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned h = (unsigned)(random >> 33) % HELD;
        if (held[h])
            check(held[h], bytes[h]);
        free(held[h]);
        bytes[h] = 16 + (random >> 40) % 900;
        held[h] = filled(bytes[h]);
    }
    for (unsigned h = 0; h < HELD; h++)
        free(held[h]);
}

__attribute__((noinline)) static void load_leave(void)
{
    for (unsigned i = 0; i < LEFT; i++) {
        void *volatile left = malloc(123);
        must(left != NULL, "out of memory");
    }
}

static void *child_thread(void *arg)
{
    uint32_t i;
    churn((uint64_t)(uintptr_t)arg, steps / 2);
    while ((i = atomic_fetch_add(&next_inherited, 1)) < INHERITED) {
        check(inherited[i], bytes_of(i));
        free(inherited[i]);
    }
    churn((uint64_t)(uintptr_t)arg + 7, steps / 2);
    load_leave();
    return NULL;
}

static _Noreturn void child(void)
{
    pthread_t id[64];
    for (unsigned long i = 0; i < threads; i++)
        must(pthread_create(&id[i], NULL, child_thread, (void *)(uintptr_t)(i + 1)) == 0, "thread");
    for (unsigned long i = 0; i < threads; i++)
        pthread_join(id[i], NULL);
    exit(0);
}

static void *parent_thread(void *arg)
{
    while (!stop)
        churn((uint64_t)(uintptr_t)arg, 1000);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned long children = strtoul(argv[1], NULL, 10);
    threads = strtoul(argv[2], NULL, 10);
    steps = strtoul(argv[3], NULL, 10);
    must(threads <= 64, "too many threads");
    pthread_t id[2];
    for (uint32_t i = 0; i < INHERITED; i++)
        inherited[i] = filled(bytes_of(i));
    for (uintptr_t i = 0; i < 2; i++)
        must(pthread_create(&id[i], NULL, parent_thread, (void *)(i + 100)) == 0, "thread");
    for (unsigned long i = 0; i < children; i++) {
        pid_t pid = fork();
        must(pid >= 0, "fork");
        if (pid == 0)
            child();
    }
    int status, bad = 0;
    while (wait(&status) > 0)
        bad += status != 0;
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(id[i], NULL);
    for (uint32_t i = 0; i < INHERITED; i++) {
        check(inherited[i], bytes_of(i));
        free(inherited[i]);
    }
    printf("children %lu bad %d left %lu\n", children, bad, children * threads * LEFT);
    return bad != 0;
}
