/*
 * test_classify.c - an address in a slab, compared with a simple definition, byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow.h"

#include <cmocka.h>

static enum verdict plain(uint64_t offset, uint32_t slot_bytes, uint32_t slots)
{
    if (offset >= (uint64_t)slots * slot_bytes)
        return PTR_UNUSED;
    return offset % slot_bytes ? PTR_INSIDE : PTR_START;
}

static void check(uint64_t offset, uint32_t slot_bytes, uint32_t slots)
{
    struct slot_position place = classify_in_slab(offset, slot_bytes, slots);
    assert_int_equal(place.verdict, plain(offset, slot_bytes, slots));
    if (place.verdict == PTR_UNUSED)
        return;
    assert_int_equal(place.slot, offset / slot_bytes);
    assert_int_equal(place.offset, offset % slot_bytes);
}

static void every_byte(void **state)
{
    (void)state;
    static const uint32_t slot_bytes[] = {16, 48, 80, 240, 320, 1792, 2048, 20480, 32768};
    for (size_t i = 0; i < countof(slot_bytes); i++) {
        uint32_t slab = (uint32_t)align_up(slot_bytes[i], 65536), slots = slab / slot_bytes[i];
        for (uint64_t offset = 0; offset < slab + 64; offset++)
            check(offset, slot_bytes[i], slots);
    }
}

/* Addresses beyond the largest slab do not wrap back into it. */
static void far_away(void **state)
{
    (void)state;
    for (unsigned bit = 17; bit < 64; bit++) {
        check(1ull << bit, 16, 4096);
        check((1ull << bit) + 16, 48, 1365);
        check(0 - (1ull << bit), 32768, 16);
    }
    check(UINT64_MAX, 16, 4096);
    check(0, 16, 0);
    check(31, 32, 1);
    check(32, 32, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_byte), cmocka_unit_test(far_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
