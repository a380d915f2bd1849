/* test_plan_view.c - plans that are not valid are refused, and never read past their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plan_view.h"

#include <cmocka.h>

/* A plan with two functions and checks, which ends where a page without access begins. */
struct made {
    struct plan_header h;
    char page[PLAN_COPY_OFFSET - sizeof(struct plan_header)];
    uint8_t copy[64];
    char rest_of_page[PLAN_COPY_OFFSET - 64];
    struct {
        struct plan_unwind_header header;
        struct plan_unwind_entry entries[2];
        struct {
            uint32_t bytes, cie;
        } cie;
        struct {
            uint32_t bytes, cie;
            int32_t start;
            uint32_t range;
        } fdes[2];
    } unwind;
    struct plan_function functions[2];
    struct plan_block blocks[2];
    struct plan_step steps[4];
    struct plan_site sites[2];
    struct plan_patch patches[2];
};

#define ARRAY(a)                                                                      \
    {                                                                                 \
        .offset = offsetof(struct made, a), .count = sizeof good.a / sizeof good.a[0] \
    }

#define UNWIND(part) (int)(offsetof(struct made, unwind.part) - offsetof(struct made, unwind))
#define START(copy) ((copy)-4096) /* relative to the frame descriptions */
#define FDE(n, copy, count)                                                \
    {                                                                      \
        .bytes = 12, .cie = (uint32_t)(UNWIND(fdes[n].cie) - UNWIND(cie)), \
        .start = START(copy) - UNWIND(fdes[n].start), .range = (count)     \
    }

static const struct made good = {
    .h = {.magic = PLAN_MAGIC,
          .version = PLAN_VERSION,
          .header_bytes = sizeof(struct plan_header),
          .file_bytes = sizeof(struct made),
          .text_address = 0x1000,
          .text_bytes = 40,
          .distance = 1 << 20,
          .copy = ARRAY(copy),
          .unwind = {.offset = offsetof(struct made, unwind), .count = sizeof good.unwind},
          .functions = ARRAY(functions),
          .blocks = ARRAY(blocks),
          .steps = ARRAY(steps),
          .sites = ARRAY(sites),
          .patches = ARRAY(patches),
          .statistics = {.body_bytes = 32}},
    .unwind = {.header = {PLAN_UNWIND_FORM, UNWIND(cie) - 4, 2},
               .entries = {{START(0), UNWIND(fdes[0])}, {START(14), UNWIND(fdes[1])}},
               .cie = {.bytes = 4},
               .fdes = {FDE(0, 0, 14), FDE(1, 14, 18)}},
    .functions = {{0, 10, PLAN_TRANSLATED}, {16, 10, PLAN_TRANSLATED}},
    .blocks = {{0, 0, 0, 2}, {16, 14, 2, 2}},
    .steps = {{4, 10}, {6, 4}, {5, 8}, {5, 10}},
    .sites = {{40, 0, 8, PLAN_READ}, {52, 16, 4, PLAN_WRITE}},
    .patches = {{.original = 0, .bytes = 5}, {.original = 16, .bytes = 2}},
};

static uint8_t *pages, *end;
static struct made *made;
static struct plan_view view;

static int set_up(void **state)
{
    size_t bytes = 4 * 4096;

    (void)state;
    pages = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end = pages + bytes;
    return mprotect(end, 4096, PROT_NONE);
}

static const char *verify(void)
{
    made->h.checksum = plan_checksum(made, sizeof *made);
    return plan_verify(&view, made, sizeof *made);
}

static void reset(void)
{
    made = (struct made *)(end - sizeof *made);
    memcpy(made, &good, sizeof good);
}

static void a_good_plan_maps_both_ways(void **state)
{
    (void)state;
    reset();
    assert_null(verify());
    assert_int_equal(plan_copy_of(&view, 0), 0);
    assert_int_equal(plan_copy_of(&view, 4), 10);
    assert_int_equal(plan_copy_of(&view, 21), 22);
    assert_int_equal(plan_copy_of(&view, 5), PLAN_NOWHERE);
    assert_int_equal(plan_copy_of(&view, 12), PLAN_NOWHERE);
    assert_int_equal(plan_original_of(&view, 9), 0);
    assert_int_equal(plan_original_of(&view, 10), 4);
    assert_int_equal(plan_original_of(&view, 31), 21);
    assert_int_equal(plan_original_of(&view, 35), PLAN_NOWHERE); /* routines */
    assert_int_equal(plan_original_of(&view, 41), 0);
    assert_int_equal(plan_original_of(&view, 63), 16);
    assert_int_equal(plan_original_of(&view, 64), PLAN_NOWHERE);
    assert_int_equal(plan_return_of(&view, 9), 4); /* code of its step follows the call */
    assert_int_equal(plan_return_of(&view, 10), 4);
    assert_int_equal(plan_return_of(&view, 32), 26);
    assert_int_equal(plan_return_of(&view, 0), PLAN_NOWHERE);
    assert_int_equal(plan_return_of(&view, 40), PLAN_NOWHERE);
    assert_int_equal(plan_end_of(&view, 0), 14);
    assert_int_equal(plan_end_of(&view, 13), 14);
    assert_int_equal(plan_end_of(&view, 14), 32); /* the last one: the end of the body */
    assert_int_equal(plan_end_of(&view, 31), 32);
    assert_int_equal(plan_end_of(&view, 41), PLAN_NOWHERE);
    assert_null(plan_site_at(&view, 39));
    assert_ptr_equal(plan_site_at(&view, 51), &view.sites[0]);
}

/* A change of any byte that leaves the rest as it was. */
static void each_byte_counts(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof good; at++) {
        reset();
        made->h.checksum = plan_checksum(made, sizeof *made);
        ((uint8_t *)made)[at] ^= 0x10;
        assert_non_null(plan_verify(&view, made, sizeof *made));
    }
}

#define REFUSED(change)        \
    do {                       \
        reset();               \
        change;                \
        if (!verify())         \
            fail_msg(#change); \
    } while (0)

static void each_part_is_verified(void **state)
{
    (void)state;
    REFUSED(made->h.magic++);
    REFUSED(made->h.version++);
    REFUSED(made->h.file_bytes--);
    REFUSED(made->h.handler = 1);
    REFUSED(made->h.text_bytes = 1ull << 31);
    REFUSED(made->h.distance = INT64_MIN);
    REFUSED(made->h.distance = 1ll << 32);
    REFUSED(made->h.distance = -63);
    REFUSED(made->h.distance = 40);
    REFUSED(made->h.build_id_bytes = PLAN_BUILD_ID_MOST + 1);
    REFUSED(made->h.statistics.body_bytes = 65);
    REFUSED(made->h.copy.offset += 4096);
    REFUSED(made->h.copy.count = UINT64_MAX);
    REFUSED(made->h.unwind.offset += 4096);
    REFUSED(made->h.unwind.count = 4);
    REFUSED(made->h.unwind.count = UINT64_MAX);
    REFUSED(made->unwind.header.form++);
    REFUSED(made->unwind.header.frames++);
    REFUSED(made->unwind.header.count = UINT32_MAX);
    REFUSED(made->unwind.entries[1].start = START(0));
    REFUSED(made->unwind.entries[1].description = UNWIND(fdes[0]));
    REFUSED(made->unwind.entries[1].description = -4);
    REFUSED(made->unwind.entries[0].start = made->unwind.fdes[0].start = INT32_MIN);
    REFUSED(made->unwind.fdes[0].start++);
    REFUSED(made->unwind.fdes[0].cie = 0);
    REFUSED(made->unwind.fdes[0].cie = UINT32_MAX);
    REFUSED(made->unwind.fdes[1].bytes = 8);
    REFUSED(made->unwind.fdes[1].bytes = 13);
    REFUSED(made->unwind.fdes[1].range = 19);
    REFUSED(made->h.functions.count = UINT64_MAX / 12 + 1);
    REFUSED(made->h.blocks.offset++);
    REFUSED(made->h.steps.offset = sizeof good);
    REFUSED(made->h.sites.offset = UINT64_MAX - 3);
    REFUSED(made->h.patches.count++);
    REFUSED(made->functions[1].start = 9);
    REFUSED(made->functions[1].bytes = 25);
    REFUSED(made->functions[0].state = PLAN_STATE_COUNT);
    REFUSED(made->blocks[0].first = UINT32_MAX);
    REFUSED(made->blocks[1].first = 3);
    REFUSED(made->blocks[1].count = 0);
    REFUSED(made->blocks[1].original = 9);
    REFUSED(made->blocks[1].copy = 13);
    REFUSED(made->steps[3].original = 20);
    REFUSED(made->steps[3].copy = 11);
    REFUSED(made->sites[0].cold = 31);
    REFUSED(made->sites[1].cold = 40);
    REFUSED(made->sites[1].cold = 64);
    REFUSED(made->sites[0].original = 40);
    REFUSED(made->sites[0].bytes = 0);
    REFUSED(made->sites[0].kind = 4);
    REFUSED(made->patches[0].bytes = 3);
    REFUSED(made->patches[1].original = 4);
    REFUSED(made->patches[1].original = 39);
}

static void a_cut_plan_is_refused(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < sizeof good; bytes++) {
        uint8_t *cut = end - ((bytes + 7) & ~7ul);
        memcpy(cut, &good, bytes);
        if (bytes >= PLAN_COPY_OFFSET)
            ((struct plan_header *)cut)->file_bytes = bytes;
        assert_non_null(plan_verify(&view, cut, bytes));
    }
}

/* What is accepted can be used: no address leads outside. */
static void random_damage_never_leads_outside(void **state)
{
    unsigned accepted = 0;

    (void)state;
    srand(1);
    for (unsigned round = 0; round < 200000; round++) {
        reset();
        for (int n = rand() % 3; n >= 0; n--) {
            size_t at = (size_t)rand() % (2 * sizeof good.h);
            if (at >= sizeof good.h)
                at = sizeof good - 1 - (at - sizeof good.h) % (sizeof good - PLAN_COPY_OFFSET);
            ((uint8_t *)made)[at] = (uint8_t)(rand() & 1 ? rand() : 1 << rand() % 8);
        }
        if (verify())
            continue;
        accepted++;
        for (uint32_t n = 0; n < 80; n++) {
            plan_copy_of(&view, n);
            plan_original_of(&view, n);
            plan_return_of(&view, n);
        }
    }
    assert_true(accepted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_plan_maps_both_ways),
        cmocka_unit_test(each_byte_counts),
        cmocka_unit_test(each_part_is_verified),
        cmocka_unit_test(a_cut_plan_is_refused),
        cmocka_unit_test(random_damage_never_leads_outside),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
