/*
 * test_absorb.c - processes whose areas are reclaimed during a run.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "running.h"

/* ---- reclaimed ----------------------------------------------------------------------------- */

static void test_live_images_keep_records(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, area));
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(absorb(&run), 0);
    assert_int_equal(build_run(&run.b)->reclaimed.images, 1);
    assert_int_equal(build_run(&run.b)->reclaimed.live_bytes, 1);
    run_end(&run);
}

/* A killed process may have a post-mortem scanner; when the area is read, it must have finished. */
static void test_witnesses_are_waited_for(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t witness = process_start();
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    struct image_header *h = build_image_header(&run.b, area);

    (void)state;
    h->checks |= CHECK_POST_MORTEM;
    h->scanner = witness;
    run_start(&run); /* replaces the mapping */
    h = build_image_header(&run.b, area);
    assert_int_equal(absorb(&run), 0);
    assert_int_equal(report_scanners(run.r), 1);
    assert_true(is_claimed(&run, area));
    process_end(witness); /* it is killed, too */
    assert_int_equal(report_scanners(run.r), 0);
    h->scanner = (uint32_t)getpid();
    assert_int_equal(absorb(&run), 0);
    h->checks = 0; /* the header as first read counts */
    assert_int_equal(absorb(&run), 0);
    h->scanner = SCANNER_DONE;
    assert_int_equal(report_scanners(run.r), 0);
    assert_int_equal(absorb(&run), 1);
    run_end(&run);
}

/*
 * Areas that a process claims between the reading of the tables and its end are read with the
 * others.
 */
static void test_areas_of_the_last_moment(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();

    (void)state;
    an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    run_start(&run);
    assert_int_equal(images_refresh(run.r), 0);
    uint32_t end = view_area_end(&run.r->view);
    atomic_fetch_add(&build_run(&run.b)->next_area, 1);
    images_mark_gone(run.r);
    assert_int_equal(view_area_end(&run.r->view), end); /* it may claim more */
    process_end(pid);
    images_mark_gone(run.r);
    assert_int_equal(view_area_end(&run.r->view), end + 1);
    run_end(&run);
}

/* The scanner pid of a process without a scanner is ignored: it may be any number. */
static void test_others_are_not(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    build_image_header(&run.b, area)->scanner = (uint32_t)getpid();
    run_start(&run);
    assert_int_equal(report_scanners(run.r), 0);
    assert_int_equal(absorb(&run), 1);
    run_end(&run);
}

static void test_what_is_taken(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t more = build_more(&run.b, area);
    uint32_t living = process_start(), other = an_image(&run.b, 2, 0, living, IMAGE_ROOT);
    char err[REPORT_ERROR_BYTES];

    (void)state;
    build_block(build_slab(&run.b, more, 7, 64, 4), 0, BLOCK_LIVE, 30, 0);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(build_entry(&run.b, area)->owner, 0);
    assert_int_equal(build_entry(&run.b, more)->owner, 0);
    assert_int_equal(build_entry(&run.b, area)->populated_bytes, 0);
    assert_int_equal(build_entry(&run.b, area)->pid, 0);
    assert_true(is_empty(&run, area));
    assert_true(is_empty(&run, more));
    assert_true(is_claimed(&run, other));
    assert_false(is_empty(&run, other));
    assert_int_equal(build_run(&run.b)->reclaimed.images, 1);
    assert_int_equal(build_run(&run.b)->reclaimed.allocs, 10);
    assert_int_equal(build_run(&run.b)->reclaimed.frees, 9);
    assert_int_equal(build_run(&run.b)->reclaimed.live_blocks, 2);
    assert_int_equal(build_run(&run.b)->reclaimed.live_bytes, 31);
    /* all of it is in the report, once */
    assert_int_equal(report_collect(run.r, err), 0);
    assert_int_equal(totals_of(run.r).bytes, 33);
    assert_int_equal(totals_of(run.r).allocs, 20);
    assert_int_equal(totals_elsewhere(run.r).processes, 0);
    process_end(living);
    run_end(&run);
}

/* The program's last image stays and is reported once; images before its execs do not stay. */
static void test_the_program_stays(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_gone(), area[3];
    char err[REPORT_ERROR_BYTES];

    (void)state;
    area[0] = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    area[1] = an_image(&run.b, 2, 1, process_gone(), IMAGE_FORK);
    area[2] = an_image(&run.b, 3, 1, pid, IMAGE_EXEC);
    run_start(&run);
    report_keep(run.r, pid);
    assert_int_equal(absorb(&run), 3);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_empty(&run, area[0]) && is_empty(&run, area[1]));
    assert_true(is_claimed(&run, area[2]) && !is_empty(&run, area[2]));
    assert_int_equal(report_collect(run.r, err), 0);
    assert_int_equal(totals_of(run.r).allocs, 30);
    assert_int_equal(image_main(run.r)->number, 3);
    run_end(&run);
}

/* Images with errors stay in the file and are reported once; their number is limited. */
static void test_errors_stay(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area[2];

    (void)state;
    an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    for (uint32_t i = 0; i < 2; i++) {
        struct segment *s;
        area[i] = an_image(&run.b, 2 + i, 0, process_gone(), IMAGE_ROOT);
        s = build_records(&run.b, area[i], SEGMENT_ERRORS, 4);
        build_error(s, i == 0 ? ERROR_DUF : ERROR_NONE, ENTRY_FREE, 0);
    }
    run_start(&run);
    absorb(&run);
    absorb(&run);
    assert_true(is_claimed(&run, area[0]) && !is_empty(&run, area[0]));
    assert_false(is_claimed(&run, area[1]));
    assert_int_equal(build_run(&run.b)->reclaimed.images, 2);
    assert_int_equal(report_collect(run.r, (char[REPORT_ERROR_BYTES]){0}), 0);
    assert_int_equal(run.r->error_count, 1);
    assert_int_equal(run.r->errors[0].count, 1);
    run_end(&run);
}

/* Images with blocks in use stay if their ids are printed; half of the number is for errors. */
static void test_blocks_stay(void **state)
{
    (void)state;
    for (int keeps = 0; keeps <= 1; keeps++) {
        struct run run = {.b = build_begin()};
        uint32_t area[18];
        for (uint32_t i = 0; i < countof(area); i++)
            area[i] = an_image(&run.b, 1 + i, 0, process_gone(), IMAGE_ROOT);
        run_start(&run);
        if (keeps)
            report_keep_blocks(run.r);
        absorb(&run);
        for (uint32_t i = 0; i < countof(area); i++)
            assert_int_equal(is_claimed(&run, area[i]), keeps && i < 16);
        run_end(&run);
    }
}

/* The same for leaks; blocks in use do not count, and reclaimed images are in the report. */
static void test_leaks_stay(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct segment *s;
        area[i] = an_image(&run.b, 1 + i, 0, process_gone(), IMAGE_ROOT);
        s = build_records(&run.b, area[i], SEGMENT_LEAKS, 4);
        build_leak(s, i == 0 ? REACH_LOST : REACH_REACHABLE, 0, 2, 10);
        build_image_header(&run.b, area[i])->leak_check = LEAKS_FOUND;
    }
    uint32_t more = build_more(&run.b, area[0]);
    build_entry(&run.b, more)->pid = build_entry(&run.b, area[0])->pid;
    run_start(&run);
    report_want_reachable(run.r);
    absorb(&run);
    absorb(&run);
    assert_true(is_claimed(&run, area[0]) && !is_empty(&run, area[0]));
    assert_int_equal(build_entry(&run.b, area[0])->pid, 0); /* no process to wait for */
    assert_int_equal(build_entry(&run.b, more)->pid, 0);
    assert_false(is_claimed(&run, area[1]));
    assert_int_equal(report_collect(run.r, (char[REPORT_ERROR_BYTES]){0}), 0);
    assert_int_equal(run.r->leak_count, 2);
    assert_int_equal(run.r->leaks[0].class, CLASS_LOST);
    assert_int_equal(run.r->leaks[0].blocks, 2);
    assert_int_equal(run.r->leaks[1].class, CLASS_REACHABLE);
    assert_int_equal(image_of(run.r, 2)->leak_check, LEAKS_FOUND);
    run_end(&run);
}

/* The area's next owner is a new image; the old image keeps its number in the report. */
static void test_area_used_again(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    char err[REPORT_ERROR_BYTES];

    (void)state;
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    run.b.next_area = area;
    an_image(&run.b, 2, 0, process_gone(), IMAGE_ROOT);
    assert_int_equal(absorb(&run), 1);
    assert_true(is_empty(&run, area));
    assert_int_equal(report_collect(run.r, err), 0);
    assert_int_equal(image_of(run.r, 1)->live_bytes, 1);
    assert_int_equal(image_of(run.r, 2)->live_bytes, 2);
    run_end(&run);
}

static void test_exec_leaves_the_old_image(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t old = an_image(&run.b, 1, 0, pid, IMAGE_ROOT), new;

    (void)state;
    build_image_header(&run.b, old)->end_how = END_EXEC;
    run_start(&run);
    assert_int_equal(absorb(&run), 0); /* exec may still fail */
    new = an_image(&run.b, 2, 1, pid, IMAGE_EXEC);
    build_image_header(&run.b, new)->state = IMAGE_OPEN;
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, old));
    assert_true(is_claimed(&run, new));
    process_end(pid);
    run_end(&run);
}

/* A fork that exec'd in between (posix_spawn) was never an image: its parent is found by pid. */
static void test_spawned(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), gone = process_gone();
    uint32_t area;

    (void)state;
    an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    area = an_image(&run.b, 2, 0, gone, IMAGE_EXEC);
    build_image_header(&run.b, area)->ppid = pid;
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, area));
    process_end(pid);
    run_end(&run);
}

/* ---- invalid files ------------------------------------------------------------------------- */

static void test_bad_area_is_taken_too(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    build_head(&run.b, area)->used_bytes -= 8;
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, area));
    assert_int_equal(run.r->bad_count, 1);
    run_end(&run);
}

/* A living parent's bad areas are read for every child, but reported once. */
static void test_bad_areas_are_reported_once(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), more[2];
    uint32_t parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    for (int i = 0; i < 2; i++) {
        more[i] = build_more(&run.b, parent);
        build_head(&run.b, more[i])->used_bytes += 8;
    }
    run_start(&run);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t child = build_image(&run.b, 2 + i, 1, process_gone(), IMAGE_FORK);
        build_image_header(&run.b, child)->ppid = pid;
        use_stack(&run.b, child, 5);
        assert_int_equal(absorb(&run), 1);
    }
    assert_int_equal(run.r->bad_count, 2);
    assert_int_equal(run.r->bad[0].area, more[0]);
    assert_int_equal(run.r->bad[1].area, more[1]);
    process_end(pid);
    run_end(&run);
}

static void test_mad_tables_take_nothing(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    run_start(&run);
    build_run(&run.b)->area_bytes /= 2;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_run(&run.b)->area_bytes *= 2;
    build_lease(&run.b, 3)->state = 77;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_lease(&run.b, 3)->state = LEASE_FREE;
    /* valid, but not what was mapped at the beginning */
    build_run(&run.b)->area_count--;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_run(&run.b)->area_count++;
    build_run(&run.b)->lease_count--;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_run(&run.b)->lease_count++;
    build_run(&run.b)->lease_table_offset += 8;
    assert_int_equal(absorb(&run), -EBADMSG);
    assert_true(is_claimed(&run, area));
    build_run(&run.b)->lease_table_offset -= 8;
    assert_int_equal(absorb(&run), 1);
    run_end(&run);
}

static void test_the_newest_image_of_a_process(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t gone = process_gone(), area;
    struct report_image_fact fact;

    (void)state;
    an_image(&run.b, 1, 0, gone, IMAGE_ROOT);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    fact = report_image_of_pid(run.r, gone);
    assert_true(fact.found);
    assert_int_equal(fact.image, 1);
    assert_int_equal(fact.pid, gone);
    assert_string_equal(fact.exe, "/usr/bin/prog1");
    area = an_image(&run.b, 3, 0, gone, IMAGE_ROOT);
    assert_int_equal(report_image_of_pid(run.r, gone).image, 3);
    build_image_header(&run.b, area)->flags = IMAGE_OWN_MALLOC;
    build_image_header(&run.b, area)->unchecked_children = 4;
    fact = report_image_of_pid(run.r, gone);
    assert_int_equal(fact.flags, IMAGE_OWN_MALLOC);
    assert_int_equal(fact.unchecked_children, 4);
    run_end(&run);
}

static void test_running(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    an_image(&run.b, 2, 1, process_gone(), IMAGE_FORK);
    run_start(&run);
    assert_int_equal(report_running(run.r), 0); /* it has recorded its end */
    build_image_header(&run.b, area)->state = IMAGE_OPEN;
    assert_int_equal(report_running(run.r), 1);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(report_running(run.r), 0); /* a zombie has no memory */
    process_end(pid);
    assert_int_equal(report_running(run.r), 0);
    run_end(&run);
}

static void *stay(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

/* The main thread ends, another one runs on: it looks like a zombie, but is none. */
static uint32_t process_without_main_thread(void)
{
    char path[64], line[512] = "";
    pid_t pid = fork();

    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, stay, NULL);
        pthread_exit(NULL);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while (!strstr(line, ") Z ")) {
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_non_null(fgets(line, sizeof line, f));
        fclose(f);
    }
    return (uint32_t)pid;
}

static void test_running_without_its_main_thread(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_without_main_thread();
    uint32_t area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    build_image_header(&run.b, area)->state = IMAGE_OPEN;
    run_start(&run);
    assert_int_equal(report_running(run.r), 1);
    assert_int_equal(absorb(&run), 0);
    process_end(pid);
    run_end(&run);
}

/* A later image may be in an earlier area: parents are determined in the order of image numbers. */
static void test_areas_in_another_order(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), gone = process_gone(), child, parent;

    (void)state;
    child = build_image(&run.b, 2, 1, gone, IMAGE_FORK);
    build_image_header(&run.b, child)->ppid = pid;
    parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, child));
    assert_true(is_claimed(&run, parent));
    process_end(pid);
    run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_images_keep_records),
        cmocka_unit_test(test_witnesses_are_waited_for),
        cmocka_unit_test(test_areas_of_the_last_moment),
        cmocka_unit_test(test_others_are_not),
        cmocka_unit_test(test_what_is_taken),
        cmocka_unit_test(test_the_program_stays),
        cmocka_unit_test(test_errors_stay),
        cmocka_unit_test(test_blocks_stay),
        cmocka_unit_test(test_leaks_stay),
        cmocka_unit_test(test_area_used_again),
        cmocka_unit_test(test_exec_leaves_the_old_image),
        cmocka_unit_test(test_spawned),
        cmocka_unit_test(test_bad_area_is_taken_too),
        cmocka_unit_test(test_bad_areas_are_reported_once),
        cmocka_unit_test(test_mad_tables_take_nothing),
        cmocka_unit_test(test_the_newest_image_of_a_process),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_running_without_its_main_thread),
        cmocka_unit_test(test_areas_in_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
