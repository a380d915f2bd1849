/*
 * test_bits.c - the arithmetic of include/format/bits.h, at its limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bits.h"

#include <cmocka.h>

static void rounding(void **state)
{
    (void)state;
    for (uint64_t align = 1; align; align *= 2) {
        assert_int_equal(align_up(0, align), 0);
        assert_int_equal(align_up(1, align), align);
        assert_int_equal(align_up(align, align), align);
        assert_int_equal(align_down(align - 1, align), 0);
        assert_int_equal(align_down(align, align), align);
        assert_int_equal(align_down(UINT64_MAX, align), 0 - align);
        assert_int_equal(align_up(0 - align, align), 0 - align);
    }
    for (uint64_t n = 0; n < 5000; n++) {
        assert_int_equal(align_up(n, 64), (n + 63) / 64 * 64);
        assert_int_equal(align_down(n, 64), n / 64 * 64);
    }
}

static void powers(void **state)
{
    (void)state;
    assert_false(is_pow2(0));
    for (unsigned i = 0; i < 64; i++) {
        uint64_t power = 1ull << i;
        assert_true(is_pow2(power));
        assert_int_equal(log2_floor(power), i);
        assert_int_equal(log2_floor(power | (power - 1)), i);
        if (i > 1) {
            assert_false(is_pow2(power - 1));
            assert_false(is_pow2(power + 1));
        }
    }
}

static void checked(void **state)
{
    (void)state;
    uint64_t out = 7;
    assert_true(checked_add(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
    out = 7;
    assert_false(checked_add(UINT64_MAX, 1, &out));
    assert_false(checked_add(1ull << 63, 1ull << 63, &out));
    assert_false(checked_mul(1ull << 32, 1ull << 32, &out));
    assert_false(checked_mul(UINT64_MAX, 2, &out));
    assert_int_equal(out, 7); /* refused: unchanged */
    assert_true(checked_mul(1ull << 32, (1ull << 32) - 1, &out));
    assert_true(out == 0xffffffff00000000ull);
    assert_true(checked_mul(0, UINT64_MAX, &out));
    assert_int_equal(out, 0);
    assert_true(checked_add(out, 5, &out)); /* the result may be an operand */
    assert_int_equal(out, 5);
}

static void ranges(void **state)
{
    (void)state;
    for (uint64_t total = 0; total < 12; total++)
        for (uint64_t off = 0; off < 14; off++)
            for (uint64_t len = 0; len < 14; len++)
                assert_int_equal(range_inside(off, len, total), off + len <= total);
    assert_false(range_inside(UINT64_MAX, 2, 100));
    assert_false(range_inside(2, UINT64_MAX, 100));
    assert_false(range_inside(UINT64_MAX - 1, 3, UINT64_MAX));
    assert_true(range_inside(0, UINT64_MAX, UINT64_MAX));
    assert_true(range_inside(UINT64_MAX, 0, UINT64_MAX));
}

static void counting(void **state)
{
    (void)state;
    struct {
        char a[3];
    } three[7];
    assert_int_equal(countof(three), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding), cmocka_unit_test(powers),   cmocka_unit_test(checked),
        cmocka_unit_test(ranges),   cmocka_unit_test(counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
