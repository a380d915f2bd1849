/*
 * test_access.c - the access model, compared with a simple definition, byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "format/format.h"

#include <cmocka.h>

#define START 1000u

/* Is this byte one of the block's? */
static bool is_own(uint64_t at, const struct access_block *b)
{
    bool in_use = b->state == BLOCK_LIVE || b->state == BLOCK_INHERITED;
    return in_use && at >= b->start && at < b->start + b->bytes;
}

static uint64_t plain_allowed(uint64_t at, uint64_t bytes, const struct access_block *b)
{
    uint64_t n = 0;
    while (n < bytes && is_own(at + n, b))
        n++;
    return n;
}

static void check(uint64_t at, uint64_t bytes, const struct access_block *b)
{
    struct access_verdict v = access_check(at, bytes, b);
    uint64_t allowed = plain_allowed(at, bytes, b);
    assert_int_equal(v.state == ACCESS_ALLOCATED, allowed == bytes);
    if (allowed == bytes)
        return;
    assert_int_equal(v.allowed, allowed);
    assert_int_equal(v.state, b->state == BLOCK_NEVER ? ACCESS_UNALLOCATED
                              : at < b->start         ? ACCESS_REDZONE
                              : b->state == BLOCK_LIVE || b->state == BLOCK_INHERITED
                                  ? ACCESS_REDZONE
                                  : ACCESS_FREED);
    if (v.state != ACCESS_REDZONE)
        return;
    uint64_t end = b->start + b->bytes;
    assert_int_equal(v.is_before, at < b->start);
    if (v.is_before)
        assert_int_equal(v.distance, at + bytes < b->start ? b->start - at - bytes : 0);
    else
        assert_int_equal(v.distance, at > end ? at - end : 0);
}

static void every_range(void **state)
{
    (void)state;
    for (uint32_t s = BLOCK_NEVER; s <= BLOCK_INHERITED; s++)
        for (uint64_t size = 0; size <= 20; size++)
            for (uint64_t at = START - 12; at < START + 32; at++)
                for (uint64_t bytes = 0; bytes <= 24; bytes++)
                    check(at, bytes, &(struct access_block){START, size, s});
}

/* Lengths that wrap around are not allowed. */
static void large_ranges(void **state)
{
    (void)state;
    struct access_block b = {START, 100, BLOCK_LIVE};
    for (unsigned bit = 7; bit < 64; bit++) {
        assert_int_equal(access_check(START + 50, 1ull << bit, &b).allowed, 50);
        assert_int_equal(access_check(START + 50, 0 - (1ull << bit), &b).allowed, 50);
        assert_int_equal(access_check(START + 100 + (1ull << bit), 1, &b).state, ACCESS_REDZONE);
    }
    assert_int_equal(access_check(START, UINT64_MAX, &b).allowed, 100);
    assert_int_equal(access_check(START + 50, 50, &b).state, ACCESS_ALLOCATED);
}

static void owners(void **state)
{
    (void)state;
    struct access_block own = {1000, 21, BLOCK_LIVE}, next = {1032, 8, BLOCK_LIVE};
    assert_ptr_equal(access_owner(1000, 8, &own, &next), &own);
    assert_ptr_equal(access_owner(1020, 8, &own, &next), &own); /* begins in it */
    assert_ptr_equal(access_owner(1021, 1, &own, &next), &own);
    assert_ptr_equal(access_owner(1031, 1, &own, &next), &next);
    assert_ptr_equal(access_owner(1026, 1, &own, &next), &own); /* 5 bytes from each: the end */
    assert_ptr_equal(access_owner(1027, 1, &own, &next), &next);
    assert_ptr_equal(access_owner(1031, 1, &own, NULL), &own);
    next.state = BLOCK_FREED;
    assert_ptr_equal(access_owner(1031, 1, &own, &next), &own);
    next.state = BLOCK_LIVE;
    own.state = BLOCK_FREED;
    assert_ptr_equal(access_owner(1020, 1, &own, &next), &own); /* inside of what was freed */
    assert_ptr_equal(access_owner(1021, 1, &own, &next), &next);
    own.state = BLOCK_NEVER;
    assert_ptr_equal(access_owner(1000, 1, &own, &next), &next); /* the slot before the first */
    next.state = BLOCK_FREE;
    assert_ptr_equal(access_owner(1000, 1, &own, &next), &own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_range),
                                       cmocka_unit_test(large_ranges), cmocka_unit_test(owners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
