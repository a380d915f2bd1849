/*
 * load.c - a deterministic allocator workload that terminates without input.
 *
 *     load KIND [COUNT] [LIVE]
 *
 * The first and the last byte of every block are written, and checked before the block is freed: an
 * allocator that returns the same bytes twice is detected, not measured.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct block {
    unsigned char *at;
    size_t bytes;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dull >> 16;
}

/* Mostly small: 8 to 128 bytes, one in eight up to 1 KiB, one in 64 up to 8 KiB. */
static size_t some_size(uint64_t *random)
{
    uint64_t r = next_random(random), kind = r % 64;
    return 8 + (r >> 8) % (kind == 0 ? 8192 : kind < 8 ? 1024 : 120);
}

static struct block make(size_t bytes)
{
    struct block b = {malloc(bytes), bytes};
    if (!b.at)
        abort();
    b.at[0] = b.at[bytes - 1] = (unsigned char)bytes;
    return b;
}

static void drop(struct block b)
{
    if (b.at[0] != (unsigned char)b.bytes || b.at[b.bytes - 1] != (unsigned char)b.bytes)
        abort();
    free(b.at);
}

static struct block *make_set(size_t live, uint64_t *random)
{
    struct block *set = calloc(live, sizeof *set);
    if (!set)
        abort();
    for (size_t i = 0; i < live; i++)
        set[i] = make(some_size(random));
    return set;
}

static void churn(struct block *set, size_t live, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++) {
        struct block *b = &set[next_random(random) % live];
        drop(*b);
        *b = make(some_size(random));
    }
}

/* ---- the kinds ------------------------------------------------------------------------------ */

static void hello(size_t count, size_t live)
{
    (void)count;
    (void)live;
    puts("hello");
}

static void pair(size_t count, size_t live)
{
    for (size_t i = 0; i < count; i++)
        drop(make(live));
}

static void replace(size_t count, size_t live)
{
    uint64_t random = 1;
    struct block *set = make_set(live, &random);
    churn(set, live, count, &random);
}

/* 32 to 544 KiB, every page of them used. */
static void large(size_t count, size_t live)
{
    uint64_t random = 1;
    struct block *set = make_set(live, &random);
    for (size_t i = 0; i < count; i++) {
        struct block *b = &set[next_random(&random) % live];
        drop(*b);
        *b = make((32 << 10) + next_random(&random) % (512 << 10));
        for (size_t at = 4096; at < b->bytes - 1; at += 4096)
            b->at[at] = 1;
    }
}

#define THREADS 8u

static struct {
    size_t count, live;
} each;

static void *replace_some(void *number)
{
    uint64_t random = (uintptr_t)number + 1;
    struct block *set = make_set(each.live, &random);
    churn(set, each.live, each.count, &random);
    for (size_t i = 0; i < each.live; i++)
        drop(set[i]);
    free(set);
    return NULL;
}

static void threads(size_t count, size_t live)
{
    pthread_t thread[THREADS];
    each.count = count / THREADS;
    each.live = live / THREADS;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, replace_some, (void *)i) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

#define BATCH 256u
#define BATCHES 64u

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct block block[BATCHES][BATCH];
    size_t made, dropped; /* batches */
    size_t all;
} belt = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void step(size_t *counter)
{
    pthread_mutex_lock(&belt.lock);
    ++*counter;
    pthread_cond_signal(&belt.changed);
    pthread_mutex_unlock(&belt.lock);
}

static void wait_for_batch(void)
{
    pthread_mutex_lock(&belt.lock);
    while (belt.made == belt.dropped)
        pthread_cond_wait(&belt.changed, &belt.lock);
    pthread_mutex_unlock(&belt.lock);
}

static void wait_for_place(void)
{
    pthread_mutex_lock(&belt.lock);
    while (belt.made == belt.dropped + BATCHES)
        pthread_cond_wait(&belt.changed, &belt.lock);
    pthread_mutex_unlock(&belt.lock);
}

static void *consume(void *unused)
{
    (void)unused;
    for (size_t n = 0; n < belt.all; n++) {
        wait_for_batch();
        for (size_t i = 0; i < BATCH; i++)
            drop(belt.block[n % BATCHES][i]);
        step(&belt.dropped);
    }
    return NULL;
}

/* Every block is freed by a thread that did not allocate it. */
static void handover(size_t count, size_t live)
{
    uint64_t random = 1;
    pthread_t consumer;
    (void)live;
    belt.all = count / BATCH;
    if (pthread_create(&consumer, NULL, consume, NULL) != 0)
        abort();
    for (size_t n = 0; n < belt.all; n++) {
        wait_for_place();
        for (size_t i = 0; i < BATCH; i++)
            belt.block[n % BATCHES][i] = make(some_size(&random));
        step(&belt.made);
    }
    pthread_join(consumer, NULL);
}

/* A parent with LIVE MiB forks children that make a few allocations. */
static void forks(size_t count, size_t live)
{
    uint64_t random = 1;
    for (size_t bytes = 0; bytes < live << 20; bytes += 1000)
        memset(make(1000).at, 1, 1000);
    struct block *set = make_set(64, &random);
    for (size_t i = 0; i < count; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            churn(set, 64, 200, &random);
            _exit(7);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
            WEXITSTATUS(status) != 7)
            abort();
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(size_t count, size_t live);
    } kinds[] = {{"hello", hello}, {"pair", pair},       {"replace", replace},
                 {"large", large}, {"threads", threads}, {"handover", handover},
                 {"forks", forks}};
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    size_t live = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].run(count, live);
            return 0;
        }
    return 2;
}
