/*
 * test_checks.c - leak checks in mid-run: which ones are reported, their text, and that waiting
 * threads are released.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "build_run.h"
#include "text.h"
#include "golden.h"

#define NOBODYS_PID 2000000000u
#define KINDS \
    .leak_kinds = LEAK_DEFINITE | LEAK_POSSIBLE, .problem_kinds = LEAK_DEFINITE | LEAK_POSSIBLE

struct asked {
    uint32_t area;
    struct leak_check_record *record;
    struct segment *leaks;
};

static uint32_t an_image(struct build *b, uint32_t number)
{
    uint32_t area = build_image(b, number, 0, NOBODYS_PID + number, IMAGE_ROOT);
    struct segment *m = build_records(b, area, SEGMENT_MODULES, 4);
    struct segment *d = build_records(b, area, SEGMENT_DEPOT, 4);

    build_module(m, "/usr/bin/prog", 0x560000000000, 0x10000)->number = 1;
    d->count = d->capacity;
    build_node(d, 0x560000001010, 0);
    build_image_header(b, area)->state = IMAGE_OPEN;
    return area;
}

static struct asked request(struct build *b, uint32_t area, uint32_t number)
{
    struct segment *made =
        build_segment(b, area, SEGMENT_LEAK_CHECKS, sizeof(struct leak_check_record), 1, number);
    struct asked a = {area, build_item(made, made->count++),
                      build_records(b, area, SEGMENT_CHECK_LEAKS, 4)};

    a.record->number = number;
    a.record->result = LEAKS_FOUND;
    a.leaks->epoch = number;
    return a;
}

/* The printed checks of a file, which stays open; `at` as in report_checks. */
static const char *printed(int fd, uint32_t only, struct print_options how,
                           struct check_reported at[4], uint32_t *count)
{
    static char text[8192];
    FILE *out = fmemopen(text, sizeof text, "w");

    memset(text, 0, sizeof text);
    how.deterministic = true;
    *count = report_checks(fd, (struct check_choice){.image = only}, out, &how, at, 4);
    fclose(out);
    return text;
}

static void one(void **state)
{
    (void)state;
    struct build b = build_begin();
    uint32_t count;
    struct check_reported at[4];
    struct asked a = request(&b, an_image(&b, 1), 7);
    build_leak(a.leaks, REACH_LOST, 1, 3, 48);
    /* the check at exit and the blocks in use are not requested */
    build_leak(build_records(&b, a.area, SEGMENT_LEAKS, 4), REACH_LOST, 1, 5, 50);
    int fd = build_fd(&b);

    golden_add("one", printed(fd, 0, (struct print_options){KINDS}, at, &count));
    assert_int_equal(count, 1);
    report_checks_done(fd, at, count);
    printed(fd, 0, (struct print_options){KINDS}, at, &count);
    assert_int_equal(count, 0);
    close(fd);
    build_end(&b);
}

static void let_go(void **state)
{
    (void)state;
    struct build b = build_begin();
    struct asked a = request(&b, an_image(&b, 1), 7), other = request(&b, an_image(&b, 2), 3);
    struct run_header run;
    uint32_t count, reported_word[2];
    struct check_reported at[4];
    off_t place[] = {(char *)&a.record->reported - (char *)build_run(&b),
                     (char *)&other.record->reported - (char *)build_run(&b)};
    int fd = build_fd(&b);

    printed(fd, 2, (struct print_options){KINDS}, at, &count);
    assert_int_equal(count, 1);
    report_checks_done(fd, at, count);
    assert_int_equal(pread(fd, &run, sizeof run, 0), sizeof run);
    assert_int_equal(run.checks_reported, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pread(fd, &reported_word[i], 4, place[i]), 4);
    assert_int_equal(reported_word[0], 0);
    assert_int_equal(reported_word[1], 1);
    close(fd);
    build_end(&b);
}

/* The check at exit prints only the number of leaks. */
static void at_end(void **state)
{
    (void)state;
    struct build b = build_begin();
    struct asked a = request(&b, an_image(&b, 1), 1);
    uint32_t count;
    struct check_reported at[4];
    struct segment *leaks =
        build_segment(&b, a.area, SEGMENT_LEAKS, sizeof(struct leak_group), 4, 0);
    build_leak(leaks, REACH_LOST, 1, 5, 50);
    build_leak(leaks, REACH_INTERIOR, 1, 1, 16);
    build_leak(a.leaks, REACH_LOST, 1, 3, 48);
    build_leak(a.leaks, REACH_LOST, 0, 3, 48);
    a.record->flags = LEAK_CHECK_AT_END;
    int fd = build_fd(&b);

    assert_string_equal(printed(fd, 0, (struct print_options){KINDS}, at, &count), "");
    assert_int_equal(count, 1);
    assert_int_equal(at[0].value, 2);
    close(fd);
    build_end(&b);
}

static void words(void **state)
{
    (void)state;
    struct build b = build_begin();
    struct asked a = request(&b, an_image(&b, 1), 1), none = request(&b, an_image(&b, 2), 2),
                 busy = request(&b, an_image(&b, 3), 3);
    uint32_t count;
    struct check_reported at[4];
    build_leak(a.leaks, REACH_LOST, 1, 3, 48)->new_blocks = 1;
    build_leak(a.leaks, REACH_INTERIOR, 1, 1, 16)->new_blocks = 0;
    build_image_header(&b, a.area)->marks = 1;
    a.record->flags = LEAK_CHECK_NEW;
    none.record->threads_not_stopped = 3;
    none.record->threads_waiting = 1;
    busy.record->result = LEAKS_BUSY;
    int fd = build_fd(&b);

    const char *text = printed(fd, 0, (struct print_options){KINDS}, at, &count);
    assert_int_equal(count, 3);
    golden_add("three", text); /* without an aib: no leak of it is new */
    text = printed(fd, 0, (struct print_options){KINDS, .quiet = true}, at, &count);
    assert_int_equal(count, 3);
    golden_add("three, quiet", text); /* without check 2: it has no leak */
    text =
        printed(fd, 0, (struct print_options){KINDS, .leaks = PRINT_LEAKS_RECORDS, .columns = 80},
                at, &count);
    golden_add("three, records, terminal", text);
    assert_string_equal(
        printed(fd, 0, (struct print_options){KINDS, .leaks = PRINT_LEAKS_NOTHING}, at, &count),
        "");
    assert_int_equal(count, 3);
    close(fd);
    build_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one), cmocka_unit_test(let_go),
                                       cmocka_unit_test(at_end), cmocka_unit_test(words)};

    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}
