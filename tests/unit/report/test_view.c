/*
 * test_view.c - files that are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "collected.h"

/* ---- files that are refused ---------------------------------------------------------------- */

static int open_error(const struct build *b, uint64_t bytes, char err[REPORT_ERROR_BYTES])
{
    struct report *r = NULL;
    int code;

    unlink("run.pool");
    build_file(b, "run.pool");
    assert_int_equal(truncate("run.pool", (off_t)bytes), 0);
    code = report_open(&r, "run.pool", err);
    if (!code)
        report_close(r);
    return code;
}

static void test_refused_files(void **state)
{
    struct build b = build_begin();
    char err[REPORT_ERROR_BYTES];

    (void)state;
    assert_int_equal(open_error(&b, b.bytes, err), 0);
    assert_int_equal(open_error(&b, b.bytes - 1, err), -EBADMSG);
    assert_string_equal(err, "run.pool is damaged: file is cut, or longer than any at offset 0x18");
    assert_int_equal(open_error(&b, 100, err), -EBADMSG);
    assert_string_equal(err, "run.pool is not a run file");
    assert_int_equal(open_error(&b, 0, err), -EBADMSG);
    build_run(&b)->version_major = 99;
    assert_int_equal(open_error(&b, b.bytes, err), -EPROTO);
    assert_string_equal(err, "run.pool is a run file of version 99, this rtcheck reads version 1");
    build_run(&b)->magic = 0;
    assert_int_equal(open_error(&b, b.bytes, err), -EBADMSG);
    assert_string_equal(err, "run.pool is not a run file");
    build_end(&b);
}

static void test_things_that_are_no_files(void **state)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;

    (void)state;
    unlink("pipe");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(report_open(&r, "pipe", err), -EBADMSG); /* and it does not block */
    assert_string_equal(err, "pipe is not a run file");
    assert_int_equal(report_open(&r, ".", err), -EBADMSG);
    assert_int_equal(report_open(&r, "none", err), -ENOENT);
    assert_string_equal(err, "none cannot be opened: No such file or directory");
}

static void test_anothers_file(void **state)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    uid_t was = geteuid();

    (void)state;
    if (was == 0)
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(report_open(&r, "/etc/passwd", err), -EACCES);
    assert_string_equal(err, "/etc/passwd belongs to user 0, not to you");
    if (was == 0)
        assert_int_equal(seteuid(was), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_things_that_are_no_files),
        cmocka_unit_test(test_anothers_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
