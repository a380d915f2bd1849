/*
 * test_maps.c - the map of mapped ranges: the kernel's operations on ranges, and a model of pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "maps_model.h"

#include <cmocka.h>

static struct model model;

static int set_up(void **state)
{
    (void)state;
    return model_init(&model, MODEL_PAGES) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(model.storage);
    return 0;
}

/* The range at a page, as "first+count"; "" if there is none. */
static const char *at(uint64_t page)
{
    static char text[64];
    const struct map_region *r = maps_find(&model.maps, model_address(page));
    text[0] = '\0';
    if (r && r->start <= model_address(page))
        snprintf(text, sizeof text, "%d+%d", (int)((r->start - MODEL_BASE) / MODEL_PAGE),
                 (int)((r->end - r->start) / MODEL_PAGE));
    return text;
}

static void a_new_mapping_takes_the_place_of_the_old(void **state)
{
    (void)state;
    assert_true(model_put(&model, 0, 10, 0));
    assert_true(model_put(&model, 4, 2, 1 << 5)); /* other protection */
    assert_string_equal(at(0), "0+4");
    assert_string_equal(at(5), "4+2");
    assert_string_equal(at(6), "6+4");
    assert_true(model_put(&model, 3, 4, 0)); /* over all of it, and equal */
    assert_string_equal(at(5), "0+10");
    assert_int_equal(model.maps.count, 1);
    assert_true(model_agrees(&model));
}

static void files_are_joined_where_they_go_on(void **state)
{
    (void)state;
    uint64_t own_place = 1 | 4; /* offset = page */
    assert_true(model_put(&model, 0, 4, own_place));
    assert_true(model_put(&model, 4, 4, own_place));
    assert_string_equal(at(0), "0+8");
    assert_true(model_remove(&model, 2, 1));
    assert_int_equal(maps_find(&model.maps, model_address(3))->offset, 3 * MODEL_PAGE);
    assert_true(model_put(&model, 2, 1, 1)); /* its first page: not contiguous in the file */
    assert_int_equal(model.maps.count, 3);
    assert_true(model_put(&model, 2, 1, own_place));
    assert_string_equal(at(7), "0+8");
    assert_true(model_agrees(&model));
}

static void protecting_splits_and_joins(void **state)
{
    (void)state;
    assert_true(model_put(&model, 0, 3, 0) && model_put(&model, 5, 3, 0));
    assert_true(model_protect(&model, 1, 6, 1)); /* over a hole */
    assert_string_equal(at(0), "0+1");
    assert_string_equal(at(2), "1+2");
    assert_string_equal(at(4), "");
    assert_string_equal(at(6), "5+2");
    assert_true(model_protect(&model, 1, 6, 0));
    assert_int_equal(model.maps.count, 2);
    assert_true(model_agrees(&model));
}

static void nothing_changes_without_room(void **state)
{
    (void)state;
    free(model.storage);
    assert_true(model_init(&model, 1));
    uint32_t changes = 0;
    while (changes < MODEL_PAGES && model_put(&model, changes, 1, changes % 2 << 5))
        changes++;
    assert_in_range(changes, 1, MODEL_PAGES - 1);
    assert_false(model_protect(&model, 0, 1, 1));
    assert_true(model_agrees(&model));
    for (uint32_t i = 1; i < changes; i++) /* it shrinks, and has room again */
        assert_true(model_remove(&model, i, 1));
    assert_true(model_put(&model, 0, 9, 0) && model_remove(&model, 3, 1));
    assert_true(model_agrees(&model));
}

static void promised_room_is_enough(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MODEL_PAGES; i++) /* scattered, so that leaves are split everywhere */
        assert_true(model_put(&model, i * 7 % MODEL_PAGES, 1, i * 7 % MODEL_PAGES % 2 << 5));
    assert_int_equal(model.maps.count, MODEL_PAGES);
    for (uint32_t i = 0; i < MODEL_PAGES; i++)
        assert_true(i % 20 == 0 || model_remove(&model, i, 1));
    assert_in_range(model.maps.leaves, 1, 3); /* sparse leaves were merged */
    assert_true(model_agrees(&model));
}

/* ---- a copy, as the runtime keeps it in the run file ----------------------------------------- */

#define COPIED 64u

static struct map_region copy[COPIED][MAP_LEAF_REGIONS];

static void copy_changed(void)
{
    static const struct map_region none;
    uint32_t number, slots_mask;
    while ((number = maps_next_changed(&model.maps, &slots_mask))) {
        const struct map_leaf *l = &model.maps.leaf[number - 1];
        assert_in_range(number, 1, COPIED);
        for (uint32_t i = 0; i < MAP_LEAF_REGIONS; i++)
            if (slots_mask >> i & 1)
                copy[number - 1][i] = l->used >> i & 1 ? l->region[i] : none;
    }
}

/* The copy has the used ranges of each leaf, and nothing else. */
static void copy_is_the_same(void)
{
    for (uint32_t n = 0; n < model.maps.made; n++) {
        const struct map_leaf *l = &model.maps.leaf[n];
        for (uint32_t i = 0; i < MAP_LEAF_REGIONS; i++)
            if (l->used >> i & 1)
                assert_memory_equal(&copy[n][i], &l->region[i], sizeof copy[n][i]);
            else
                assert_int_equal(copy[n][i].end, 0);
    }
}

/* After forgetting the changes a copy in progress starts again, with all leaves. */
static void changes_can_be_forgotten(void **state)
{
    uint32_t slots_mask;
    (void)state;
    for (uint32_t i = 0; i < MODEL_PAGES; i += 2)
        assert_true(model_put(&model, i, 1, 0));
    assert_in_range(model.maps.leaves, 3, COPIED);
    assert_int_not_equal(maps_next_changed(&model.maps, &slots_mask), 0);
    maps_forget_changes(&model.maps);
    assert_int_equal(maps_next_changed(&model.maps, &slots_mask), 0);
    for (uint32_t n = 0; n < model.maps.made; n++)
        for (uint32_t i = 0; i < MAP_LEAF_REGIONS; i++)
            copy[n][i] = model.maps.leaf[n].used >> i & 1 ? model.maps.leaf[n].region[i]
                                                          : (struct map_region){0};
    for (uint32_t i = 0; i < MODEL_PAGES; i += 4)
        assert_true(model_remove(&model, i, 1));
    copy_changed();
    copy_is_the_same();
}

static void calls_keep_neighbours_separate(void **state)
{
    (void)state;
    struct map_region a = {.start = 0x1000, .end = 0x2000, .call = 1}, b = a;
    b.start = a.end;
    b.end = 0x3000;
    b.call = 2;
    assert_true(maps_put(&model.maps, &a) && maps_put(&model.maps, &b));
    assert_int_equal(model.maps.count, 2);
    assert_true(maps_remove(&model.maps, b.start, b.end));
    b.call = 1; /* the same mapping */
    assert_true(maps_put(&model.maps, &b));
    assert_int_equal(model.maps.count, 1);
}

static void random_changes(void **state)
{
    (void)state;
    memset(copy, 0, sizeof copy);
    uint64_t n = 20240607; /* the seed */
    for (uint32_t i = 0; i < 20000; i++) {
        n ^= n << 13;
        n ^= n >> 7;
        n ^= n << 17;
        if (!model_change(&model, n))
            fail_msg("no room at change %u", i);
        if (!model_agrees(&model))
            fail_msg("wrong after change %u", i);
        if (i % 3 == 0) { /* several changes at once */
            copy_changed();
            copy_is_the_same();
        }
    }
    assert_true(model.maps.made > 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_mapping_takes_the_place_of_the_old),
        TEST(files_are_joined_where_they_go_on),
        TEST(protecting_splits_and_joins),
        TEST(nothing_changes_without_room),
        TEST(promised_room_is_enough),
        TEST(calls_keep_neighbours_separate),
        TEST(changes_can_be_forgotten),
        TEST(random_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
