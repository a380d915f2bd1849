/*
 * test_needed.c - areas that must not be reclaimed during a run, because other processes may read
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "running.h"

/* ---- kept ---------------------------------------------------------------------------------- */

static void test_a_lease_keeps_the_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t child = an_image(&run.b, 2, 1, pid, IMAGE_FORK);
    struct lease *l;

    (void)state;
    a_lease(&run.b, 9, 1, child, LEASE_HELD);
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, parent));
    process_end(pid);
    assert_int_equal(absorb(&run), 2);
    assert_false(is_claimed(&run, parent));
    l = build_lease(&run.b, 9);
    assert_int_equal(l->state, LEASE_FREE);
    run_end(&run);
}

/* The child has done nothing yet: it has no image, only its pid in the lease. */
static void test_a_lease_without_an_image(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    a_lease(&run.b, 3, 1, 0, LEASE_HELD)->pid = pid;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, parent));
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    run_end(&run);
}

/* The parent was killed between fork and recording the child's pid: a child may exist. */
static void test_a_fork_under_way(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    a_lease(&run.b, 2, 1, 0, LEASE_FORKING);
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, parent));
    run_end(&run);
}

static void test_a_lease_after_exec(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();

    (void)state;
    an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    a_lease(&run.b, 0, 1, 0, LEASE_EXECED)->pid = pid; /* it has exec'd */
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(build_lease(&run.b, 0)->state, LEASE_FREE);
    process_end(pid);
    run_end(&run);
}

/* The child lives on after an exec: it no longer reads its parent's areas. */
static void test_a_reader_that_went_on_by_exec(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t child = an_image(&run.b, 2, 1, pid, IMAGE_FORK), new;

    (void)state;
    a_lease(&run.b, 9, 1, child, LEASE_HELD);
    a_lease(&run.b, 11, 999, child, LEASE_HELD); /* and a lease of an unknown image */
    build_lease(&run.b, 11)->child = 0;
    build_image_header(&run.b, child)->lease = 10;
    build_image_header(&run.b, child)->end_how = END_EXEC;
    new = an_image(&run.b, 3, 2, pid, IMAGE_EXEC);
    run_start(&run);
    assert_int_equal(absorb(&run), 2);
    assert_false(is_claimed(&run, parent));
    assert_false(is_claimed(&run, child));
    assert_true(is_claimed(&run, new));
    assert_int_equal(build_lease(&run.b, 9)->state, LEASE_FREE);
    assert_int_equal(build_lease(&run.b, 11)->state, LEASE_HELD);
    process_end(pid);
    run_end(&run);
}

/*
 * Grandparent and parent are gone; the grandchild reads the grandparent's areas by way of the
 * parent's.
 */
static void test_readers_of_readers(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), unrelated;
    uint32_t old = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t mid = an_image(&run.b, 2, 1, process_gone(), IMAGE_FORK);
    uint32_t younger_image = an_image(&run.b, 3, 2, pid, IMAGE_FORK);

    (void)state;
    unrelated = an_image(&run.b, 4, 1, process_gone(), IMAGE_FORK);
    a_lease(&run.b, 5, 1, mid, LEASE_HELD);
    a_lease(&run.b, 6, 2, younger_image, LEASE_HELD);
    a_lease(&run.b, 7, 1, unrelated, LEASE_HELD);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, unrelated));
    assert_true(is_claimed(&run, old));
    assert_true(is_claimed(&run, mid));
    assert_int_equal(build_lease(&run.b, 5)->state, LEASE_HELD);
    assert_int_equal(build_lease(&run.b, 6)->state, LEASE_HELD);
    assert_int_equal(build_lease(&run.b, 7)->state, LEASE_FREE);
    process_end(pid);
    assert_int_equal(absorb(&run), 3);
    assert_int_equal(build_lease(&run.b, 5)->state, LEASE_FREE);
    assert_int_equal(build_lease(&run.b, 6)->state, LEASE_FREE);
    run_end(&run);
}

/* In a pid namespace of its own a process has another number. */
static void test_strangers_pids(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), gone = process_gone();
    uint32_t child, grandchild, orphan;

    (void)state;
    an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    child = an_image(&run.b, 2, 1, gone, IMAGE_FORK);
    build_image_header(&run.b, child)->ppid = 0;
    grandchild = an_image(&run.b, 3, 2, gone, IMAGE_FORK);
    orphan = an_image(&run.b, 4, 0, gone, IMAGE_EXEC);
    build_image_header(&run.b, orphan)->ppid = 1;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, child));
    assert_true(is_claimed(&run, grandchild));
    assert_true(is_claimed(&run, orphan));
    process_end(pid);
    run_end(&run);
}

/* ---- stacks ------------------------------------------------------------------------------- */

#define LIB 0x7f0000000000ull

static uint32_t add_map(struct build *b, uint32_t area, uint64_t pc)
{
    struct segment *m = build_records(b, area, SEGMENT_MODULES, 4);
    build_module(m, "/bin/p", LIB, 0x1000);
    return build_node(build_depot(b, area, 0), pc, 0);
}

static const struct frame *only_frame(const struct report *r, uint32_t number)
{
    const struct image *image = image_of(r, number);
    assert_non_null(image);
    assert_int_equal(image->use_count, 1);
    assert_int_equal(r->sites[image->uses[0].site].count, 1);
    return &r->frames[r->sites[image->uses[0].site].frames[0]];
}

/* A shell's children: their stacks are in the shell's depot, which keeps growing. */
static void test_stacks_of_a_living_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), stack;
    uint32_t parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT), child;
    struct segment *depot;

    (void)state;
    stack = add_map(&run.b, parent, LIB + 0x10);
    run_start(&run);
    depot = (struct segment *)(void *)(build_area_at(&run.b, parent) +
                                       build_head(&run.b, parent)->used_bytes -
                                       segment_bytes(BUILD_DEPOT_NODES, sizeof(struct depot_node)));
    for (uint32_t i = 0; i < 3; i++) {
        child = build_image(&run.b, 2 + i, 1, process_gone(), IMAGE_FORK);
        build_image_header(&run.b, child)->ppid = pid;
        use_stack(&run.b, child, stack);
        assert_int_equal(absorb(&run), 1);
        assert_int_equal(only_frame(run.r, 2 + i)->offset, 0x10 + i);
        stack = build_node(depot, LIB + 0x11 + i, 0);
    }
    assert_int_equal(HASH_COUNT(run.r->done), 3);
    process_end(pid);
    run_end(&run);
}

/* The parent was reclaimed before its last child: its data that the child needs was kept. */
static void test_stacks_of_an_absorbed_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), stack;
    uint32_t parent = build_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t child = build_image(&run.b, 2, 1, pid, IMAGE_FORK);

    (void)state;
    build_image_header(&run.b, child)->ppid = build_image_header(&run.b, parent)->pid;
    stack = add_map(&run.b, parent, LIB + 0x10);
    use_stack(&run.b, child, stack);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, parent));
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(only_frame(run.r, 2)->offset, 0x10);
    assert_string_equal(run.r->modules[only_frame(run.r, 2)->module].path, "/bin/p");
    assert_int_equal(HASH_COUNT(run.r->done), 2); /* and no image needs it any more */
    run_end(&run);
}

/* A stack of the child, in a module that only the parent has recorded. */
static void test_modules_of_a_living_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    uint32_t child = build_image(&run.b, 2, 1, process_gone(), IMAGE_FORK);

    (void)state;
    add_map(&run.b, parent, 0x1234);
    build_image_header(&run.b, child)->ppid = pid;
    use_stack(&run.b, child, build_node(build_depot(&run.b, child, 1), LIB + 0x50, 0));
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(only_frame(run.r, 2)->offset, 0x50);
    assert_string_equal(run.r->modules[only_frame(run.r, 2)->module].path, "/bin/p");
    process_end(pid);
    run_end(&run);
}

/* A header is read again at the end: it may have changed since the image was first seen. */
static void test_headers_are_looked_at_again(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    struct image_header *h;

    (void)state;
    build_image_header(&run.b, area)->state = IMAGE_OPEN;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    h = build_image_header(&run.b, area);
    h->state = IMAGE_ENDING;
    h->end_status = 5;
    h->bad_frees[BAD_FREE_BAD] = 6;
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(image_of(run.r, 1)->state, IMAGE_ENDING);
    assert_int_equal(image_of(run.r, 1)->end_status, 5);
    assert_int_equal(image_of(run.r, 1)->bad_frees[BAD_FREE_BAD], 6);
    run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_keeps_the_parent),
        cmocka_unit_test(test_a_lease_without_an_image),
        cmocka_unit_test(test_a_fork_under_way),
        cmocka_unit_test(test_a_lease_after_exec),
        cmocka_unit_test(test_a_reader_that_went_on_by_exec),
        cmocka_unit_test(test_readers_of_readers),
        cmocka_unit_test(test_strangers_pids),
        cmocka_unit_test(test_stacks_of_a_living_parent),
        cmocka_unit_test(test_stacks_of_an_absorbed_parent),
        cmocka_unit_test(test_modules_of_a_living_parent),
        cmocka_unit_test(test_headers_are_looked_at_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
