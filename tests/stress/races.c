/*
 * races.c - many threads free one pointer at the same instant.
 *
 *     races ROUNDS THREADS BYTES
 *
 * Exactly one of them frees it; the others hold a duplicate free, and the program is none the
 * worse for it.  The driver counts the losers that were recorded.
 *
 * The instant is a reading of the processor's clock a little ahead: those that run by then free
 * within some nanoseconds of each other, the rest follow.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define AHEAD_CYCLES 4000u
#define SPINS_PER_YIELD 2000u

static unsigned long rounds, threads;
static size_t bytes;
static void *volatile target;
static volatile uint64_t instant;
static _Atomic unsigned long round_now; /* published after target and instant */
static _Atomic unsigned long done;

static void free_at_the_instant(void)
{
    void *p = target;
    while (__rdtsc() < instant)
        ;
    free(p);
    atomic_fetch_add(&done, 1);
}

static void *racer(void *arg)
{
    for (unsigned long r = 1; r <= rounds; r++) {
        unsigned spins = 0;
        while (atomic_load_explicit(&round_now, memory_order_acquire) < r)
            if (++spins % SPINS_PER_YIELD == 0)
                sched_yield();
        free_at_the_instant();
    }
    return arg;
}

/* A round's pointer, and its neighbours, which must survive the round. */
static void play(unsigned long r)
{
    uint8_t *before = malloc(bytes), *p = malloc(bytes), *after = malloc(bytes);
    if (!before || !p || !after)
        abort();
    memset(before, 0x11, bytes);
    memset(p, 0x22, bytes);
    memset(after, 0x33, bytes);
    target = p;
    instant = __rdtsc() + AHEAD_CYCLES;
    atomic_store_explicit(&round_now, r, memory_order_release);
    free_at_the_instant();
    while (atomic_load(&done) < r * threads)
        sched_yield();
    for (size_t i = 0; i < bytes; i++)
        if (before[i] != 0x11 || after[i] != 0x33)
            abort();
    free(before);
    free(after);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    rounds = strtoul(argv[1], NULL, 10);
    threads = strtoul(argv[2], NULL, 10);
    bytes = strtoul(argv[3], NULL, 10);
    pthread_t id[64];
    if (threads < 2 || threads > 64)
        return 2;
    for (unsigned long i = 1; i < threads; i++) /* the main thread is one of them */
        if (pthread_create(&id[i], NULL, racer, NULL) != 0)
            return 3;
    for (unsigned long r = 1; r <= rounds; r++)
        play(r);
    for (unsigned long i = 1; i < threads; i++)
        pthread_join(id[i], NULL);
    printf("rounds %lu threads %lu bytes %zu\n", rounds, threads, bytes);
    return 0;
}
