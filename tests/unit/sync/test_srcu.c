/*
 * test_srcu.c - SRCU read sections: an update waits for all of them, also for one in a handler that
 * has interrupted the beginning or the end of another.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "init.h"
#include "../in_child.h"
#include "../step.h"

#include <cmocka.h>

static volatile long steps_left;
static volatile bool unprotected, came;

/* A reader without a thread struct counts itself, or is nested in one that does. */
static bool is_protected(const struct srcu_reader *t)
{
    if (self)
        return atomic_load(&self->read_epoch) != 0;
    while (t && (t->thread || !t->generation))
        t = t->outer;
    return t != NULL;
}

static void look_at_last(int signal)
{
    struct srcu_reader t;
    (void)signal;
    if (steps_left-- != 0)
        return;
    srcu_read_begin(&t);
    unprotected |= !is_protected(&t);
    srcu_read_end(&t);
    came = true;
}

/* A handler enters a read section after the n-th instruction; false: there are fewer. */
static __attribute__((noinline)) bool look_at(long n)
{
    struct srcu_reader t;
    came = false;
    steps_left = n;
    steps_begin();
    srcu_read_begin(&t);
    srcu_read_end(&t);
    steps_end();
    return came;
}

/* No reader is registered any more: otherwise this would block. */
static void no_reader_is_inside(void)
{
    MUST(srcu_innermost == NULL && (!self || atomic_load(&self->read_epoch) == 0));
    MUST(srcu_update_begin() == 0);
    srcu_synchronize();
    srcu_update_end();
}

static void start(void)
{
    const struct sigaction action = {.sa_handler = look_at_last, .sa_flags = SA_NODEFER};
    static char *envp[] = {"RTCHECK_TEST_WITHOUT=run_file", NULL};
    struct section s;
    environ = envp;
    MUST(init_start() && section_begin(&s));
    section_end(&s);
    srcu_constructed();
    MUST(sigaction(SIGTRAP, &action, NULL) == 0);
}

static void registered(void)
{
    start();
    for (long n = 0; look_at(n); n++)
        MUST(!unprotected);
    no_reader_is_inside();
}

static void *past_its_end(void *n)
{
    self_state = SELF_GONE;
    if (look_at(*(long *)n))
        *(long *)n += 7;
    else
        *(long *)n = -1;
    return NULL;
}

static void counted(void)
{
    start();
    for (long n = 0; n >= 0;) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, past_its_end, &n) == 0 &&
             pthread_join(thread, NULL) == 0);
        MUST(!unprotected);
        no_reader_is_inside();
    }
}

/*
 * An outer reader that is entered but not registered protects nothing: the inner one must register.
 */
static __attribute__((noinline)) void look_inside(void)
{
    struct srcu_reader t;
    srcu_read_begin(&t);
    MUST(is_protected(&t));
    srcu_read_end(&t);
}

static void entered(void)
{
    start();
    struct srcu_reader outer = {.thread = self};
    srcu_set_innermost(&outer);
    look_inside();
    srcu_read_end(&outer);
    no_reader_is_inside();
}

static void test_registered(void **state)
{
    (void)state;
    assert_int_equal(in_child(registered), 0);
}

static void test_counted(void **state)
{
    (void)state;
    assert_int_equal(in_child(counted), 0);
}

static void test_entered(void **state)
{
    (void)state;
    assert_int_equal(in_child(entered), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_registered),
                                       cmocka_unit_test(test_counted),
                                       cmocka_unit_test(test_entered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
