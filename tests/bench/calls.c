/*
 * calls.c - one kind of operation, many times, at the bottom of a call stack of a given depth.
 *
 *     calls time KIND DEPTH THREADS MILLISECONDS     prints ns per round: the least, the median
 *     calls count KIND DEPTH COUNT                   for an instruction counter, see below
 *
 * DEPTH is how many frames malloc's caller has, itself and those of the thread's start included.
 * Functions of different frame sizes call each other in turn.  KIND "levels" calls malloc and free
 * through four more functions each time, by two paths in turn: the four innermost frames change
 * from one operation to the next (they are part of DEPTH where it is large enough).
 *
 * time: reps of about 100 microseconds by the thread's own clock, shorter than a time slice, so
 * that the least of many is undisturbed; with several threads their mean.
 *
 * count: warms up, then runs COUNT rounds and 2 COUNT rounds, with a call of mark() before, between
 * and after.  Their difference is the cost of COUNT rounds without the surrounding frame.
 *
 * rtc-build: +events.c
 */
#include "events.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
/* The compiler must assume that the block is read. */
#define USE(p) __asm__ volatile("" : : "r"(p) : "memory")

static void *made(void *p)
{
    if (!p)
        abort();
    USE(p);
    return p;
}

/* ---- the kinds ------------------------------------------------------------------------------ */

static NOINLINE void pair(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(made(malloc(64)));
}

#define LEVEL(name, next, bytes)    \
    static NOINLINE void name(void) \
    {                               \
        volatile char room[bytes];  \
        room[0] = 1;                \
        next;                       \
        room[bytes - 1] = room[0];  \
    }

LEVEL(left4, free(made(malloc(64))), 24)
LEVEL(left3, left4(), 40)
LEVEL(left2, left3(), 8)
LEVEL(left1, left2(), 88)
LEVEL(right4, free(made(malloc(64))), 56)
LEVEL(right3, right4(), 8)
LEVEL(right2, right3(), 104)
LEVEL(right1, right2(), 24)

static NOINLINE void levels(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        left1();
        right1();
    }
}

/* malloc alone, of blocks that are all kept. */
static NOINLINE void keep(size_t count)
{
    for (size_t i = 0; i < count; i++)
        made(malloc(64));
}

static NOINLINE void zeroed(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(made(calloc(4, 16)));
}

/* 16 bytes to 16 KiB, doubled: one round is the ten steps. */
static NOINLINE void grow(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *p = NULL;
        for (size_t bytes = 16; bytes <= 16384; bytes *= 2)
            p = made(realloc(p, bytes));
        free(p);
    }
}

static NOINLINE void aligned(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(made(memalign(256, 100)));
}

static NOINLINE void large(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(made(malloc(300000)));
}

/* 1,000 blocks, then free them: more than a thread's cache holds.  A round is one block. */
static NOINLINE void batch(size_t count)
{
    static void *block[1000];
    const size_t all = sizeof block / sizeof *block;
    for (size_t i = 0; i < count; i += all) {
        for (size_t k = 0; k < all; k++)
            block[k] = made(malloc(200));
        for (size_t k = 0; k < all; k++)
            free(block[k]);
    }
}

static void *one_of_each(void *unused)
{
    for (size_t bytes = 16; bytes <= 1024; bytes *= 2)
        free(made(malloc(bytes)));
    return unused;
}

/* A round is a thread that finds its caches empty. */
static NOINLINE void thread(size_t count)
{
    pthread_t id;
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&id, NULL, one_of_each, NULL) != 0 || pthread_join(id, NULL) != 0)
            abort();
}

/* ---- time ----------------------------------------------------------------------------------- */

#define REPS_MAX 20000u
#define REP_NS 100000.0

struct job {
    void (*kind)(size_t count);
    size_t steps; /* functions between the thread's start and the kind */
    size_t count; /* 0: take the time */
    double budget_ns;
    double least, median;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static inline void take_time(struct job *job)
{
    static _Thread_local double each[REPS_MAX];
    const size_t few = 512;
    double start, end, first;
    size_t n = 0, count;

    job->kind(few);
    start = now();
    job->kind(few);
    first = now();
    count = (size_t)(REP_NS / ((first - start) / (double)few));
    count = (count < 2 ? 2 : count) / 2 * 2;
    for (start = end = first; n < REPS_MAX && end - first < job->budget_ns; n++, start = now()) {
        job->kind(count);
        end = now();
        each[n] = (end - start) / (double)count;
    }
    qsort(each, n, sizeof *each, by_size);
    job->least = each[0];
    job->median = each[n / 2];
}

/* ---- count ---------------------------------------------------------------------------------- */

static NOINLINE void mark(void)
{
    __asm__ volatile("");
}

static inline void count_twice(const struct job *job)
{
    job->kind(job->count);
    mark();
    job->kind(job->count);
    mark();
    job->kind(2 * job->count);
    mark();
}

/* ---- the stack ------------------------------------------------------------------------------ */

static void go_down(struct job *job, size_t left);

#define STEP(name, bytes)                                   \
    static NOINLINE void name(struct job *job, size_t left) \
    {                                                       \
        volatile char room[bytes];                          \
        room[0] = 1;                                        \
        go_down(job, left);                                 \
        room[bytes - 1] = room[0];                          \
    }

STEP(step0, 8)
STEP(step1, 120)
STEP(step2, 40)
STEP(step3, 8)
STEP(step4, 264)
STEP(step5, 24)
STEP(step6, 72)

/* Inlined, so that a step is one frame. */
static inline __attribute__((always_inline)) void go_down(struct job *job, size_t left)
{
    static void (*const step[])(struct job *, size_t) = {step0, step1, step2, step3,
                                                         step4, step5, step6};
    if (left)
        step[left % (sizeof step / sizeof *step)](job, left - 1);
    else if (job->count)
        count_twice(job);
    else
        take_time(job);
}

static void *start(void *job)
{
    go_down(job, ((struct job *)job)->steps);
    return NULL;
}

/* ---- the command ---------------------------------------------------------------------------- */

#define THREADS_MAX 64u
#define FRAMES_AROUND 4u /* clone3, start_thread, start, the kind */

static void run(struct job *all, size_t threads)
{
    pthread_t id[THREADS_MAX];
    for (size_t i = 0; i < threads; i++)
        if (pthread_create(&id[i], NULL, start, &all[i]) != 0)
            abort();
    for (size_t i = 0; i < threads; i++)
        pthread_join(id[i], NULL);
}

static void print(const struct job *all, size_t threads)
{
    double least = 0, median = 0;
    for (size_t i = 0; i < threads; i++) {
        least += all[i].least / (double)threads;
        median += all[i].median / (double)threads;
    }
    printf("%.3f %.3f\n", least, median);
}

static const struct {
    const char *name;
    void (*run)(size_t count);
    size_t frames; /* below `run` */
} kinds[] = {{"pair", pair, 0},         {"levels", levels, 4},   {"keep", keep, 0},
             {"calloc", zeroed, 0},     {"grow", grow, 0},       {"aligned", aligned, 0},
             {"large", large, 0},       {"batch", batch, 0},     {"thread", thread, 0},
             {"map", map_and_unmap, 0}, {"discard", discard, 0}, {"nothing", discard_nothing, 0},
             {"break", query_break, 0}};

static int usage(void)
{
    fputs("usage: calls time KIND DEPTH THREADS MILLISECONDS | calls count KIND DEPTH COUNT\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static struct job all[THREADS_MAX];
    struct job job = {0};
    int timed = argc == 6 && strcmp(argv[1], "time") == 0;
    if (!timed && !(argc == 5 && strcmp(argv[1], "count") == 0))
        return usage();
    size_t threads = timed ? strtoul(argv[4], NULL, 10) : 1, frames = FRAMES_AROUND;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[2], kinds[i].name) == 0) {
            job.kind = kinds[i].run;
            frames += kinds[i].frames;
        }
    size_t depth = strtoul(argv[3], NULL, 10);
    job.steps = depth > frames ? depth - frames : 0;
    job.count = timed ? 0 : strtoul(argv[4], NULL, 10);
    job.budget_ns = timed ? strtod(argv[5], NULL) * 1e6 : 0;
    if (!job.kind || !threads || threads > THREADS_MAX || (!timed && !job.count))
        return usage();
    for (size_t i = 0; i < threads; i++)
        all[i] = job;
    events_begin();
    run(all, threads);
    events_end();
    if (timed)
        print(all, threads);
    return 0;
}
