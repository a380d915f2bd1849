/*
 * test_reach_kinds.c - a heap with more different groups than there are group numbers: every block
 * has a stack of its own.  By their numbers, and in no order of addresses, blocks are
 *
 *   0 reachable from a root | 20000 reachable from those | 40000 interior | 50000 indirect of those
 *   60000 lost              | 70000 indirectly lost
 *
 * and every seventh is inherited.
 */
#include "reach_slab.h"

#define BLOCKS 80000u
#define SLOT_BYTES 32u

static const struct {
    uint32_t end; /* end of this range of numbers */
    enum reach reach;
    uint32_t to; /* points to the block with the number plus this */
} part[] = {{20000, REACH_REACHABLE, 20000}, {40000, REACH_REACHABLE, 0},
            {50000, REACH_INTERIOR, 10000},  {60000, REACH_INDIRECT, 0},
            {70000, REACH_LOST, 10000},      {80000, REACH_LOST_INDIRECT, 0}};

static struct {
    struct slab_heap in;
    uint64_t root[BLOCKS];
    uint32_t roots;
} many;

static uint32_t part_of(uint32_t i)
{
    uint32_t p = 0;
    while (i >= part[p].end)
        p++;
    return p;
}

static uint64_t start_of(uint32_t i)
{
    return (uintptr_t)many.in.memory + (uint64_t)(i * 7919ull % BLOCKS) * SLOT_BYTES;
}

static uint32_t bytes_of(uint32_t i)
{
    return 8 + i % 24;
}

static bool is_counted(uint32_t i)
{
    return i % 7 != 0;
}

static bool is_new(uint32_t i)
{
    return is_counted(i) && i % 2;
}

static void make_block(uint32_t i)
{
    const uint64_t slot = (start_of(i) - (uintptr_t)many.in.memory) / SLOT_BYTES;
    const uint32_t p = part_of(i), mark = is_counted(i) ? 1 + i % 2 : MARK_INHERITED;
    atomic_init(&many.in.record[slot].word, here_word(BLOCK_LIVE, 0, mark, bytes_of(i)));
    atomic_init(&many.in.record[slot].stacks, (i + 1ull) << 32);
    many.in.memory[slot * SLOT_BYTES / 8] = part[p].to ? start_of(i + part[p].to) : 0;
    if (p == 0 || part[p].reach == REACH_INTERIOR)
        many.root[many.roots++] = start_of(i) + (p ? 1 : 0);
}

static void make_many(void)
{
    slab_heap_begin(&many.in, BLOCKS, SLOT_BYTES, BLOCKS + 1, 0);
    for (uint32_t i = 0; i < BLOCKS; i++)
        make_block(i);
}

static void check_group(const struct leak_group *g)
{
    const uint32_t i = g->stack - 1, p = part_of(i);
    const bool owner = part[p].reach == REACH_INTERIOR || part[p].reach == REACH_LOST;
    const uint32_t target = i + part[p].to, counted = owner && is_counted(target);
    assert_int_equal(g->reach, part[p].reach);
    assert_true(g->block == start_of(i) && g->block_bytes == bytes_of(i));
    assert_int_equal(g->blocks, is_counted(i));
    assert_int_equal(g->bytes, is_counted(i) ? bytes_of(i) : 0);
    assert_int_equal(g->new_blocks, is_new(i));
    assert_int_equal(g->new_bytes, is_new(i) ? bytes_of(i) : 0);
    assert_int_equal(g->indirect_blocks, counted);
    assert_int_equal(g->indirect_bytes, counted ? bytes_of(target) : 0);
    assert_true(g->blocks || g->indirect_blocks);
}

static void more_than_there_are_numbers(void **state)
{
    (void)state;
    const struct reach_rules rules = {.mark_since = 2};
    make_many();
    uint64_t bytes = reach_room(&many.in.heap, false);
    uint32_t count, blocks = 0, want = 0;
    void *scratch = calloc(1, bytes);
    struct reach_scan *r = reach_begin(scratch, bytes, &many.in.heap, &rules);
    reach_root(r, many.root, many.roots, ROOT_AT, ROOT_NUMBER);
    reach_inside(r);
    reach_lost(r);
    const struct leak_group *g = reach_groups(r, &count);
    for (uint32_t i = 0; i < count; i++) {
        check_group(&g[i]);
        blocks += (uint32_t)g[i].blocks;
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        want += is_counted(i);
    assert_int_equal(blocks, want);
    free(scratch);
    slab_heap_end(&many.in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_there_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
