/*
 * test_byte_shadow.c - which parts of the byte shadow can be read and written: that of the heap always,
 * that of other addresses after a check or a poisoning has needed it, and that of itself never.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "byte_shadow.h"
#include "format/plan.h"
#include "heap_alone.h"
#include "heap_priv.h"

#include <cmocka.h>

#define FAR 0x300000000000ull /* where no mapping is */
#define POISONED 64u

static uintptr_t shadow_of(uintptr_t at)
{
    return (at >> 3) + PLAN_SHADOW;
}

/* A fault ends the child. */
static void write_shadow_of_heap(void)
{
    byte_shadow_forbid((void *)heap.base, POISONED, BYTE_SHADOW_FREED);
    byte_shadow_forbid((void *)(heap_space_end() - POISONED), POISONED, BYTE_SHADOW_FREED);
    MUST(*(const uint8_t *)shadow_of(heap.base) == BYTE_SHADOW_FREED);
}

static void start(void)
{
    heap_alone();
    MUST(byte_shadow_start() == 0 && byte_shadow_is_on);
}

/* Pieces that are opened may contain shadow of the heap. */
static void the_heap(void)
{
    start();
    write_shadow_of_heap();
    MUST(byte_shadow_open(shadow_of(heap.base - PAGE_BYTES)));
    MUST(byte_shadow_open(shadow_of(heap_space_end())));
    write_shadow_of_heap();
}

static void other_addresses(void)
{
    start();
    MUST(!os_is_readable(shadow_of(FAR)) && byte_shadow_open(shadow_of(FAR)));
    MUST(os_is_readable(shadow_of(FAR)) && *(const uint8_t *)shadow_of(FAR) == 0);
    MUST(!byte_shadow_open(shadow_of(shadow_of(FAR))) && !byte_shadow_open(FAR));
    MUST(!os_is_readable(shadow_of(shadow_of(FAR))));
    MUST(os_is_readable(shadow_of(0)) && os_is_readable(shadow_of(ADDRESSES_END - 1)));
    MUST(byte_shadow_contains(PLAN_SHADOW) && !byte_shadow_contains(PLAN_SHADOW - 1));
}

static void poison(void)
{
    start();
    byte_shadow_poison(FAR, POISONED);
    MUST(byte_shadow_unpoisoned(FAR - 8, POISONED) == 8);
    MUST(byte_shadow_open(shadow_of(FAR + (1u << 20))));
    byte_shadow_poison(FAR + POISONED, POISONED);
    MUST(byte_shadow_unpoisoned(FAR - 8, 2 * POISONED) == 8);
    byte_shadow_unpoison(FAR, 2 * POISONED);
    MUST(byte_shadow_unpoisoned(FAR, 2 * POISONED) == 2 * POISONED);
    byte_shadow_poison(FAR + 3, 5);
    MUST(byte_shadow_unpoisoned(FAR, 8) == 3 && *(const uint8_t *)shadow_of(FAR) == 3);
    byte_shadow_poison(FAR + 16, 3); /* its end is not poisoned */
    MUST(byte_shadow_unpoisoned(FAR + 16, 8) == 8);
    byte_shadow_unpoison(FAR, 6);
    MUST(byte_shadow_unpoisoned(FAR, 8) == 6);
    byte_shadow_poison(shadow_of(FAR), 8); /* not the program's memory */
    byte_shadow_poison(ADDRESSES_END - 8, 64);
}

IN_CHILD(the_heap)
IN_CHILD(other_addresses)
IN_CHILD(poison)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_heap),
        cmocka_unit_test(test_other_addresses),
        cmocka_unit_test(test_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
