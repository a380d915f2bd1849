/*
 * test_guard.c - the pages of guarded blocks: which of them can be read, while a block is in use, after
 * its free, after a bad access, and when its units are used again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "guard.h"
#include "heap_priv.h"
#include "heap.h"
#include "heap_of_image.h"

#include <cmocka.h>

#define MANY 200u

static char *take_at(size_t n, size_t align, struct guard_place place, struct found *f)
{
    bool clean = false;
    char *p = guard_take(n, align, place, &clean, f);
    MUST(p && clean && guard_is_guarded(f));
    block_publish(pool_record(f, epoch_page->epoch), &(struct block_birth){.mark = MARK_FIRST});
    return p;
}

static char *take(size_t n, size_t align, enum guard_edge edge, struct found *f)
{
    char *p = take_at(n, align, (struct guard_place){edge, GUARD_GAP_ALIGNED}, f);
    MUST((uintptr_t)p % align == 0);
    return p;
}

static void give(const struct found *f)
{
    uint64_t was;
    MUST(block_retire(pool_record(f, epoch_page->epoch), 1, 0, &was));
    guard_give(f);
}

static bool is_readable(const char *p)
{
    return os_is_readable((uintptr_t)p);
}

static void one(size_t n, size_t align, enum guard_edge edge)
{
    struct found f;
    char *p = take(n, align, edge, &f), *end = p + align_up(n, align);
    char *outside = edge == GUARD_EDGE_END ? end : p - 1;
    for (size_t i = 0; i < n; i++)
        MUST(p[i] == 0);
    memset(p, 1, n);
    MUST(pool_find(p).verdict == PTR_START && pool_room(&f) >= n);
    MUST(n < 2 || pool_inside(&(struct found){PTR_INSIDE, f.head, f.kind, 0, 0},
                              (uintptr_t)p + n - 1) == n - 1);
    MUST(!is_readable(outside) && guard_state_of((uintptr_t)outside) == GUARD_CLOSED);
    MUST(!n || guard_state_of((uintptr_t)p + n - 1) == GUARD_NONE);
    guard_open((uintptr_t)outside);
    MUST(is_readable(outside) && guard_state_of((uintptr_t)outside) == GUARD_OPENED);
    give(&f);
    MUST(!is_readable(outside) && (!n || (!is_readable(p) && !is_readable(p + n - 1))));
    MUST(guard_state_of((uintptr_t)p) == GUARD_CLOSED);
    guard_open((uintptr_t)p);
    MUST(is_readable(p) && guard_state_of((uintptr_t)p) == GUARD_OPENED);
}

static void sizes(void)
{
    static const size_t requests[] = {0, 1, 16, 40, 4095, 4096, 4097, 50000, 57344, 57345, 300000};
    for (size_t i = 0; i < countof(requests); i++)
        for (size_t align = 16; align <= 2048; align *= 8) {
            one(requests[i], align, GUARD_EDGE_END);
            one(requests[i], align, GUARD_EDGE_START);
        }
}

/* A byte `gap` bytes past the end is guarded, and the block as aligned as that allows. */
static void gaps(void)
{
    static const struct {
        size_t n, align;
        uint32_t gap;
        size_t aligned;
    } cells[] = {{9, 16, 0, 1},    {9, 16, 1, 2},    {9, 16, 2, 2},   {9, 16, 3, 4},
                 {9, 16, 6, 4},    {9, 16, 7, 16},   {9, 16, 15, 16}, {24, 16, 0, 8},
                 {24, 16, 7, 8},   {24, 16, 8, 16},  {16, 16, 0, 16}, {0, 16, 0, 16},
                 {4095, 16, 0, 1}, {4097, 16, 0, 1}, {100, 64, 0, 64}};
    for (size_t i = 0; i < countof(cells); i++) {
        struct found f;
        struct guard_place place = {GUARD_EDGE_END, cells[i].gap};
        char *p = take_at(cells[i].n, cells[i].align, place, &f);
        uintptr_t at = (uintptr_t)p;
        MUST(at % cells[i].aligned == 0 && (cells[i].aligned >= 16 || at % (2 * cells[i].aligned)));
        MUST(cells[i].align > 16 || !is_readable(p + cells[i].n + cells[i].gap));
        memset(p, 1, cells[i].n);
        MUST(pool_find(p).verdict == PTR_START && pool_room(&f) >= cells[i].n);
        give(&f);
        MUST(!is_readable(p));
    }
}

/* Units of evicted blocks are used again, and the opened ones are guards again. */
static void reuse(void)
{
    static struct found f[MANY];
    uint64_t total, before, after;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < MANY; i++)
            take(100, 16, GUARD_EDGE_END, &f[i])[99] = 1;
        for (uint32_t i = 0; i < MANY; i++)
            give(&f[i]);
        guard_open((uintptr_t)large_start_of(f[0].head));
        heap_totals(&total, &before);
        MUST(guard_evict_all());
        heap_totals(&total, &after);
        MUST(after >= before + MANY * UNIT_BYTES);
    }
}

static void refused(void)
{
    const struct guard_place end_edge = {GUARD_EDGE_END, GUARD_GAP_ALIGNED};
    struct found f;
    bool clean;
    MUST(!guard_take(GUARD_BYTES_MAX + 1, 16, end_edge, &clean, &f));
    MUST(!guard_take(100, PAGE_BYTES, end_edge, &clean, &f));
    take(100, 16, GUARD_EDGE_END, &f);
    guard_open_all();
    MUST(is_readable((char *)large_start_of(f.head) - PAGE_BYTES));
    give(&f);
    MUST(is_readable((char *)large_start_of(f.head)));
    MUST(!guard_take(100, 16, end_edge, &clean, &f));
}

static void all(void)
{
    heap_of_image();
    sizes();
    gaps();
    reuse();
    refused();
}

static void all_by_mprotect(void)
{
    os_mark_missing(OS_GUARD_PAGES);
    all();
}

static void by_advice(void **state)
{
    (void)state;
    assert_int_equal(in_child(all), 0);
}

static void by_mprotect(void **state)
{
    (void)state;
    assert_int_equal(in_child(all_by_mprotect), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_advice),
        cmocka_unit_test(by_mprotect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
