/*
 * test_probe.c - the test switches of the conformance tests: a feature is disabled only by its
 * complete name, and the n-th system call fails, once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "os.h"
#include "../in_child.h"

#include <cmocka.h>

static const char *const names[] = {
#define FEATURE(id, name) name,
#include "format/features.def"
#undef FEATURE
};

static char variable[256];

static void start_with(const char *text)
{
    char *envp[] = {(char[]){"A=1"}, variable, (char[]){"RTCHECK_TEST_WITHOUTX=dontdump"}, NULL};
    snprintf(variable, sizeof variable, "%s", text);
    os_start(envp);
}

static void nothing_lost(void)
{
    os_start(NULL);
    MUST(os_missing_features() == 0);
    start_with("RTCHECK_TEST_WITHOUT=");
    start_with("RTCHECK_TEST_WITHOUT=populat,populates,xpopulate,POPULATE, populate,,");
    MUST(os_missing_features() == 0);
    MUST(os_barrier_ready());
}

static size_t feature; /* for one_lost */
static const char *shape;

static void one_lost(void)
{
    char text[256] = "RTCHECK_TEST_WITHOUT=";
    size_t n = text_length(text);
    snprintf(text + n, sizeof text - n, shape, names[feature]);
    start_with(text);
    MUST(os_missing_features() == 1ull << feature);
    for (size_t f = 0; f < OS_FEATURE_COUNT; f++)
        MUST(os_has((enum os_feature)f) == (f != feature));
}

static void all_lost(void)
{
    for (size_t f = 0; f < OS_FEATURE_COUNT; f++)
        os_mark_missing((enum os_feature)f);
    MUST(os_missing_features() == (1ull << OS_FEATURE_COUNT) - 1);
    MUST(!os_barrier_ready());
    os_barrier(); /* is a no-op then */
}

static void without(void **state)
{
    (void)state;
    static const char *const shapes[] = {"%s", "other,%s", "%s,other", "%s,%1$s"};
    assert_int_equal(in_child(nothing_lost), 0);
    assert_int_equal(in_child(all_lost), 0);
    for (feature = 0; feature < OS_FEATURE_COUNT; feature++)
        for (size_t i = 0; i < countof(shapes); i++) {
            shape = shapes[i];
            assert_int_equal(in_child(one_lost), 0);
        }
}

static void third_call(void)
{
    os_mark_missing(OS_MEMBARRIER); /* so that starting makes no system call */
    start_with("RTCHECK_TEST_FAIL=3");
    MUST(os_ppid() == (uint32_t)getppid());
    MUST(os_ppid() == (uint32_t)getppid());
    MUST(os_ppid() == (uint32_t)-1); /* EPERM */
    for (int i = 0; i < 10; i++)
        MUST(os_ppid() == (uint32_t)getppid());
}

/* A call that the kernel cannot refuse is repeated. */
static void call_again(void)
{
    os_mark_missing(OS_MEMBARRIER);
    start_with("RTCHECK_TEST_FAIL=1");
    MUST(os_pid() == (uint32_t)getpid());
}

static void no_call(void)
{
    start_with("RTCHECK_TEST_FAIL=x");
    start_with("RTCHECK_TEST_FAIL=0");
    for (int i = 0; i < 10; i++)
        MUST(os_ppid() == (uint32_t)getppid());
}

static void failing(void **state)
{
    (void)state;
    assert_int_equal(in_child(third_call), 0);
    assert_int_equal(in_child(call_again), 0);
    assert_int_equal(in_child(no_call), 0);
}

static void in_sandbox(void)
{
    char name[16] = "before";
    MUST(!os_sandboxed() && !os_on_alternate_stack());
    MUST(os_process_gone(0x3fffffff)); /* larger than any pid */
    MUST(!os_process_gone((uint32_t)getpid()));
    os_enter_sandbox();
    MUST(os_sandboxed());
    MUST(os_on_alternate_stack());      /* it cannot be determined: yes */
    MUST(!os_process_gone(0x3fffffff)); /* in doubt: no */
    os_thread_name(name);
    MUST(name[0] == '\0');
}

static void sandbox(void **state)
{
    (void)state;
    assert_int_equal(in_child(in_sandbox), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without),
        cmocka_unit_test(failing),
        cmocka_unit_test(sandbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
