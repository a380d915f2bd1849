/*
 * test_lock.c - futex locks: mutual exclusion, wake-up of waiters, and the list of a thread's
 * locks.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "../step.h"

#include <cmocka.h>

#define THREADS 4u
#define ROUNDS 20000u

static struct lock lock = LOCK_INIT(RANK_UNITS);
static uint64_t guarded[2]; /* equal, except while the lock is held */
static _Atomic uint32_t wrong;
static struct thread me = {.tid = 3};

static void *count(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        lock_take(&lock);
        wrong += guarded[0] != guarded[1];
        guarded[0]++;
        if (i % 64 == 0)
            sched_yield(); /* so that others arrive while it is held, and sleep */
        guarded[1]++;
        lock_drop(&lock);
    }
    return NULL;
}

static void exclusion(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count, NULL), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(guarded[0], THREADS * ROUNDS);
    assert_int_equal(lock.word, 0);
}

/* A section left by siglongjmp: the locks its thread held are dropped, and no other lock. */
static void abandoned(void **state)
{
    (void)state;
    static struct lock low = LOCK_INIT(RANK_THREADS), high = LOCK_INIT(RANK_META);
    self = &me;
    locks_abandon();
    lock_take(&low);
    lock_take(&lock);
    lock_take(&high);
    assert_int_equal(me.locks, 3);
    lock_drop(&lock); /* not the last taken */
    assert_int_equal(me.locks, 2);
    assert_int_equal(lock.word, 0);
    assert_true(lock_is_held(&low));
    locks_abandon();
    assert_int_equal(me.locks, 0);
    assert_int_equal(low.word | high.word, 0);
    low.word = 8; /* held by another thread; ours was about to take it */
    me.held[me.locks++] = &low;
    locks_abandon();
    assert_int_equal(me.locks, 0);
    assert_int_equal(low.word, 8);
    low.word = 0;
    lock_take(&low);
    lock_reset(&low);
    assert_int_equal(low.word, 0);
    assert_int_equal(me.locks, 0);
    self = NULL;
}

/* ---- left after each instruction ------------------------------------------------------------- */

static struct thread other = {.tid = 4};
static struct lock awaited = LOCK_INIT(RANK_UNITS);
static _Atomic pid_t waiter;
static volatile long steps_left;
static sigjmp_buf back;

static void *wait_for_it(void *unused)
{
    self = &other;
    waiter = (pid_t)syscall(SYS_gettid);
    lock_take(&awaited);
    lock_drop(&awaited);
    return unused;
}

static bool sleeps(pid_t tid)
{
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *f = fopen(path, "r");
    bool asleep = f && fgets(line, sizeof line, f) && strstr(line, ") S ");
    if (f)
        fclose(f);
    return asleep;
}

static void jump_at_last(int signal)
{
    (void)signal;
    if (steps_left-- == 0)
        siglongjmp(back, 1);
}

/*
 * Leave `drop` after its n-th instruction, while a thread waits for the lock; false: it has fewer.
 */
static bool leave_at(void (*drop)(struct lock *), long n)
{
    pthread_t thread;
    struct timespec end;
    waiter = 0;
    lock_take(&awaited);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, NULL), 0);
    while (!(awaited.word & LOCK_CONTENDED) || !sleeps(waiter))
        sched_yield();
    bool left = sigsetjmp(back, 0);
    if (!left) {
        steps_left = n;
        steps_begin();
        drop(&awaited);
        steps_end();
    }
    locks_abandon();
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    assert_int_equal(pthread_timedjoin_np(thread, NULL, &end), 0);
    assert_int_equal(awaited.word | me.locks, 0);
    return left;
}

static void drop_only(struct lock *l)
{
    lock_drop_only(l);
}

static void left_everywhere(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = jump_at_last, .sa_flags = SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
    self = &me;
    for (volatile long n = 0; leave_at(lock_drop, n); n++)
        ;
    for (volatile long n = 0; leave_at(drop_only, n); n++)
        ;
    self = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exclusion), cmocka_unit_test(abandoned),
                                       cmocka_unit_test(left_everywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
