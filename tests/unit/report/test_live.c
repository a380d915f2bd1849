/*
 * test_live.c - errors of a running program: each gets one line, also if it is recorded late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_image.h"

/* Errors with these times, recorded so far. Returns the lines that are printed now. */
static char *lines_of_run(struct live *l, const uint64_t *times, uint32_t count)
{
    struct build b = build_begin();
    struct made_image i = made_image(&b, 1, 0, "/usr/bin/prog1");
    struct segment *errors = build_records(&b, i.area, SEGMENT_ERRORS, 20);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int fd;

    assert_non_null(out);
    for (uint32_t k = 0; k < count; k++)
        build_error(errors, ERROR_DUF, ENTRY_FREE, deep(i.depot, (uint32_t)times[k] % 20 + 1))
            ->time_ns = times[k];
    build_run(&b)->error_sites = count;
    fd = build_fd(&b);
    report_live(l, fd, out, &(struct print_options){.all = true});
    close(fd);
    build_end(&b);
    fclose(out);
    return text;
}

static uint32_t lines_printed(struct live *l, const uint64_t *times, uint32_t count)
{
    char *text = lines_of_run(l, times, count);
    uint32_t lines = 0;

    for (const char *at = text; (at = strstr(at, "rtcheck: 2000000001: duf-")); at++)
        lines++;
    free(text);
    return lines;
}

static void test_each_once(void **state)
{
    const uint64_t times[] = {7, 9, 8, 9 + 40};
    struct live l = {0};

    (void)state;
    assert_int_equal(lines_printed(&l, times, 0), 0);
    assert_int_equal(lines_printed(&l, times, 2), 2);
    assert_int_equal(lines_printed(&l, times, 2), 0);
    assert_int_equal(lines_printed(&l, times, 3), 1); /* older than the last line */
    assert_int_equal(lines_printed(&l, times, 4), 0); /* at the place of one before */
}

static void test_most(void **state)
{
    const uint64_t times[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct live l = {0};
    char *text;

    (void)state;
    assert_int_equal(lines_printed(&l, times, 10), 10);
    text = lines_of_run(&l, times, 11);
    assert_string_equal(text, "rtcheck: there are more: at the end\n");
    free(text);
    text = lines_of_run(&l, times, 12);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),
        cmocka_unit_test(test_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
