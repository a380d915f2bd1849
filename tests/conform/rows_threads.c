/* rows_threads.c - threads that allocate, free each other's blocks, start and end. */
#include "rows.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8 };

/* Runs body in so many threads at once; each gets its number. */
static void run_threads(int count, void *(*body)(void *))
{
    pthread_t threads[64];
    for (int i = 0; i < count; i++)
        expect(pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) == 0, "no thread %d",
               i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void *churn(void *argument)
{
    enum { BLOCKS = 100, STEPS = 10000 };
    struct {
        char *p;
        size_t n;
    } blocks[BLOCKS] = {{0}};
    uint32_t seed = (uint32_t)(intptr_t)argument + 1, state = seed, damaged = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = next_random(&state) % BLOCKS;
        damaged += blocks[i].p && !pattern_holds(blocks[i].p, blocks[i].n, seed * BLOCKS + i);
        free(blocks[i].p);
        blocks[i].n = 1 + next_random(&state) % (step % 100 == 0 ? 100000 : 400);
        blocks[i].p = malloc(blocks[i].n);
        pattern_fill(blocks[i].p, blocks[i].n, seed * BLOCKS + i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        free(blocks[i].p);
    expect(damaged == 0, "thread %u: %u blocks damaged", seed, damaged);
    return NULL;
}

void row_threads_churn(void)
{
    run_threads(THREADS, churn);
}

/* A ring between two threads: one allocates, the other checks and frees. */
struct ring {
    _Atomic(char *) places[64];
};

enum { PASSED = 20000 };

static struct ring rings[4];

static void *produce(void *argument)
{
    struct ring *ring = argument;
    for (uint32_t i = 0; i < PASSED; i++) {
        size_t n = 8 + i * 7 % (i % 500 == 0 ? 70000 : 300);
        char *p = malloc(n), *none = NULL;
        memcpy(p, &n, sizeof n);
        pattern_fill(p + 8, n - 8, i);
        while (!atomic_compare_exchange_weak(&ring->places[i % 64], &none, p)) {
            none = NULL;
            sched_yield();
        }
    }
    return NULL;
}

static void *consume(void *argument)
{
    struct ring *ring = argument;
    uint32_t damaged = 0;
    for (uint32_t i = 0; i < PASSED; i++) {
        char *p;
        while (!(p = atomic_exchange(&ring->places[i % 64], NULL)))
            sched_yield();
        size_t n;
        memcpy(&n, p, sizeof n);
        damaged += !pattern_holds(p + 8, n - 8, i);
        free(p);
    }
    expect(damaged == 0, "%u blocks damaged on the way", damaged);
    return NULL;
}

static void *pass_on(void *argument)
{
    int i = (int)(intptr_t)argument;
    return i % 2 ? produce(&rings[i / 2]) : consume(&rings[i / 2]);
}

void row_threads_free_across(void)
{
    run_threads(8, pass_on);
}

static char *left_blocks[64][50];

static void *leave_blocks(void *argument)
{
    intptr_t thread = (intptr_t)argument;
    for (uint32_t i = 0; i < 50; i++) {
        size_t n = i % 10 ? 10 + i * 40 : 100000;
        left_blocks[thread][i] = malloc(n);
        pattern_fill(left_blocks[thread][i], n, i + (uint32_t)thread);
    }
    return NULL;
}

void row_threads_blocks_outlive_owner(void)
{
    run_threads(64, leave_blocks);
    for (uint32_t thread = 0; thread < 64; thread++)
        for (uint32_t i = 0; i < 50; i++) {
            char *p = left_blocks[thread][i];
            size_t n = i % 10 ? 10 + i * 40 : 100000;
            expect(pattern_holds(p, n, i + thread), "block %u of thread %u damaged", i, thread);
            if (i % 3 == 0)
                p = realloc(p, n + 100);
            free(p);
        }
}

static void *resize_anothers(void *argument)
{
    intptr_t thread = (intptr_t)argument;
    for (uint32_t i = 0; i < 50; i++) {
        size_t n = i % 10 ? 10 + i * 40 : 100000;
        char *p = realloc(left_blocks[thread][i], n * 2);
        expect(p && pattern_holds(p, n, i + (uint32_t)thread), "block %u lost its contents", i);
        free(p);
    }
    return NULL;
}

void row_threads_realloc_across(void)
{
    run_threads(16, leave_blocks);
    run_threads(16, resize_anothers);
}

static void *touch_heap(void *argument)
{
    char *p = malloc(100), *q = calloc(1, 3000);
    expect(p && q && is_zeroed(q, 3000), "no blocks");
    free(argument);
    free(q);
    return p;
}

/* Each thread ends while another one holds a block of it. */
void row_threads_short_lived(void)
{
    void *block = NULL;
    for (int i = 0; i < rounds(1000); i++) {
        pthread_t thread;
        expect(pthread_create(&thread, NULL, touch_heap, block) == 0, "no thread %d", i);
        pthread_join(thread, &block);
    }
    free(block);
}

static _Atomic int detached_done;

static void *work_detached(void *argument)
{
    free(touch_heap(argument));
    atomic_fetch_add(&detached_done, 1);
    return NULL;
}

void row_threads_detached(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        expect(pthread_create(&thread, &attributes, work_detached, malloc(50)) == 0, "no thread");
        while (atomic_load(&detached_done) <= i)
            sched_yield();
    }
    pthread_attr_destroy(&attributes);
}

static pthread_barrier_t line_up;
static char *same_moment[THREADS][500];

static void *allocate_at_once(void *argument)
{
    intptr_t thread = (intptr_t)argument;
    pthread_barrier_wait(&line_up);
    for (uint32_t i = 0; i < 500; i++)
        if ((same_moment[thread][i] = malloc(48)))
            pattern_fill(same_moment[thread][i], 48, (uint32_t)thread * 500 + i);
    return NULL;
}

void row_threads_same_size_at_once(void)
{
    pthread_barrier_init(&line_up, NULL, THREADS);
    run_threads(THREADS, allocate_at_once);
    for (uint32_t thread = 0; thread < THREADS; thread++)
        for (uint32_t i = 0; i < 500; i++) {
            char *p = same_moment[thread][i];
            expect(p && pattern_holds(p, 48, thread * 500 + i), "given to two threads");
            free(p);
        }
    pthread_barrier_destroy(&line_up);
}

static void *large_blocks(void *argument)
{
    uint32_t seed = (uint32_t)(intptr_t)argument + 1;
    for (uint32_t i = 0; i < 200; i++) {
        size_t n = 100000 + (i * seed * 7919) % 2000000;
        char *p = i % 3 ? malloc(n) : memalign(1u << 16, n);
        expect(p != NULL, "no block of %zu bytes", n);
        if (p) {
            memset(p, (int)seed, 64);
            p[n - 1] = (char)seed;
            expect(p[0] == (char)seed && p[63] == (char)seed, "block of %zu bytes damaged", n);
        }
        free(p);
    }
    return NULL;
}

void row_threads_large_blocks(void)
{
    run_threads(THREADS, large_blocks);
}

/* ---- destructors of thread-specific data ---------------------------------------------------- */

static pthread_key_t late_key;
static _Atomic int late_calls;

static void late_work(void *block)
{
    void *p = malloc(200), *q = calloc(3, 1000);
    expect(block && pattern_holds(block, 40, 4), "thread's block damaged in the destructor");
    pattern_fill(p, 200, 1);
    expect(is_zeroed(q, 3000), "calloc dirty in the destructor");
    p = realloc(p, 5000);
    expect(p && pattern_holds(p, 200, 1), "realloc lost contents in the destructor");
    free(block);
    free(p);
    free(q);
    atomic_fetch_add(&late_calls, 1);
}

static void *with_late_work(void *argument)
{
    (void)argument;
    void *block = malloc(40);
    pattern_fill(block, 40, 4);
    pthread_setspecific(late_key, block);
    return NULL;
}

void row_thread_destructor_allocates(void)
{
    late_calls = 0;
    pthread_key_create(&late_key, late_work);
    for (int i = 0; i < 10; i++)
        run_threads(THREADS, with_late_work);
    pthread_key_delete(late_key);
    print_result("%d destructors ran", late_calls);
}

/* Set itself again until libc stops: its last round runs after every other destructor. */
static void late_work_again(void *block)
{
    free(block);
    block = malloc(100);
    atomic_fetch_add(&late_calls, 1);
    pthread_setspecific(late_key, block);
    if (late_calls % 4 == 0) {
        pthread_setspecific(late_key, NULL);
        free(block);
    }
}

static void *with_late_work_again(void *argument)
{
    (void)argument;
    pthread_setspecific(late_key, malloc(10));
    return NULL;
}

void row_thread_destructor_again_and_again(void)
{
    late_calls = 0;
    pthread_key_create(&late_key, late_work_again);
    for (int i = 0; i < 50; i++)
        run_threads(1, with_late_work_again);
    pthread_key_delete(late_key);
    print_result("%d destructor calls", late_calls);
}

/* The only thing a thread ever does with the heap happens in its destructor. */
static void first_work(void *value)
{
    (void)value;
    void *p = malloc(500);
    expect_block(p, 500, 16);
    free(p);
}

static void *without_heap(void *argument)
{
    pthread_setspecific(late_key, &late_key);
    return argument;
}

void row_thread_destructor_allocates_first(void)
{
    pthread_key_create(&late_key, first_work);
    for (int i = 0; i < 20; i++)
        run_threads(4, without_heap);
    pthread_key_delete(late_key);
}

static void leave_forever(void *block)
{
    left_blocks[0][1] = malloc(77);
    free(block);
}

static void *with_leaving(void *argument)
{
    pthread_setspecific(late_key, malloc(33));
    return argument;
}

void row_thread_destructor_block_outlives(void)
{
    pthread_key_create(&late_key, leave_forever);
    for (int i = 0; i < 50; i++) {
        run_threads(1, with_leaving);
        expect_block(left_blocks[0][1], 77, 16);
        free(left_blocks[0][1]);
    }
    pthread_key_delete(late_key);
}

/* ---- how threads end ------------------------------------------------------------------------ */

static void free_it(void *block)
{
    free(block);
    atomic_fetch_add(&late_calls, 1);
}

static void *wait_to_be_cancelled(void *argument)
{
    _Atomic int *started = argument;
    void *block = malloc(1000);
    pthread_cleanup_push(free_it, block);
    atomic_fetch_add(started, 1);
    for (;;) {
        free(malloc(100));
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

void row_thread_cancelled(void)
{
    static _Atomic int started;
    late_calls = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, wait_to_be_cancelled, &started);
        while (atomic_load(&started) <= i)
            sched_yield();
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    print_result("%d clean-ups ran", late_calls);
}

static void *leave_by_pthread_exit(void *argument)
{
    (void)argument;
    pthread_exit(malloc(123));
}

void row_thread_leaves_by_pthread_exit(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *block = NULL;
        pthread_create(&thread, NULL, leave_by_pthread_exit, NULL);
        pthread_join(thread, &block);
        expect_block(block, 123, 16);
        free(block);
    }
}

/* ---- stacks inside the heap ----------------------------------------------------------------- */

void row_thread_on_heap_stack(void)
{
    enum { STACK = 512 * 1024 };
    for (int i = 0; i < 10; i++) {
        void *stack = memalign(4096, STACK);
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        expect(pthread_attr_setstack(&attributes, stack, STACK) == 0, "stack refused");
        expect(pthread_create(&thread, &attributes, churn, (void *)(intptr_t)i) == 0, "no thread");
        pthread_join(thread, NULL);
        pthread_attr_destroy(&attributes);
        free(stack);
    }
}

/* ---- mallinfo2 while threads start and end --------------------------------------------------- */

enum { ASKED_THREADS = 60 };

static struct {
    _Atomic bool stop;
    _Atomic int asked;
    pthread_barrier_t all_there;
} asking;

static void *query_repeatedly(void *argument)
{
    (void)argument;
    while (!atomic_load(&asking.stop)) {
        (void)mallinfo2();
        atomic_fetch_add(&asking.asked, 1);
    }
    return NULL;
}

static void *begin_and_stay(void *argument)
{
    (void)argument;
    free(malloc(10));
    pthread_barrier_wait(&asking.all_there);
    return NULL;
}

void row_mallinfo2_while_threads_begin(void)
{
    pthread_t asker;
    asking.stop = false;
    asking.asked = 0;
    pthread_barrier_init(&asking.all_there, NULL, ASKED_THREADS);
    pthread_create(&asker, NULL, query_repeatedly, NULL);
    while (asking.asked == 0)
        sched_yield();
    run_threads(ASKED_THREADS, begin_and_stay);
    asking.stop = true;
    pthread_join(asker, NULL);
    pthread_barrier_destroy(&asking.all_there);
}

enum { LEFT_BLOCKS = 3000, LEFT_BYTES = 1000 };

static void *allocate_and_end(void *argument)
{
    char **blocks = argument;
    for (int i = 0; i < LEFT_BLOCKS; i++)
        blocks[i] = malloc(LEFT_BYTES);
    return NULL;
}

static void free_all(char **blocks)
{
    for (int i = 0; i < LEFT_BLOCKS; i++)
        free(blocks[i]);
}

void row_mallinfo2_counts_blocks_of_ended_threads(void)
{
    static char *blocks[2][LEFT_BLOCKS];
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, allocate_and_end, blocks[i]);
        pthread_join(thread, NULL);
    }
    size_t during = mallinfo2().uordblks;
    free_all(blocks[0]);
    free_all(blocks[1]);
    size_t after = mallinfo2().uordblks;
    expect(during - before >= 2 * LEFT_BLOCKS * LEFT_BYTES, "%zu bytes before, %zu with the blocks",
           before, during);
    expect(during - after >= 2 * LEFT_BLOCKS * LEFT_BYTES, "%zu bytes with the blocks, %zu after",
           during, after);
}

static int query_in_child(void *argument)
{
    char **blocks = argument;
    free(malloc(10));
    size_t before = mallinfo2().uordblks;
    free_all(blocks);
    size_t after = mallinfo2().uordblks;
    expect(before - after >= LEFT_BLOCKS * LEFT_BYTES, "%zu bytes with the blocks, %zu after",
           before, after);
    return 0;
}

void row_mallinfo2_counts_inherited_blocks(void)
{
    static char *blocks[LEFT_BLOCKS];
    allocate_and_end(blocks);
    print_child("child", query_in_child, blocks);
    free_all(blocks);
}
