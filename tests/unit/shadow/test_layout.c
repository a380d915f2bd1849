/*
 * test_layout.c - the header of a new run file: its contents, and the shapes that are refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shadow.h"

#include <cmocka.h>

static const struct run_shape good = {
    .area_bytes = RTC_AREA_BYTES,
    .area_count = 64,
    .start_ns = 12345,
    .mode = RUN_BY_HAND,
    .uid = 1000,
    .host = "host",
    .folder = "/a/folder",
    .options = "keep=yes",
};

static void checks(void **state)
{
    (void)state;
    struct run_header run = {0};
    struct run_shape shape = good;
    shape.heap_bytes = 5000;
    shape.heap_count = 3;
    shape.launcher_pid = 77;
    shape.mode = RUN_BY_LAUNCHER;
    assert_int_equal(run_header_init(&run, &shape), 0);
    assert_true(run.magic == RTC_RUN_MAGIC);
    assert_int_equal(run.version_major, RTC_VERSION_MAJOR);
    assert_int_equal(run.version_minor, RTC_VERSION_MINOR);
    assert_int_equal(run.area_bytes, RTC_AREA_BYTES);
    assert_int_equal(run.area_count, 64);
    assert_int_equal(run.lease_count, RTC_LEASE_COUNT);
    assert_int_equal(run.area_table_offset, RTC_AREA_TABLE_OFFSET);
    assert_int_equal(run.lease_table_offset,
                     RTC_AREA_TABLE_OFFSET + 64 * sizeof(struct area_entry));
    assert_int_equal(run.heap_offset, 64 * RTC_AREA_BYTES);
    assert_int_equal(run.heap_bytes, 8192); /* whole pages */
    assert_int_equal(run.heap_count, 3);
    assert_int_equal(run.heap_table_offset, run_unchecked_end(&run));
    assert_int_equal(run_tables_end(&run),
                     run_unchecked_end(&run) + RTC_HEAPS_MAX * sizeof(struct heap_slot));
    assert_int_equal(run.file_bytes, 64 * RTC_AREA_BYTES + 3 * 8192);
    assert_int_equal(run.start_ns, 12345);
    assert_int_equal(run.mode, RUN_BY_LAUNCHER);
    assert_int_equal(run.uid, 1000);
    assert_int_equal(run.launcher_pid, 77);
    assert_int_equal(run.next_area, 1);
    assert_int_equal(run.next_image, 0);
    assert_string_equal(run.host, "host");
    assert_string_equal(run.folder, "/a/folder");
    assert_string_equal(run.options, "keep=yes");
}

static void without_heap(void **state)
{
    (void)state;
    struct run_header run = {0};
    assert_int_equal(run_header_init(&run, &good), 0);
    assert_int_equal(run.heap_offset, 0);
    assert_int_equal(run.heap_bytes, 0);
    assert_int_equal(run.heap_count, 0);
    assert_int_equal(run.heap_table_offset, 0);
    assert_int_equal(run.file_bytes, 64 * RTC_AREA_BYTES);
    assert_int_equal(run_file_bytes(&good), run.file_bytes);
    for (uint32_t area = 0; area < 64; area++)
        assert_int_equal(area_offset(&run, area), area * RTC_AREA_BYTES);
}

/* The longest text that fits, and one byte more: truncated and terminated. */
static void texts(void **state)
{
    (void)state;
    static struct run_header run;
    char text[sizeof run.options + 1];
    memset(text, 'x', sizeof text);
    for (size_t cut = sizeof text - 3; cut < sizeof text; cut++) {
        struct run_shape shape = good;
        text[cut] = '\0';
        shape.options = text;
        shape.host = shape.folder = text;
        memset(&run, 0, sizeof run);
        assert_int_equal(run_header_init(&run, &shape), 0);
        size_t kept = cut < sizeof run.options - 1 ? cut : sizeof run.options - 1;
        assert_int_equal(strlen(run.options), kept);
        assert_int_equal(strlen(run.host), sizeof run.host - 1);
        assert_int_equal(strlen(run.folder), sizeof run.folder - 1);
        text[cut] = 'x';
    }
    struct run_shape shape = good;
    shape.options = shape.host = shape.folder = NULL;
    assert_int_equal(run_header_init(&run, &shape), 0);
    assert_string_equal(run.options, "");
    assert_string_equal(run.host, "");
    assert_string_equal(run.folder, "");
}

/* name of the case, change of the valid shape, is it refused? */
#define SHAPES                                                                            \
    SHAPE(as_it_is, (void)s, false)                                                       \
    SHAPE(no_area_bytes, s->area_bytes = 0, true)                                         \
    SHAPE(odd_area_bytes, s->area_bytes = 3ull << 20, true)                               \
    SHAPE(tables_do_not_fit, s->area_bytes = 128ull << 10, true)                          \
    SHAPE(tables_just_fit, s->area_bytes = 256ull << 10, false)                           \
    SHAPE(no_areas, s->area_count = 0, true)                                              \
    SHAPE(only_the_head, s->area_count = 1, true)                                         \
    SHAPE(one_area, s->area_count = 2, false)                                             \
    SHAPE(most_areas, s->area_count = RTC_AREA_COUNT_MAX, false)                          \
    SHAPE(more_areas, s->area_count = RTC_AREA_COUNT_MAX + 1, true)                       \
    SHAPE(no_mode, s->mode = 0, true)                                                     \
    SHAPE(unknown_mode, s->mode = 3, true)                                                \
    SHAPE(longest, s->area_bytes = RTC_FILE_BYTES_MAX / 64, false)                        \
    SHAPE(too_long, s->area_bytes = RTC_FILE_BYTES_MAX / 32, true)                        \
    SHAPE(areas_wrap, s->area_bytes = 1ull << 63, true)                                   \
    SHAPE(heap_fills_up, one_heap(s, RTC_FILE_BYTES_MAX - 64 * RTC_AREA_BYTES), false)    \
    SHAPE(heap_too_long, one_heap(s, RTC_FILE_BYTES_MAX - 64 * RTC_AREA_BYTES + 1), true) \
    SHAPE(heap_wraps, one_heap(s, UINT64_MAX), true)                                      \
    SHAPE(heap_and_areas_wrap, one_heap(s, 0 - RTC_AREA_BYTES), true)                     \
    SHAPE(heaps_too_long, (one_heap(s, RTC_FILE_BYTES_MAX / 2), s->heap_count = 2), true) \
    SHAPE(heaps_of_nothing, s->heap_count = 1, true)                                      \
    SHAPE(no_heaps, s->heap_bytes = 4096, true)                                           \
    SHAPE(most_heaps, (one_heap(s, 4096), s->heap_count = RTC_HEAPS_MAX), false)          \
    SHAPE(more_heaps, (one_heap(s, 4096), s->heap_count = RTC_HEAPS_MAX + 1), true)

static void one_heap(struct run_shape *s, uint64_t bytes)
{
    s->heap_bytes = bytes;
    s->heap_count = 1;
}

#define SHAPE(name, change, refused)               \
    static void change_##name(struct run_shape *s) \
    {                                              \
        change;                                    \
    }
SHAPES
#undef SHAPE

static const struct {
    const char *name;
    void (*change)(struct run_shape *s);
    bool refused;
} shapes[] = {
#define SHAPE(name, change, refused) {#name, change_##name, refused},
    SHAPES
#undef SHAPE
};

static void refusals(void **state)
{
    (void)state;
    static const struct run_header untouched;
    for (size_t i = 0; i < countof(shapes); i++) {
        static struct run_header run;
        struct run_shape shape = good;
        memset(&run, 0, sizeof run);
        shapes[i].change(&shape);
        int err = run_header_init(&run, &shape);
        bool blank = memcmp(&run, &untouched, sizeof run) == 0;
        if (err != (shapes[i].refused ? -EINVAL : 0) || blank != shapes[i].refused)
            fail_msg("%s: %d, header %s", shapes[i].name, err, blank ? "untouched" : "written");
    }
}

/* New files are valid for verify.c, for every number of areas. */
static void verifies(void **state)
{
    (void)state;
    struct run_header *run = calloc(1, RTC_AREA_BYTES);
    assert_non_null(run);
    for (uint32_t count = 2; count <= RTC_AREA_COUNT_MAX; count *= 2) {
        struct run_shape shape = good;
        struct verify_error err;
        shape.area_count = count;
        shape.heap_bytes = count % 3 == 2 ? 12345 : 0;
        shape.heap_count = count % 3 == 2;
        memset(run, 0, sizeof *run);
        assert_int_equal(run_header_init(run, &shape), 0);
        if (!verify_run(run, run_file_bytes(&shape), &err))
            fail_msg("%u areas: %s", count, err.what);
    }
    free(run);
}

/* Only the expected lease is released, and never one of a fork in progress. */
static void leases(void **state)
{
    (void)state;
    for (uint32_t now = LEASE_FREE; now <= LEASE_EXECED; now++)
        for (uint32_t seen = LEASE_FREE; seen <= LEASE_EXECED; seen++)
            for (uint32_t pid = 7; pid <= 8; pid++) {
                struct lease l = {.state = now, .pid = 7, .parent = 1, .child = 2};
                bool goes = seen == now && pid == 7 && (now == LEASE_HELD || now == LEASE_EXECED);
                lease_release(&l, seen, pid);
                assert_int_equal(l.state, goes ? LEASE_FREE : now);
                assert_int_equal(l.pid, goes ? 0 : 7);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks),   cmocka_unit_test(without_heap), cmocka_unit_test(texts),
        cmocka_unit_test(refusals), cmocka_unit_test(verifies),     cmocka_unit_test(leases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
