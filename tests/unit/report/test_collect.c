/*
 * test_collect.c - sums over all processes of a run.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collected.h"

/* ---- records and totals -------------------------------------------------------------------- */

static void test_one_place_in_two_processes(void **state)
{
    struct build b = build_begin();
    struct report *r;
    struct record *records;
    uint32_t count;

    (void)state;
    for (uint32_t i = 1; i <= 2; i++) { /* at different addresses */
        uint32_t area = build_image(&b, i, 0, 100 + i, i == 1 ? IMAGE_ROOT : IMAGE_EXEC);
        struct segment *d = build_depot(&b, area, 0), *s = build_slab(&b, area, 1, 64, 8);
        uint64_t bias = LIB + i * 0x10000;
        build_module(modules(&b, area), "/bin/p", bias, 0x1000);
        build_block(s, 0, BLOCK_LIVE, 10, build_node(d, bias + 0x10, 0));
        build_block(s, 1, BLOCK_LIVE, 10, build_node(d, bias + 0x20, 0));
        build_block(s, 2, BLOCK_LIVE, 10 * i, build_node(d, bias + 0x30, 0));
        build_block(s, 3, BLOCK_LIVE, 0, depot_id(0, 1));
    }
    r = collected(&b);
    records = records_make(r, UINT32_MAX, &count);
    assert_int_equal(count, 3);
    assert_int_equal(records[0].bytes, 30);
    assert_int_equal(records[1].bytes, 20); /* more blocks first */
    assert_int_equal(records[1].blocks, 4);
    assert_int_equal(records[2].bytes, 20);
    assert_int_equal(records[2].blocks, 2);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(records[i].images.count, 2);
        assert_int_equal(records[i].images.at[0], 1);
        assert_int_equal(records[i].images.at[1], 2);
    }
    assert_string_not_equal(records[0].id, records[1].id);
    records_free(records, count);
    finish(r, &b);
}

/* One path, two builds (the file was replaced during the run): two sites. */
static void test_builds_are_distinguished(void **state)
{
    struct build b = build_begin();
    struct report *r;

    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        uint32_t area = build_image(&b, i, 0, 100 + i, i == 1 ? IMAGE_ROOT : IMAGE_EXEC);
        struct module_record *m = build_module(modules(&b, area), "/bin/p", LIB, 0x1000);
        m->build_id_bytes = 20;
        m->build_id[19] = i == 3;
        one_block(&b, area, build_node(build_depot(&b, area, 0), LIB + 0x10, 0));
    }
    r = collected(&b);
    assert_int_equal(r->module_count, 2);
    assert_int_equal(r->site_count, 2);
    assert_int_equal(r->modules[0].build_id[19], 0);
    assert_int_equal(r->modules[1].build_id[19], 1);
    assert_int_equal(r->modules[1].image, 3);
    finish(r, &b);
}

static void test_exec_throws_away(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t new = build_image(&b, 2, 1, 100, IMAGE_EXEC);
    uint32_t lost = build_image(&b, 3, 2, 101, IMAGE_FORK);
    struct report_image_fact fact;
    struct report *r;
    struct totals t;
    uint32_t count;

    (void)state;
    build_image_header(&b, old)->end_how = END_EXEC;
    build_image_header(&b, lost)->end_how = END_EXEC; /* its successor was not recorded */
    one_block(&b, old, 0);
    one_block(&b, new, 0);
    one_block(&b, lost, 0);
    build_thread(build_records(&b, old, SEGMENT_THREADS, 4), 1, 7, 5);
    r = collected(&b);
    t = totals_of(r);
    assert_int_equal(t.processes, 2);
    assert_int_equal(t.blocks, 1);
    assert_int_equal(t.bytes, 8);
    assert_int_equal(t.allocs, 7);
    assert_int_equal(t.frees, 5);
    records_free(records_make(r, 0, &count), 1);
    assert_int_equal(count, 1);
    assert_int_equal(image_main(r)->number, 2);
    assert_int_equal(report_image_of_pid(r, 100).image, 2);
    assert_true(report_image_of_pid(r, 100).flags & IMAGE_IN_CONTROL);
    fact = report_image_of_pid(r, 101);
    assert_true(fact.found);
    assert_false(fact.flags & IMAGE_IN_CONTROL);
    assert_false(report_image_of_pid(r, 99).found);
    finish(r, &b);
}

/*
 * The program's main image: its first image and the images it became by exec, not other processes'.
 */
static void test_main_image(void **state)
{
    struct build b = build_begin();
    struct report *r;

    (void)state;
    build_image(&b, 1, 0, 99, IMAGE_EXEC);
    build_image(&b, 2, 0, 100, IMAGE_ROOT);
    build_image(&b, 3, 0, 101, IMAGE_EXEC);
    build_image(&b, 4, 2, 100, IMAGE_EXEC);
    build_image(&b, 5, 0, 102, IMAGE_EXEC);
    build_image(&b, 6, 0, 101, IMAGE_FORK); /* a reused pid */
    r = collected(&b);
    assert_int_equal(image_main(r)->number, 4);
    assert_int_equal(report_main_image(r).image, 4);
    assert_true(image(r, 2)->has_exec_successor);
    assert_false(image(r, 3)->has_exec_successor);
    assert_int_equal(totals_of(r).processes, 5);
    finish(r, &b);
    b = build_begin();
    build_image(&b, 1, 0, 100, IMAGE_ROOT);
    build_image(&b, 2, 0, 101, IMAGE_EXEC);
    r = collected(&b);
    assert_int_equal(image_main(r)->number, 1);
    finish(r, &b);
}

/* The images in between were reclaimed before they were read. */
static void test_parent_that_is_not_there(void **state)
{
    struct build b = build_begin();
    struct report *r;

    (void)state;
    build_image(&b, 1, 0, 100, IMAGE_ROOT);
    build_image(&b, 5, 4, 100, IMAGE_EXEC);
    build_image(&b, 7, 6, 5, IMAGE_FORK); /* a process with an unknown pid, and */
    build_image(&b, 9, 8, 5, IMAGE_EXEC); /* its successor by exec */
    r = collected(&b);
    assert_true(image(r, 1)->has_exec_successor);
    assert_true(image(r, 5)->pid_known);
    assert_false(image(r, 7)->pid_known);
    assert_false(image(r, 9)->pid_known);
    assert_true(image(r, 7)->has_exec_successor);
    finish(r, &b);
}

static void test_mad_tables(void **state)
{
    struct build b = build_begin();
    char err[REPORT_ERROR_BYTES] = "";
    struct report *r;
    int fd = build_fd(&b);
    uint32_t mad = 3;

    (void)state;
    assert_int_equal(report_open_fd(&r, fd, "the run", err), 0);
    assert_int_equal(pwrite(fd, &mad, 4, RTC_AREA_TABLE_OFFSET + 4), 4);
    assert_int_equal(report_collect(r, err), -EBADMSG);
    assert_string_equal(err, "the run: the run's tables are damaged");
    finish(r, &b);
    close(fd);
}

static void test_equal_names_are_distinguished(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *d = build_depot(&b, area, 0), *s = build_slab(&b, area, 1, 64, 8);
    struct report *r;
    struct record *records;
    uint32_t count;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) /* addresses without a module have no name */
        build_block(s, i, BLOCK_LIVE, 30 - i, build_node(d, 0x1000 + i, 0));
    r = collected(&b);
    records = records_make(r, UINT32_MAX, &count);
    assert_int_equal(count, 3);
    assert_int_equal(strlen(records[0].id), strlen("biu-01234567"));
    for (uint32_t i = 1; i < count; i++) {
        char want[64];
        snprintf(want, sizeof want, "%s.%u", records[0].id, i + 1);
        assert_string_equal(records[i].id, want);
    }
    records_free(records, count);
    finish(r, &b);
}

static void test_taken_back_by_others(void **state)
{
    struct build b = build_begin();
    struct report *r;
    struct totals t;

    (void)state;
    build_image(&b, 5, 0, 100, IMAGE_ROOT);
    build_run(&b)->reclaimed.images = 4;
    build_run(&b)->reclaimed.live_bytes = 99;
    build_run(&b)->reclaimed.live_blocks = 9;
    build_run(&b)->reclaimed.allocs = 30;
    build_run(&b)->reclaimed.frees = 20;
    r = collected(&b);
    r->absorbed.images = 1;
    r->absorbed.live_bytes = r->absorbed.live_blocks = 1;
    r->absorbed.allocs = r->absorbed.frees = 2;
    t = totals_elsewhere(r);
    assert_int_equal(t.processes, 3);
    assert_int_equal(t.bytes, 98);
    assert_int_equal(t.blocks, 8);
    assert_int_equal(t.allocs, 28);
    assert_int_equal(t.frees, 18);
    r->absorbed.images = 4;
    assert_int_equal(totals_elsewhere(r).processes, 0);
    assert_int_equal(totals_elsewhere(r).bytes, 0);
    r->absorbed.images = 5; /* an invalid header */
    assert_int_equal(totals_elsewhere(r).processes, 0);
    finish(r, &b);
}

/* An image that was listed and reclaimed before it was read is in the totals, and nowhere else. */
static void test_taken_back_before_it_was_read(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    const struct area_entry vacant = {.owner = area_owner(AREA_FREE, 0)};
    off_t at = (off_t)(RTC_AREA_TABLE_OFFSET + old * sizeof vacant);
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd;

    (void)state;
    build_image(&b, 2, 1, 100, IMAGE_EXEC);
    fd = build_fd(&b);
    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(images_refresh(r), 0);
    assert_int_equal(HASH_COUNT(r->images), 2);
    assert_int_equal(pwrite(fd, &vacant, sizeof vacant, at), sizeof vacant);
    assert_int_equal(report_collect(r, err), 0);
    assert_int_equal(HASH_COUNT(r->images), 1);
    assert_int_equal(image_main(r)->number, 2);
    close(fd);
    r->view.fd = -1;
    finish(r, &b);
}

/* The launcher reads a header early; the process finds out later what its kernel lacks. */
static void test_features_lost_after_the_first_look(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    const uint64_t lost = 1ull << 2;
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd = build_fd(&b);

    (void)state;
    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(images_refresh(r), 0);
    assert_int_equal(image_main(r)->missing_features, 0);
    off_t at = (off_t)(area_offset(r->view.run, area) + RTC_AREA_HEAD_BYTES +
                       offsetof(struct image_header, missing_features));
    assert_int_equal(pwrite(fd, &lost, sizeof lost, at), sizeof lost);
    assert_int_equal(report_collect(r, err), 0);
    assert_int_equal(image_main(r)->missing_features, lost);
    close(fd);
    r->view.fd = -1;
    finish(r, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_place_in_two_processes),
        cmocka_unit_test(test_builds_are_distinguished),
        cmocka_unit_test(test_exec_throws_away),
        cmocka_unit_test(test_main_image),
        cmocka_unit_test(test_parent_that_is_not_there),
        cmocka_unit_test(test_mad_tables),
        cmocka_unit_test(test_equal_names_are_distinguished),
        cmocka_unit_test(test_taken_back_by_others),
        cmocka_unit_test(test_taken_back_before_it_was_read),
        cmocka_unit_test(test_features_lost_after_the_first_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
