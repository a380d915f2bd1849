/*
 * test_read.c - blocks that count as in use, and those that remain in a damaged file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collected.h"

/* ---- blocks -------------------------------------------------------------------------------- */

static void test_states_and_marks(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *s = build_slab(&b, area, 1, 64, 20);
    struct block_record *inherited = build_item(s, 6);
    struct report *r;

    (void)state;
    build_block(s, 0, BLOCK_LIVE, 10, 0);
    build_block(s, 1, BLOCK_LIVE, 0, 0);
    build_block(s, 2, BLOCK_FREED, 7, 0);
    build_block(s, 3, BLOCK_FREE, 7, 0);
    build_block(s, 4, BLOCK_INHERITED, 7, 0);
    build_block(s, 5, BLOCK_NEVER, 7, 0);
    inherited->word = build_word(BLOCK_LIVE, MARK_INHERITED, 7);
    build_block(s, 19, BLOCK_LIVE, 63, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 3, 73);
    finish(r, &b);
}

static void test_segment_states(void **state)
{
    static const enum segment_state states[] = {SEGMENT_BUILDING, SEGMENT_SUPERSEDED,
                                                SEGMENT_VACANT};
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct report *r;

    (void)state;
    for (uint32_t i = 0; i < countof(states); i++) {
        struct segment *s = build_slab(&b, area, i, 64, 4);
        build_block(s, 0, BLOCK_LIVE, 10, 0);
        s->state = states[i];
    }
    build_block(build_slab(&b, area, 9, 64, 4), 0, BLOCK_LIVE, 1, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 1, 1);
    finish(r, &b);
}

/* A kill between writing a copy and clearing the original: only one of them counts. */
static void higher_epoch(uint32_t first, uint32_t second)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t more = build_more(&b, area);
    struct segment *a = build_slab(&b, area, 3, 64, 4), *c = build_slab(&b, more, 3, 64, 4);
    struct report *r;

    a->epoch = first;
    c->epoch = second;
    for (uint32_t i = 0; i < 3; i++)
        build_block(first > second ? a : c, i, BLOCK_LIVE, 1, 0);
    build_block(first > second ? c : a, 3, BLOCK_LIVE, 50, 0);
    build_block(build_slab(&b, more, 4, 64, 4), 0, BLOCK_LIVE, 20, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 4, 23);
    finish(r, &b);
}

static void test_higher_epoch_counts(void **state)
{
    (void)state;
    higher_epoch(5, 4);
    higher_epoch(4, 5);
}

/* The later copy may be empty: the earlier one's blocks were freed. */
static void test_higher_epoch_may_be_empty(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *old = build_slab(&b, area, 3, 64, 4), *new = build_slab(&b, area, 3, 64, 4);
    struct report *r;

    (void)state;
    build_block(old, 0, BLOCK_LIVE, 5, 0);
    old->epoch = 1;
    new->epoch = 2;
    r = collected(&b);
    assert_in_use(image(r, 1), 0, 0);
    finish(r, &b);
}

static void test_large_blocks(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *s = build_records(&b, area, SEGMENT_LARGE, 12);
    struct large_record *l;
    struct report *r;

    (void)state;
    build_large(s, 10, 1, 40000, 0);
    build_large(s, 11, 2, 70000, 0)->block.word = build_word(BLOCK_FREED, MARK_FIRST, 0);
    build_large(s, 13, 2, 70000, 0)->superseded = 1;
    build_large(s, 15, 1, 50000, 0)->block.word = build_word(BLOCK_LIVE, MARK_INHERITED, 0);
    /* one unit, two items: freed in the later epoch; freed, and the unit reused */
    l = build_large(s, 16, 1, 50001, 0);
    l->epoch = 1;
    l = build_large(s, 16, 1, 50001, 0);
    l->epoch = 2;
    l->block.word = build_word(BLOCK_FREED, MARK_FIRST, 0);
    build_large(s, 17, 1, 50002, 0);
    build_large(s, 17, 1, 50002, 0)->block.word = build_word(BLOCK_FREE, MARK_FIRST, 0);
    build_large(s, 18, 1, 50003, 0);
    build_large(s, 18, 1, 1, 0)->block.word = build_word(BLOCK_NEVER, MARK_FIRST, 0);
    build_large(s, 30, 1, 7, 0);
    s->count--; /* not published yet */
    r = collected(&b);
    assert_in_use(image(r, 1), 3, 40000 + 50002 + 50003);
    finish(r, &b);
}

static void test_threads_add_up(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t more = build_more(&b, area);
    struct segment *s = build_records(&b, area, SEGMENT_THREADS, 4);
    struct segment *t =
        build_segment(&b, more, SEGMENT_THREADS, sizeof(struct thread_record), 4, 1);
    struct report *r;

    (void)state;
    build_thread(s, 1, 10, 4);
    build_thread(s, 2, 5, 5)->gone = 1;
    build_thread(t, 65, 1, 0);
    build_thread(t, 66, 1000, 1000);
    t->count--; /* not published yet */
    r = collected(&b);
    assert_int_equal(image(r, 1)->allocs, 16);
    assert_int_equal(image(r, 1)->frees, 9);
    finish(r, &b);
}

static void test_many_places(void **state)
{
    enum { STACKS = 500 };
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *first = build_slab(&b, area, 1, 64, 1000);
    struct segment *second = build_slab(&b, area, 2, 64, 1000);
    struct report *r;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        build_block(first, i, BLOCK_LIVE, 1, i % STACKS + 1);
        build_block(second, i, BLOCK_LIVE, 2, (i * 7) % STACKS + 1);
    }
    r = collected(&b);
    assert_in_use(image(r, 1), 2000, 3000);
    assert_int_equal(image(r, 1)->use_count, STACKS);
    for (uint32_t i = 0; i < STACKS; i++) {
        assert_int_equal(image(r, 1)->uses[i].blocks, 4);
        assert_int_equal(image(r, 1)->uses[i].bytes, 6);
    }
    finish(r, &b);
}

static void test_later_threads_count(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *s = build_records(&b, area, SEGMENT_THREADS, 4);
    struct segment *t = build_records(&b, area, SEGMENT_THREADS, 4);
    struct report *r;

    (void)state;
    t->epoch = 1;
    build_thread(s, 1, 10, 4);
    build_thread(t, 1, 11, 5);
    r = collected(&b);
    assert_int_equal(image(r, 1)->allocs, 11);
    assert_int_equal(image(r, 1)->frees, 5);
    finish(r, &b);
}

/* ---- damage -------------------------------------------------------------------------------- */

static void test_bad_area_is_named_and_the_rest_used(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t more = build_more(&b, area), third = build_more(&b, more);
    uint32_t other = build_image(&b, 2, 0, 101, IMAGE_ROOT);
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_block(build_slab(&b, more, 2, 64, 4), 0, BLOCK_LIVE, 64, 0); /* no redzone */
    build_block(build_slab(&b, third, 3, 64, 4), 0, BLOCK_LIVE, 3, 0);
    build_block(build_slab(&b, other, 3, 64, 4), 0, BLOCK_LIVE, 4, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 2, 4);
    assert_in_use(image(r, 2), 1, 4);
    assert_int_equal(r->bad_count, 1);
    assert_int_equal(r->bad[0].area, more);
    assert_int_equal(r->bad[0].image, 1);
    assert_string_equal(r->bad[0].what, "block leaves no redzone in its slot");
    finish(r, &b);
}

/* The table has image 1, the area has image 2: neither gets the area. */
static void test_area_of_another_image(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t other = build_image(&b, 2, 0, 101, IMAGE_ROOT);
    uint32_t more = build_more(&b, other);
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_block(build_slab(&b, more, 2, 64, 4), 0, BLOCK_LIVE, 2, 0);
    build_entry(&b, more)->owner = area_owner(AREA_CLAIMED, 1);
    r = collected(&b);
    assert_in_use(image(r, 1), 1, 1);
    assert_in_use(image(r, 2), 0, 0);
    assert_int_equal(r->bad_count, 1);
    assert_string_equal(r->bad[0].what, "area of another image");
    finish(r, &b);
}

/* An image with a bad first area cannot be listed; its existence is reported. */
static void test_bad_first_area_is_named(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t first = build_image(&b, 2, 0, 101, IMAGE_ROOT);
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_slab(&b, build_more(&b, first), 2, 64, 4);
    build_head(&b, first)->magic++;
    r = collected(&b);
    assert_int_equal(HASH_COUNT(r->images), 1);
    assert_in_use(image(r, 1), 1, 1);
    assert_int_equal(r->bad_count, 1);
    assert_int_equal(r->bad[0].area, first);
    assert_int_equal(r->bad[0].image, 2);
    assert_string_equal(r->bad[0].what, "no area head where one must be");
    finish(r, &b);
}

static void test_areas_not_begun_are_nothing(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT), younger_image;
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_claim(&b, 1); /* claimed by image 1, nothing written */
    build_claim(&b, 7); /* an image without data yet */
    younger_image = build_image(&b, 8, 0, 100, IMAGE_ROOT);
    build_image_header(&b, younger_image)->magic = 0;
    younger_image = build_image(&b, 10, 0, 100, IMAGE_ROOT); /* its length excludes the header */
    build_image_header(&b, younger_image)->magic = 0;
    build_head(&b, younger_image)->used_bytes = RTC_AREA_HEAD_BYTES;
    build_entry(&b, build_image(&b, 9, 0, 100, IMAGE_ROOT))->owner = area_owner(AREA_RECLAIMING, 9);
    r = collected(&b);
    assert_int_equal(r->bad_count, 0);
    assert_int_equal(HASH_COUNT(r->images), 1);
    assert_in_use(image(r, 1), 1, 1);
    finish(r, &b);
}

/* Number of areas ever claimed: it exceeds the number of areas if claims failed. */
static void test_next_area(void **state)
{
    static const struct {
        uint32_t next_area;
        unsigned images;
    } cases[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {~0u, 2}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct report *r;
        build_image(&b, 1, 0, 100, IMAGE_ROOT);
        build_image(&b, 2, 0, 101, IMAGE_ROOT);
        build_run(&b)->next_area = cases[i].next_area;
        alarm(20);
        r = collected(&b);
        alarm(0);
        assert_int_equal(HASH_COUNT(r->images), cases[i].images);
        assert_int_equal(r->bad_count, 0);
        finish(r, &b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_and_marks),
        cmocka_unit_test(test_segment_states),
        cmocka_unit_test(test_higher_epoch_counts),
        cmocka_unit_test(test_higher_epoch_may_be_empty),
        cmocka_unit_test(test_large_blocks),
        cmocka_unit_test(test_threads_add_up),
        cmocka_unit_test(test_many_places),
        cmocka_unit_test(test_later_threads_count),
        cmocka_unit_test(test_bad_area_is_named_and_the_rest_used),
        cmocka_unit_test(test_area_of_another_image),
        cmocka_unit_test(test_bad_first_area_is_named),
        cmocka_unit_test(test_areas_not_begun_are_nothing),
        cmocka_unit_test(test_next_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
