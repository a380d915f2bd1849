/*
 * test_map.c - allocation sites: modules and stacks of an image and of its ancestors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collected.h"

/* ---- sites --------------------------------------------------------------------------------- */

/* Two modules, in the order of mapping. */
struct mapped {
    const char *path;
    uint64_t start, bytes;
    uint64_t below; /* difference between start and bias */
};

static void assert_place(const struct mapped at[2], uint64_t pc, const char *place)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *m = modules(&b, area), *d = build_depot(&b, area, 0);
    struct report *r;

    for (unsigned i = 0; i < 2; i++)
        build_module(m, at[i].path, at[i].start, at[i].bytes)->bias -= at[i].below;
    one_block(&b, area, build_node(d, pc, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 1), place);
    finish(r, &b);
}

static void test_module_and_offset(void **state)
{
    static const struct mapped at[2] = {{"/lib/a", LIB, 0x1000, 0},
                                        {"/lib/b", LIB + 0x1000, 0x1000, 0x800}};

    (void)state;
    assert_place(at, LIB + 0x1001, "/lib/b+0x801");
}

/* A call may be a module's last instruction: its return address is the first byte past the end. */
static void test_return_after_the_end(void **state)
{
    static const struct mapped at[2] = {{"/lib/a", LIB, 0x1000, 0},
                                        {"/lib/b", LIB + 0x1000, 0x1000, 0}};

    (void)state;
    assert_place(at, LIB + 0x1000, "/lib/a+0x1000");
}

static void test_later_module_at_the_same_place(void **state)
{
    static const struct mapped at[2] = {{"/lib/unloaded", LIB, 0x1000, 0},
                                        {"/lib/loaded", LIB, 0x800, 0}};

    (void)state;
    assert_place(at, LIB + 0x10, "/lib/loaded+0x10");
}

static void test_stacks_follow_parents(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT), outer, inner;
    struct segment *m = modules(&b, area), *d = build_depot(&b, area, 0);
    struct segment *later = build_depot(&b, area, 1);
    struct report *r;

    (void)state;
    build_module(m, "/bin/p", LIB, 0x1000);
    outer = build_node(d, LIB + 0x30, build_node(d, LIB + 0x40, 0));
    inner = build_node(later, LIB + 0x20, outer);
    one_block(&b, area, inner);
    r = collected(&b);
    assert_string_equal(only_site(r, 1), "/bin/p+0x20 /bin/p+0x30 /bin/p+0x40");
    finish(r, &b);
}

/* Whatever a file contains, the number of frames of a stack is limited. */
static void test_deep_stacks(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT), id = 0;
    struct segment *d = build_records(&b, area, SEGMENT_DEPOT, DEPOT_CHUNK_NODES);
    struct segment *s;
    struct report *r;

    (void)state;
    d->count = d->capacity;
    s = build_slab(&b, area, 1, 64, 4);
    for (uint32_t depth = 1; depth <= DEPOT_CHUNK_NODES; depth++) {
        id = build_node(d, 0x1000 + depth, id);
        if (depth == RTC_STACK_FRAMES)
            build_block(s, 0, BLOCK_LIVE, 1, id);
    }
    build_block(s, 1, BLOCK_LIVE, 2, id);
    r = collected(&b);
    assert_int_equal(r->site_count, 2);
    for (uint32_t i = 0; i < r->site_count; i++)
        assert_int_equal(r->sites[i].count, RTC_STACK_FRAMES);
    assert_int_equal(r->sites[0].end + r->sites[1].end, STACK_WHOLE + STACK_CUT);
    finish(r, &b);
}

static void test_unknown_stacks(void **state)
{
    static const uint32_t ids[] = {0, 1u << DEPOT_CHUNK_SHIFT, (1u << DEPOT_CHUNK_SHIFT) + 1, 6,
                                   ~0u};

    (void)state;
    for (size_t i = 0; i < countof(ids); i++) {
        struct build b = build_begin();
        uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
        struct report *r;
        build_node(build_depot(&b, area, 0), 0x5000, 0);
        one_block(&b, area, ids[i]);
        r = collected(&b);
        assert_string_equal(only_site(r, 1), ids[i] ? "..." : "");
        finish(r, &b);
    }
}

static void test_no_module(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct report *r;

    (void)state;
    build_module(modules(&b, area), "/bin/p", LIB, 0x1000);
    one_block(&b, area, build_node(build_depot(&b, area, 0), LIB, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 1), "?+0x7f0000000000");
    finish(r, &b);
}

/* Chunk 0 is the grandparent's, 1 the parent's, 2 the child's; modules likewise. */
static void test_forked_images_share_the_past(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t mid = build_image(&b, 2, 1, 101, IMAGE_FORK);
    uint32_t younger_image = build_image(&b, 3, 2, 102, IMAGE_FORK_UNSEEN);
    uint32_t outer, inner;
    struct report *r;

    (void)state;
    build_image_header(&b, mid)->first_depot_chunk = 1;
    build_image_header(&b, younger_image)->first_depot_chunk = 2;
    build_module(modules(&b, old), "/bin/p", LIB, 0x1000);
    build_module(modules(&b, mid), "/lib/q", LIB + 0x1000, 0x1000);
    outer = build_node(build_depot(&b, old, 0), LIB + 0x10, 0);
    /* the parent continued in a chunk of the same number: that one is not the child's */
    build_node(build_depot(&b, mid, 2), 0x666, 0);
    inner = build_node(build_depot(&b, mid, 1), LIB + 0x1020, outer);
    inner = build_node(build_depot(&b, younger_image, 2), LIB + 0x30, inner);
    one_block(&b, younger_image, inner);
    r = collected(&b);
    assert_string_equal(only_site(r, 3), "/bin/p+0x30 /lib/q+0x20 /bin/p+0x10");
    finish(r, &b);
}

static void test_exec_shares_nothing(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t new = build_image(&b, 2, 1, 100, IMAGE_EXEC);
    struct report *r;

    (void)state;
    build_module(modules(&b, old), "/bin/p", LIB, 0x1000);
    one_block(&b, new, build_node(build_depot(&b, new, 0), LIB + 0x10, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 2), "?+0x7f0000000010");
    finish(r, &b);
}

/* Headers are used before they are verified: an image that is its own parent, endless arguments. */
static void test_mad_headers(void **state)
{
    struct build b = build_begin();
    uint32_t mad = build_image(&b, 2, 2, 100, IMAGE_FORK);
    uint32_t child = build_image(&b, 3, 2, 101, IMAGE_FORK);
    struct report *r;

    (void)state;
    build_image_header(&b, mad)->first_depot_chunk = 9;
    build_image_header(&b, mad)->argv_bytes = ~0u;
    build_image_header(&b, child)->first_depot_chunk = 9;
    memset(build_image_header(&b, mad)->exe, 'x', sizeof build_image_header(&b, mad)->exe);
    one_block(&b, child, 5);
    alarm(20);
    r = collected(&b);
    alarm(0);
    assert_int_equal(r->bad_count, 1);
    assert_int_equal(image(r, 2)->argv_bytes, sizeof((struct image_header *)0)->argv);
    assert_int_equal(strlen(image(r, 2)->exe), sizeof((struct image_header *)0)->exe);
    assert_int_equal(image(r, 3)->argv_bytes, strlen("prog3") + 1);
    assert_string_equal(argv_next(image(r, 3), NULL), "prog3");
    assert_null(argv_next(image(r, 3), argv_next(image(r, 3), NULL)));
    assert_string_equal(only_site(r, 3), "...");
    finish(r, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_module_and_offset),
        cmocka_unit_test(test_return_after_the_end),
        cmocka_unit_test(test_later_module_at_the_same_place),
        cmocka_unit_test(test_stacks_follow_parents),
        cmocka_unit_test(test_deep_stacks),
        cmocka_unit_test(test_unknown_stacks),
        cmocka_unit_test(test_no_module),
        cmocka_unit_test(test_forked_images_share_the_past),
        cmocka_unit_test(test_exec_shares_nothing),
        cmocka_unit_test(test_mad_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
