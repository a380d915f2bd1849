/*
 * test_threads.c - the list of thread structs: what a fork leaves of it; and who stops the others.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"
#include "../in_child.h"

#include <cmocka.h>

static pthread_barrier_t *there, done;

static void start(void)
{
    MUST(heap_start(&(struct heap_setup){0}) == 0);
    image_start(&(struct image_request){.how = IMAGE_ROOT, .first_thread = 1});
    fork_start(NULL);
    MUST(threads_register() == self && self);
}

static void *stay(void *unused)
{
    (void)unused;
    MUST(threads_register() == self && self);
    pthread_barrier_wait(there);
    pthread_barrier_wait(&done);
    return NULL;
}

static void add_threads(int count)
{
    pthread_t thread;
    static pthread_barrier_t each[4];
    static int calls;
    MUST(calls < 4);
    there = &each[calls++]; /* one is not made anew while a thread leaves it */
    pthread_barrier_init(there, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&thread, NULL, stay, NULL) == 0);
    pthread_barrier_wait(there);
}

static unsigned length_of(const struct thread *t)
{
    unsigned n = 0;
    for (; t; t = t->next)
        n++;
    return n;
}

/* The struct of threads past their end stands in the middle of the list. */
static void orphans_around_limbo(void)
{
    start();
    pthread_barrier_init(&done, NULL, 6);
    add_threads(3);
    MUST(threads_limbo_take()->limbo);
    threads_limbo_drop();
    add_threads(2);
    MUST(length_of(threads_first()) == 7 && threads_alive() == 6);
    MUST(length_of(threads_after_fork(self)) == 5);
    MUST(threads_first() == self && !self->next && threads_alive() == 1);
    MUST(!threads_limbo_take()->bin[0].count && length_of(threads_first()) == 2);
}

static void fork_leaves_others(void **state)
{
    (void)state;
    assert_int_equal(in_child(orphans_around_limbo), 0);
}

/* ---- stopping writers --------------------------------------------------------------------------- */

static void *fork_for_long(void *unused)
{
    MUST(threads_register() == self && self);
    fork_prepare();
    pthread_barrier_wait(there); /* it waits for a lock of libc's that we hold */
    pthread_barrier_wait(&done);
    fork_parent();
    return unused;
}

static void stop_in_time(void)
{
    pthread_t thread;
    pthread_barrier_t both;
    start();
    there = &both;
    pthread_barrier_init(&both, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    MUST(fork_stop_writers() && go_page->epoch == 0);
    fork_let_go();
    MUST(go_page->epoch == fork_epoch());
    MUST(pthread_create(&thread, NULL, fork_for_long, NULL) == 0);
    pthread_barrier_wait(&both);
    alarm(60);
    MUST(!fork_stop_writers());
    pthread_barrier_wait(&done);
    pthread_join(thread, NULL);
    MUST(fork_stop_writers());
    fork_let_go();
}

static void stops_in_time(void **state)
{
    (void)state;
    assert_int_equal(in_child(stop_in_time), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_leaves_others),
        cmocka_unit_test(stops_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
