/*
 * races.c - many threads free one pointer at the same instant.
 *
 *     races ROUNDS THREADS BYTES
 *
 * Exactly one of them frees it; the others make a double free, which does not harm the program.  The
 * driver counts the recorded double frees.
 *
 * The instant is a reading of the processor's clock a little ahead: threads that run by then free
 * within some nanoseconds of each other, the others follow.  On a busy machine a round takes as long as
 * all threads need to get a processor, so the number of rounds adapts: after SECONDS a FEWEST-th of
 * ROUNDS is enough, if at least two threads were in time in one of them.  Under load the scheduler may
 * leave all threads on one processor, where they run in turn and are never in time together; so they
 * are distributed over the processors.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define AHEAD_CYCLES 4000u
#define IN_TIME_CYCLES 300u
#define SPINS_PER_YIELD 2000u
#define SECONDS 3
#define SECONDS_MAX 20 /* then it ends without two threads in time: the driver reports that */
#define FEWEST 20u

static unsigned long threads;
static size_t bytes;
static void *volatile target;
static volatile uint64_t instant;
static _Atomic unsigned long round_now; /* published after target and instant */
static _Atomic unsigned long in_time;   /* of this round */
static _Atomic unsigned long done;

static void free_at_the_instant(void)
{
    void *p = target;
    uint64_t now;
    while ((now = __rdtsc()) < instant)
        ;
    free(p);
    if (now - instant < IN_TIME_CYCLES)
        atomic_fetch_add(&in_time, 1);
    atomic_fetch_add(&done, 1);
}

static void *racer(void *arg)
{
    for (unsigned long r = 1;; r++) {
        unsigned spins = 0;
        while (atomic_load_explicit(&round_now, memory_order_acquire) < r)
            if (++spins % SPINS_PER_YIELD == 0)
                sched_yield();
        if (!target)
            return arg;
        free_at_the_instant();
    }
}

/*
 * A round's pointer, and its neighbours, which must survive the round.  Returns whether at least
 * two threads were in time.
 */
static int play(unsigned long r)
{
    uint8_t *before = malloc(bytes), *p = malloc(bytes), *after = malloc(bytes);
    if (!before || !p || !after)
        abort();
    memset(before, 0x11, bytes);
    memset(p, 0x22, bytes);
    memset(after, 0x33, bytes);
    target = p;
    atomic_store(&in_time, 0);
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
    return in_time >= 2;
}

static int is_enough(unsigned long rounds, unsigned long played, unsigned long together,
                     time_t begin)
{
    time_t seconds = time(NULL) - begin;
    if (played < rounds / FEWEST)
        return 0;
    if (seconds >= SECONDS)
        return together > 0 || seconds >= SECONDS_MAX;
    return played >= rounds && together >= rounds / 4;
}

/* Every other one where there are two. */
static void settle_on_processor(pthread_t thread, unsigned long number)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    unsigned long left = number % (unsigned long)CPU_COUNT(&allowed);
    int processor = 0;
    while (!CPU_ISSET(processor, &allowed) || left-- > 0)
        processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    pthread_setaffinity_np(thread, sizeof one, &one);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned long rounds = strtoul(argv[1], NULL, 10), played = 0, together = 0;
    threads = strtoul(argv[2], NULL, 10);
    bytes = strtoul(argv[3], NULL, 10);
    pthread_t id[64];
    if (threads < 2 || threads > 64)
        return 2;
    for (unsigned long i = 1; i < threads; i++) /* the main thread is one of them */
        if (pthread_create(&id[i], NULL, racer, NULL) != 0)
            return 3;
    for (unsigned long i = threads - 1; i > 0; i--)
        settle_on_processor(id[i], i);
    settle_on_processor(pthread_self(), 0); /* last: its set is the one that is distributed */
    time_t begin = time(NULL);
    while (!is_enough(rounds, played, together, begin))
        together += (unsigned long)play(++played);
    target = NULL;
    atomic_store_explicit(&round_now, played + 1, memory_order_release);
    for (unsigned long i = 1; i < threads; i++)
        pthread_join(id[i], NULL);
    printf("rounds %lu together %lu\n", played, together);
    return 0;
}
