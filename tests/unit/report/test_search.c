/*
 * test_search.c - number of items that begin at or before an address, compared with counting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basics.h"

struct item {
    uint64_t start;
    char more[5];
};

static const struct item items[] = {{3, ""}, {3, ""}, {4, ""},         {9, ""},
                                    {9, ""}, {9, ""}, {UINT64_MAX, ""}};

static void test_each_address(void **state)
{
    (void)state;
    for (size_t count = 0; count <= countof(items); count++)
        for (uint64_t i = 0; i < 12; i++) {
            uint64_t address = i == 11 ? UINT64_MAX : i;
            size_t want = 0;
            while (want < count && items[want].start <= address)
                want++;
            assert_int_equal(begun_before(items, count, sizeof items[0], address), want);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
