/*
 * test_reach_words.c - each position of a pointer among words that are read several at a time,
 * heaps at addresses where the upper address halves change, slabs of very many shapes.
 */
#include "reach_here.h"

#include <sys/mman.h>

#define MOST 19u /* words: two times eight, and three */

static void words_of_a_root(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= MOST; count++) {
        for (uint32_t at = 0; at <= count; at++) {
            here_begin();
            here.root[at] = (uintptr_t)here_put(MIDDLE, 3, 64);
            here.roots = count;
            here_run();
            assert_int_equal(here_group(1)->reach, at < count ? REACH_REACHABLE : REACH_LOST);
            if (at < count)
                assert_int_equal(here_group(1)->at, ROOT_AT + at * 8);
        }
    }
    here_end();
}

/* Bytes past the requested size do not count, also in the middle of a word. */
static void words_of_a_block(void **state)
{
    (void)state;
    for (uint64_t bytes = 0; bytes <= MOST * 8; bytes++) {
        for (uint64_t at = 0; at <= MOST; at++) {
            here_begin();
            uint64_t *holder = here_put(WIDE, 1, bytes);
            here_root(holder);
            holder[at] = (uintptr_t)here_put(TINY, 4, 8);
            here_run();
            assert_int_equal(here_group(2)->reach, at < bytes / 8 ? REACH_REACHABLE : REACH_LOST);
        }
    }
    here_end();
}

/* Several pointers in one line, and others to addresses near the heap. */
static void words_together(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < 256; set++) {
        here_begin();
        uint64_t *holder = here_put(WIDE, 0, 64);
        here_root(holder);
        for (uint32_t i = 0; i < 8; i++) {
            uint64_t near = i % 2 ? here.heap.base - 8 : here.heap.base + here.heap.bytes;
            uint64_t *b = here_put(SMALL, i, 40);
            holder[i] = set >> i & 1 ? (uintptr_t)b : near;
        }
        here_run();
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(here_group(i + 2)->reach, set >> i & 1 ? REACH_REACHABLE : REACH_LOST);
    }
    here_end();
}

/* Any number of pointers at once, each to another block, and seven more, fewer than one batch. */
static void many_pointers(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 319; count++) {
        here_begin();
        uint64_t *holder = here_put(WIDE, 0, count * 8), *second = here_put(WIDE, 1, 56);
        here_root(holder);
        here_root(second);
        for (uint32_t i = 0; i < count + 7; i++)
            *(i < count ? holder + i : second + (i - count)) = (uintptr_t)here_put(TINY, i * 12, 8);
        here_run();
        for (uint32_t i = 1; i <= count + 9; i++)
            assert_int_equal(here_group(i)->reach, REACH_REACHABLE);
    }
    here_end();
}

/* ---- upper address halves -------------------------------------------------------------------- */

/* All blocks are in one group. */
static void check_all_reachable(const struct reach_heap *heap, const uint64_t *root, uint64_t roots,
                                uint64_t blocks)
{
    const struct reach_rules rules = {0};
    uint64_t bytes = reach_room(heap, false);
    uint32_t count;
    void *scratch = calloc(1, bytes);
    struct reach_scan *r = reach_begin(scratch, bytes, heap, &rules);
    reach_root(r, root, roots, ROOT_AT, 1);
    reach_inside(r);
    reach_lost(r);
    const struct leak_group *g = reach_groups(r, &count);
    assert_int_equal(count, 1);
    assert_int_equal(g->reach, REACH_REACHABLE);
    assert_int_equal(g->blocks, blocks);
    free(scratch);
}

/* A block in each unit, each pointing to the next but one; a root points to the first two. */
static void run_across(uint64_t base, uint32_t units)
{
    struct block_record *record = calloc(units, sizeof *record);
    struct reach_slab *slab = aligned_alloc(64, units * sizeof *slab);
    uint32_t *slab_of_unit = calloc(units, sizeof *slab_of_unit);
    for (uint32_t i = 0; i < units; i++) {
        uint64_t start = base + (uint64_t)i * UNIT;
        slab_of_unit[i] = i + 1;
        slab[i] = (struct reach_slab){.start = start,
                                      .records = &record[i],
                                      .request = 64,
                                      .stride = sizeof *record,
                                      .slots = 1,
                                      .first = i};
        atomic_init(&record[i].word, here_word(BLOCK_LIVE, 0, MARK_FIRST, 0));
        atomic_init(&record[i].stacks, 1ull << 32);
        memset((void *)(uintptr_t)start, 0, 64);
        *(uint64_t *)(uintptr_t)(start + i % 8 * 8) = i + 2 < units ? start + 2 * UNIT : 0;
    }
    const struct reach_heap heap = {
        base, (uint64_t)units * UNIT, slab_of_unit, slab, units, units, 1, 0, 0, NULL};
    const uint64_t root[2] = {base, base + UNIT};
    check_all_reachable(&heap, root, 2, units);
    free(slab_of_unit);
    free(slab);
    free(record);
}

static void upper_halves_change(void **state)
{
    (void)state;
    const uint32_t units = 24;
    const uint64_t read_epoch[] = {0x1100000000, 0x100000000 * 0x2000, 0x100000000 * 0x5000,
                                   0x100000000 * 0x7000};
    uint32_t tried = 0;
    for (uint32_t i = 0; i < sizeof read_epoch / sizeof *read_epoch; i++) {
        for (uint32_t below = 0; below <= units; below += 8) {
            void *at = (void *)(uintptr_t)(read_epoch[i] - (uint64_t)below * UNIT);
            void *p =
                mmap(at, units * UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            assert_true(p != MAP_FAILED);
            tried += p == at; /* at another address it is a valid heap, too */
            run_across((uintptr_t)p, units);
            munmap(p, units * UNIT);
        }
    }
    assert_true(tried > 0);
}

/* ---- many sizes ------------------------------------------------------------------------------ */

/*
 * Slabs of more shapes than a table holds: a block in the last slot of each points to the next
 * slab's.
 */
static void many_shapes(void **state)
{
    (void)state;
    enum { SHAPES_MADE = 100 };
    static _Alignas(1 << RTC_UNIT_SHIFT) unsigned char memory[SHAPES_MADE * UNIT];
    static struct block_record record[SHAPES_MADE][UNIT / 16];
    static struct reach_slab slab[SHAPES_MADE];
    static uint32_t slab_of_unit[SHAPES_MADE];
    struct reach_heap heap = {
        (uintptr_t)memory, sizeof memory, slab_of_unit, slab, SHAPES_MADE, 0, 1, 0, 0, NULL};
    uint64_t *last = NULL, first = 0;
    for (uint32_t i = 0; i < SHAPES_MADE; i++) {
        uint32_t slot_bytes = (i + 1) * 16, slots = UNIT / slot_bytes;
        slab_of_unit[i] = i + 1;
        slab[i] = (struct reach_slab){.start = heap.base + (uint64_t)i * UNIT,
                                      .records = record[i],
                                      .magic = ((1ull << 32) + i) / (i + 1),
                                      .stride = sizeof record[i][0],
                                      .slot_bytes = slot_bytes,
                                      .slots = slots,
                                      .first = heap.slots};
        heap.slots += slots;
        atomic_init(&record[i][slots - 1].word, here_word(BLOCK_LIVE, 0, MARK_FIRST, 15));
        atomic_init(&record[i][slots - 1].stacks, 1ull << 32);
        uint64_t start = slab[i].start + (uint64_t)(slots - 1) * slot_bytes;
        if (last)
            *last = start;
        else
            first = start;
        last = (uint64_t *)(uintptr_t)start;
    }
    check_all_reachable(&heap, &first, 1, SHAPES_MADE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_a_root),     cmocka_unit_test(words_of_a_block),
        cmocka_unit_test(words_together),      cmocka_unit_test(many_pointers),
        cmocka_unit_test(upper_halves_change), cmocka_unit_test(many_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
