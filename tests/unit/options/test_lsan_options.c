/*
 * test_lsan_options.c - LSAN_OPTIONS as written by sanitizers and CTest, and the process it is read
 * from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"

#include <cmocka.h> /* last: its fail() differs from ours */

static void must_be(const char *text, const char *want)
{
    char value[32] = "?";
    bool found = lsan_option(text, "log_path", value, sizeof value);

    if (found != (want != NULL) || (want && strcmp(value, want) != 0))
        fail_msg("'%s' is '%s', not '%s'", text, found ? value : "none", want ? want : "none");
}

static void grammar(void **state)
{
    (void)state;
    must_be(NULL, NULL);
    must_be("", NULL);
    must_be("log_path=/tmp/log", "/tmp/log");
    must_be("log_path='/a b/c:d':suppressions=/s", "/a b/c:d"); /* CTest's */
    must_be("suppressions=/s:log_path=\"/a\"", "/a");
    must_be("verbosity=1,log_path=/a", "/a");
    must_be("verbosity=1 log_path=/a\tx=y", "/a");
    must_be("log_path=/a:log_path=/b", "/b");
    must_be("log_path=", "");
    must_be("log_path", NULL);
    must_be("log_path:log_path=/a", "/a");
    must_be("xlog_path=/a:log_paths=/b", NULL);
    must_be("suppressions='log_path=/a'", NULL);
    must_be("log_path='/a", "'/a"); /* not closed: not a quote */
    must_be("log_path=0123456789012345678901234567890", "0123456789012345678901234567890");
    must_be("log_path=/a:log_path=01234567890123456789012345678901", "/a");
}

/* A process has changed its LSAN_OPTIONS since its start: the initial value counts. */
static void of_a_process(void **state)
{
    char value[32] = "";
    int ends[2], status;
    pid_t child;
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        execle("/bin/sh", "sh", "-c",
               "LSAN_OPTIONS=log_path=/later; export LSAN_OPTIONS; echo; kill -STOP $$", NULL,
               (char *[]){(char[]){"A=1"}, (char[]){"LSAN_OPTIONS=log_path=/first"}, NULL});
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    setenv("LSAN_OPTIONS", "log_path=/ours", 1);
    assert_true(lsan_option_of_process(child, "log_path", value, sizeof value));
    assert_string_equal(value, "/first");
    assert_false(lsan_option_of_process(child, "exitcode", value, sizeof value));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(lsan_option_of_process(child, "log_path", value, sizeof value)); /* gone */
    assert_string_equal(value, "/ours");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammar),
        cmocka_unit_test(of_a_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
