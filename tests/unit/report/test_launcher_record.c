/*
 * test_launcher_record.c - the launcher's record (counters, measurements) written into the run file
 * and read again: the report is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text.h"
#include "made_image.h"
#include "golden.h"

static const struct counter_row rows[] = {
    {"page-faults", "perf: software", NULL, .user_alone = true,
     .reading = {true, false, 1021, 70, 70}},
    {"task-clock", "getrusage", NULL, .is_time = true, .reading = {true, false, 5000000, 0, 0}},
    {"cycles", "perf: hardware", NULL, .is_cycles = true, .reading = {true, true, 12000, 400, 100}},
    {"instructions:u", NULL, "n/a: no PMU", .reading = {0}},
};

/* clang-format off */
static const struct measured measures = {
    .pairs = 7, .otherwise = 1, .otherwise_without = 2, .sure = 0.984375,
    .of = {{0.131, 0.125, 1.07, 0.9, 2.86, 0.112, 0.108}, {0.018, 0.018, 1.02, 0.98, 2.07, 0.017, 0.017},
           {9e6, 7e6, 1.42, 1.41, 1.44, 9e6, 7e6}, {698, 1436, 0.49, 0.48, 0.49, 695, 1435}}};
/* clang-format on */

static struct build a_run(void)
{
    struct build b = build_begin();
    build_image(&b, 1, 0, NOBODYS_PID, IMAGE_ROOT);
    strcpy(build_run(&b)->options, "counters=page-faults:measure=7");
    return b;
}

/* A file with a launcher's record; frees `b`. */
static int launcher_file(struct build *b, const struct counter_row *row, uint32_t count,
                         const struct measured *m)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd = build_fd(b);

    build_end(b);
    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    report_set_counters(r, row, count);
    report_set_measured(r, m);
    assert_int_equal(report_write_launcher_record(r, fd), 0);
    report_close(r);
    return fd;
}

/* The text of its report from the costs on; closes fd. */
static const char *printed_of(int fd, const struct counter_row *row, uint32_t count,
                              const struct measured *m, bool by_launcher)
{
    static char text[2][1 << 16];
    char err[REPORT_ERROR_BYTES], *to = text[by_launcher];
    struct report *r;
    FILE *out;

    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    if (by_launcher) {
        report_set_counters(r, row, count);
        report_set_measured(r, m);
    }
    assert_int_equal(report_collect(r, err), 0);
    memset(to, 0, sizeof text[0]);
    assert_non_null(out = fmemopen(to, sizeof text[0] - 1, "w"));
    report_print_text(r, out, &(struct print_options){0});
    fclose(out);
    report_close(r);
    close(fd);
    return to;
}

/* The text from `title` on. */
static const char *part(const char *text, const char *title)
{
    const char *at = strstr(text, title);
    if (!at)
        fail_msg("no %s in\n%s", title, text);
    return at;
}

static void the_same_is_reported(void **state)
{
    struct build b = a_run(), again = a_run();
    const char *live = printed_of(build_fd(&again), rows, countof(rows), &measures, true);
    const char *later =
        printed_of(launcher_file(&b, rows, countof(rows), &measures), NULL, 0, NULL, false);

    (void)state;
    build_end(&again);
    assert_string_equal(part(live, "MEASURED"), part(later, "MEASURED"));
    assert_string_equal(part(live, "COUNTERS"), part(later, "COUNTERS"));
    golden_add("counters and measurements", later);
}

/* Texts from a file are arbitrary. */
static void strange_words(void **state)
{
    const struct counter_row strange[] = {
        {"a\033b", "c\nd", NULL, .reading = {true, false, 1, 0, 0}},
        {"e", NULL, "f\033g", .is_cycles = true, .reading = {0}}};
    struct build b = a_run();
    const char *text = printed_of(
        launcher_file(&b, strange, countof(strange), &(struct measured){0}), NULL, 0, NULL, false);

    (void)state;
    golden_add("control characters", text);
}

/* It contains our share in cycles, too. */
static void cycles(void **state)
{
    struct build b = a_run();
    int fd = launcher_file(&b, rows, countof(rows), &measures);
    char err[REPORT_ERROR_BYTES];
    const char *why;
    struct report *r;

    (void)state;
    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(report_collect(r, err), 0);
    assert_true(own_cost_cycles(r, &why) == 30 && !why);
    report_close(r);
    close(fd);
}

static void nothing_came_of_it(void **state)
{
    struct build b = a_run();
    const char *text =
        printed_of(launcher_file(&b, NULL, 0, &(struct measured){0}), NULL, 0, NULL, false);

    (void)state;
    golden_add("nothing was measured", text);
}

/* A corrupted record is reported, and none of its data is used. */
static void damaged(void **state)
{
    struct build b = a_run();
    int fd = launcher_file(&b, rows, countof(rows), &measures);
    uint32_t many = LAUNCHER_COUNTERS_MAX + 1;
    uint64_t at;

    (void)state;
    assert_int_equal(pread(fd, &at, sizeof at, offsetof(struct run_header, launcher_offset)),
                     sizeof at);
    assert_int_equal(pwrite(fd, &many, sizeof many, (off_t)at), sizeof many);
    const char *text = printed_of(fd, NULL, 0, NULL, false);
    golden_add("damaged", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_reported),
        cmocka_unit_test(strange_words),
        cmocka_unit_test(cycles),
        cmocka_unit_test(nothing_came_of_it),
        cmocka_unit_test(damaged),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}
