/*
 * test_size_class.c - every request gets a slot that holds it and a redzone byte; the division by
 * slot sizes is exact for every offset in every class of slab.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap.h"

#include <cmocka.h>

#define REQUESTS 40000u

static void classes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ALL_CLASSES; i++) {
        const struct size_class *c = &size_class[i];
        uint64_t slab = c->units * UNIT_BYTES;
        assert_int_equal(c->slot_bytes % 16, 0);
        assert_true(c->slots <= SLOTS_MAX && c->slots >= (i < SIZE_CLASSES ? 16 : 4));
        assert_true((uint64_t)c->slots * c->slot_bytes <= slab);
        assert_true((uint64_t)(c->slots + 1) * c->slot_bytes > slab);
        if (i && i < SIZE_CLASSES)
            assert_true(size_class[i - 1].slot_bytes < c->slot_bytes);
    }
    assert_int_equal(size_class[SIZE_CLASSES - 1].slot_bytes, SLOT_BYTES_MAX);
}

static void requests(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (size_t request = 0; request < REQUESTS; request++) {
        uint32_t class = class_of(request);
        assert_true(class >= last); /* monotone */
        last = class;
        if (class >= SIZE_CLASSES) {
            assert_true(request >= SLOT_BYTES_MAX);
            continue;
        }
        uint32_t slot = size_class[class].slot_bytes;
        assert_true(slot >= request + 1);
        if (class)
            assert_true(size_class[class - 1].slot_bytes < request + 1); /* the smallest class */
        if (request >= 256)
            assert_true((slot - request - 1) * 5 <= slot); /* at most 20 % of slack */
    }
    assert_int_equal(last, SIZE_CLASSES);
    for (unsigned bit = 15; bit < 64; bit++)
        assert_true(class_of((size_t)1 << bit) >= SIZE_CLASSES);
    assert_true(class_of(SIZE_MAX) >= SIZE_CLASSES);
}

/* The first class in which every slot is aligned; slabs begin at multiples of 64 KiB. */
static uint32_t plain_class(size_t request, size_t align)
{
    uint32_t class = 0;
    while (class < SIZE_CLASSES &&
           (size_class[class].slot_bytes <= request || size_class[class].slot_bytes % align))
        class ++;
    return class;
}

static void alignments(void **state)
{
    (void)state;
    for (size_t align = 1; align <= 4 * UNIT_BYTES; align *= 2)
        for (size_t request = 0; request < REQUESTS; request += request < 1200 ? 1 : 61) {
            uint32_t got = class_of_aligned(request, align), want = plain_class(request, align);
            assert_true(got == want || (got >= SIZE_CLASSES && want >= SIZE_CLASSES));
        }
}

/*
 * One slab of each class, in a heap that consists only of its table: multiplication is compared
 * with division for every byte.
 */
static struct unit table[16];

static void division(void **state)
{
    (void)state;
    heap.base = (uintptr_t)1 << 40;
    heap.unit = table;
    for (uint32_t class = 0; class < ALL_CLASSES; class ++) {
        const struct size_class *c = &size_class[class];
        memset(table, 0, sizeof table);
        table[1].owner = owner_of(class + 1, 0);
        for (uint32_t i = 1; i < c->units; i++)
            table[1 + i].back = i;
        heap.bytes = (1 + c->units) * UNIT_BYTES;
        for (uint64_t at = 0; at < c->units * UNIT_BYTES; at++) {
            const char *p = (char *)heap.base + UNIT_BYTES + at;
            struct found hot = pool_find_hot(p), found = pool_find(p);
            uint64_t slot = at / c->slot_bytes, offset = at % c->slot_bytes;
            assert_true(((at >> 4) * c->magic >> 32) == slot); /* as in the hot path */
            enum verdict verdict = slot >= c->slots ? PTR_UNUSED : offset ? PTR_INSIDE : PTR_START;
            assert_int_equal(hot.verdict, verdict);
            assert_int_equal(found.verdict, verdict);
            if (verdict == PTR_UNUSED)
                continue;
            assert_true(hot.head == &table[1] && hot.kind == class + 1 && hot.slot == slot &&
                        hot.offset == offset);
            assert_true(found.head == hot.head && found.kind == hot.kind && found.slot == slot &&
                        found.offset == offset);
        }
    }
}

static void outside(void **state)
{
    (void)state;
    const uintptr_t end = heap.base + heap.bytes;
    const uintptr_t foreign[] = {0, 1, heap.base - 1, end, end + 1, UINTPTR_MAX};
    for (size_t i = 0; i < countof(foreign); i++) {
        assert_int_equal(pool_find((void *)foreign[i]).verdict, PTR_FOREIGN);
        assert_int_equal(pool_find_hot((void *)foreign[i]).verdict, PTR_FOREIGN);
    }
    assert_int_equal(pool_find((void *)heap.base).verdict, PTR_UNUSED); /* unit 0 holds nothing */
    assert_int_equal(pool_find_hot((void *)heap.base).verdict, PTR_UNUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),  cmocka_unit_test(requests), cmocka_unit_test(alignments),
        cmocka_unit_test(division), cmocka_unit_test(outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
