/*
 * test_lock.c - one holder at a time, waiters that wake up, and the list of what a thread holds.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"

#include <cmocka.h>

#define THREADS 4u
#define ROUNDS 20000u

static struct lock lock = LOCK_INIT(RANK_UNITS);
static uint64_t guarded[2]; /* always equal, but inside the lock */
static _Atomic uint32_t wrong;

static void *count(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        lock_take(&lock);
        wrong += guarded[0] != guarded[1];
        guarded[0]++;
        if (i % 64 == 0)
            sched_yield(); /* so that others come while it is held, and sleep */
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

/* A section left by siglongjmp: what its thread held is dropped, and nothing else. */
static void abandoned(void **state)
{
    (void)state;
    static struct thread me = {.tid = 3};
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
    assert_true(lock_is_mine(&low));
    locks_abandon();
    assert_int_equal(me.locks, 0);
    assert_int_equal(low.word | high.word, 0);
    low.word = 8; /* another's, which was to be taken */
    me.held[me.locks++] = &low;
    locks_abandon();
    assert_int_equal(me.locks, 0);
    assert_int_equal(low.word, 8);
    low.word = 0;
    lock_take(&low);
    lock_reset(&low);
    assert_int_equal(low.word, 0);
    self = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exclusion), cmocka_unit_test(abandoned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
