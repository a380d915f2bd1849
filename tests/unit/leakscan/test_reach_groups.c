/*
 * test_reach_groups.c - unreachable blocks in the leak scan, and their sums: cycles, indirectly
 * lost blocks, inherited blocks, marks, heaps of unusual shapes.
 */
#include "reach_here.h"

/* ---- lost blocks ----------------------------------------------------------------------------- */

static void lost_alone(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64),
             *c = here_put(MIDDLE, 2, 64);
    a[0] = (uintptr_t)a;
    a[1] = (uintptr_t)here_byte(a, 8); /* a pointer to itself does not count */
    b[0] = b[1] = (uintptr_t)here_byte(c, 40);
    here_run();
    assert_int_equal(REACH(1), REACH_LOST);
    assert_int_equal(here_group(1)->indirect_blocks, 0);
    assert_int_equal(here_group(1)->witness, WITNESS_NONE);
    assert_int_equal(REACH(2), REACH_LOST);
    assert_int_equal(REACH(3), REACH_LOST_INDIRECT);
    assert_int_equal(here_group(2)->indirect_blocks, 1);
    here_end();
}

/* Edges of `n` blocks of 64 bytes, 3 words each; none is reachable. */
static void lost_graph(uint32_t n, uint32_t edges, const uint8_t (*edge)[2])
{
    uint64_t *block[8];
    uint32_t used[8] = {0};
    here_begin();
    for (uint32_t i = 0; i < n; i++)
        block[i] = here_put(MIDDLE, i, 64);
    for (uint32_t i = 0; i < edges; i++)
        block[edge[i][0]][used[edge[i][0]]++] = (uintptr_t)block[edge[i][1]] + (i & 1 ? 12 : 0);
    here_run();
}

static void cycle_with_tail(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{2, 3}, {3, 4}, {4, 2}, {4, 1}, {1, 0}};
    lost_graph(5, countof(edge), edge);
    static const enum reach want[] = {REACH_LOST_INDIRECT, REACH_LOST_INDIRECT, REACH_CYCLE,
                                      REACH_LOST_INDIRECT, REACH_LOST_INDIRECT};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(REACH(i + 1), want[i]);
    const struct leak_group *g = here_group(3);
    assert_int_equal(g->indirect_blocks, 4);
    assert_int_equal(g->indirect_bytes, 4 * 64);
    assert_int_equal(g->witness, WITNESS_BLOCK);
    assert_int_equal(g->from_stack, 5);
    here_end();
}

/*
 * A later cycle leads to a block of an earlier one that is not its lowest: one cycle is reported.
 */
static void cycle_after_cycle(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{0, 1}, {1, 0}, {2, 3}, {3, 2}, {3, 1}};
    lost_graph(4, countof(edge), edge);
    assert_int_equal(REACH(1), REACH_LOST_INDIRECT);
    assert_int_equal(REACH(2), REACH_LOST_INDIRECT);
    assert_int_equal(REACH(3), REACH_CYCLE);
    assert_int_equal(here_group(3)->indirect_blocks, 3);
    assert_int_equal(REACH(4), REACH_LOST_INDIRECT);
    here_end();
}

/* Two cycles with one common tail, which is counted once, and a block that leads to a cycle. */
static void separate_cycles(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{0, 1}, {1, 0}, {1, 4}, {2, 3}, {3, 2},
                                      {2, 4}, {5, 6}, {6, 7}, {7, 6}};
    lost_graph(8, countof(edge), edge);
    assert_int_equal(REACH(1), REACH_CYCLE);
    assert_int_equal(REACH(3), REACH_CYCLE);
    assert_int_equal(here_group(1)->indirect_blocks + here_group(3)->indirect_blocks, 3);
    assert_int_equal(REACH(6), REACH_LOST);
    assert_int_equal(here_group(6)->indirect_blocks, 2);
    here_end();
}

/* The referrer is the other block, not the block itself, although its own pointer is read last. */
static void cycle_of_one(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(LARGE, 0, 2 * UNIT - 64), *b = here_put(LARGE_TOO, 0, 64);
    a[0] = (uintptr_t)b;
    a[10000] = (uintptr_t)a;
    b[0] = (uintptr_t)a;
    here_run();
    assert_int_equal(REACH(1), REACH_CYCLE);
    assert_int_equal(here_group(1)->from_stack, 2);
    here_end();
}

static void two_cycles_joined(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{0, 1}, {1, 0}, {2, 3}, {3, 2}, {1, 2}, {3, 0}};
    lost_graph(4, countof(edge), edge);
    assert_int_equal(REACH(1), REACH_CYCLE);
    assert_int_equal(here_group(1)->indirect_blocks, 3);
    here_end();
}

/* ---- inherited, roots by flag, marks, groups ------------------------------------------------- */

static void inherited(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(PARENTS, 0, 64), *b = here_put(MIDDLE, 0, 64);
    uint64_t *c = here_put(MIDDLE, 1, 64), *d = here_put(MIDDLE, 2, 64),
             *e = here_put(MIDDLE, 3, 64);
    atomic_init(&here.record[MIDDLE][1].word, here_word(BLOCK_LIVE, 0, MARK_INHERITED, 64));
    atomic_init(&here.record[MIDDLE][2].word, BLOCK_INHERITED);
    atomic_init(&here.record[MIDDLE][2].stacks, 0);
    here_root(a);
    a[0] = (uintptr_t)b;
    b[0] = (uintptr_t)c;
    c[0] = (uintptr_t)d;
    d[8] = (uintptr_t)e; /* within 79 bytes: the requested size is unknown */
    here_run();
    assert_int_equal(here.groups, 2);
    assert_int_equal(REACH(2), REACH_REACHABLE);
    assert_int_equal(REACH(5), REACH_REACHABLE);
    here.roots = 0;
    here_run();
    assert_int_equal(here.groups, 3);
    assert_int_equal(here_group(1)->reach, REACH_LOST); /* the parent's, with indirect blocks */
    assert_int_equal(here_group(1)->blocks, 0);
    assert_int_equal(here_group(1)->indirect_blocks, 2);
    assert_true(here_group(1)->block == (uintptr_t)a);
    here_end();
}

static void roots_by_flag(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64),
             *c = here_put(MIDDLE, 2, 64);
    atomic_init(&here.record[MIDDLE][1].word, here_word(BLOCK_LIVE, BLOCK_FLAG_ROOT, 1, 64));
    (void)here_put(MIDDLE, 3, 64);
    atomic_init(&here.record[MIDDLE][3].word, here_word(BLOCK_LIVE, BLOCK_FLAG_IN_HANDLER, 1, 64));
    b[0] = (uintptr_t)a;
    b[1] = (uintptr_t)here_byte(c, 4);
    here_root(here_byte(b, 4)); /* an interior pointer: it is reachable all the same */
    here_run();
    assert_int_equal(REACH(2), REACH_REACHABLE);
    assert_int_equal(here_group(2)->witness, WITNESS_SELF);
    assert_int_equal(REACH(1), REACH_REACHABLE);
    assert_true(here_group(1)->from == (uintptr_t)b);
    assert_int_equal(REACH(3), REACH_INTERIOR);
    assert_int_equal(REACH(4), REACH_LOST);
    here_end();
}

static void marks(void **state)
{
    (void)state;
    here_begin();
    static const uint32_t mark[] = {1, 2, 3, BLOCK_MARK_MASK};
    for (uint32_t i = 0; i < 4; i++) {
        (void)here_put(MIDDLE, i, 10 + i);
        atomic_init(&here.record[MIDDLE][i].word, here_word(BLOCK_LIVE, 0, mark[i], 10 + i));
        atomic_init(&here.record[MIDDLE][i].stacks, 5ull << 32);
    }
    static const struct {
        uint32_t since;
        uint32_t blocks;
        uint32_t bytes;
    } want[] = {{0, 4, 46}, {3, 2, 25}, {4, 1, 13}, {BLOCK_MARK_MASK, 1, 13}, {1000, 1, 13}};
    for (uint32_t i = 0; i < countof(want); i++) {
        here.rules.mark_since = want[i].since;
        here_run();
        assert_int_equal(here.groups, 1);
        assert_int_equal(here.group[0].blocks, 4);
        assert_int_equal(here.group[0].bytes, 46);
        assert_int_equal(here.group[0].new_blocks, want[i].blocks);
        assert_int_equal(here.group[0].new_bytes, want[i].bytes);
    }
    here_end();
}

/* A group has one stack and one class; all data of its example is from one block. */
static void groups(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64);
    for (uint32_t i = 1; i <= 6; i++) {
        (void)here_put(MIDDLE, i, 8 * i);
        atomic_init(&here.record[MIDDLE][i].stacks, 9ull << 32);
        if (i <= 2)
            a[i] = (uintptr_t)a + 80 * i;
        else if (i == 3)
            a[i] = (uintptr_t)a + 80 * i + 3;
    }
    here_root("");
    here_root(a);
    here_run();
    assert_int_equal(here.groups, 4);
    for (uint32_t i = 0; i < here.groups; i++) {
        const struct leak_group *g = &here.group[i];
        uint64_t nth = (g->block - (uintptr_t)a) / 80;
        assert_int_equal(g->stack, nth ? 9 : 1);
        assert_int_equal(g->block_bytes, nth ? 8 * nth : 64);
        if (g->stack == 1) {
            assert_int_equal(g->witness, WITNESS_ROOT);
            assert_true(g->at == ROOT_AT + 8 && g->value == (uintptr_t)a && g->from == 0);
            assert_int_equal(g->root, ROOT_NUMBER);
            assert_int_equal(g->thread, 7);
            continue;
        }
        static const uint32_t blocks[REACH_COUNT] = {
            [REACH_REACHABLE] = 2, [REACH_INTERIOR] = 1, [REACH_LOST] = 3};
        static const uint32_t bytes[REACH_COUNT] = {
            [REACH_REACHABLE] = 24, [REACH_INTERIOR] = 24, [REACH_LOST] = 120};
        assert_int_equal(g->blocks, blocks[g->reach]);
        assert_int_equal(g->bytes, bytes[g->reach]);
        if (g->reach == REACH_LOST)
            continue;
        assert_int_equal(g->witness, WITNESS_BLOCK);
        assert_true(g->at == (uintptr_t)(a + nth) && g->value == a[nth]);
        assert_true(g->from == (uintptr_t)a && g->from_bytes == 64);
    }
    here_end();
}

/* More stacks than announced: the excess is counted with the unknown stack. */
static void too_many_stacks(void **state)
{
    (void)state;
    here_begin();
    uint64_t blocks = 0, bytes = 0;
    for (uint32_t i = 0; i < 500; i++)
        (void)here_put(TINY, i, 8);
    here.heap.stacks = 3;
    here_run();
    assert_int_equal(here.groups, 8 * (3 + 1) + 8 + 1); /* room for 8 of that stack */
    for (uint32_t i = 0; i < here.groups; i++) {
        blocks += here.group[i].blocks;
        bytes += here.group[i].bytes;
    }
    assert_int_equal(blocks, 500);
    assert_int_equal(bytes, 4000);
    assert_true(here_group(0)->blocks > 400);
    here_end();
}

/* Only two pieces of a block were ever touched; no other part may be read. */
static bool two_pieces(void *about, uint64_t *at, uint64_t end, uint64_t *piece_end)
{
    const uint64_t start = here.slab[LARGE].start, piece[][2] = {{64, 128}, {4096, 4104}};
    assert_ptr_equal(about, &here);
    assert_true(end == start + REACH_SPARSE_BYTES);
    for (unsigned i = 0; i < 2; i++)
        if (*at < start + piece[i][1]) {
            *at = start + piece[i][0];
            *piece_end = start + piece[i][1];
            return true;
        }
    return false;
}

static void sparse_blocks(void **state)
{
    (void)state;
    static const unsigned word[] = {0, 7, 8, 15, 16, 511, 512, 513};
    here_begin();
    here.rules.next_piece = two_pieces;
    here.rules.about = &here;
    uint64_t *a = here_put(LARGE, 0, REACH_SPARSE_BYTES);
    for (unsigned i = 0; i < 8; i++)
        a[word[i]] = (uintptr_t)here_put(MIDDLE, i, 64);
    here_root(a);
    for (unsigned lost = 0; lost < 2; lost++) {
        here.roots -= lost;
        here_run();
        for (unsigned i = 0; i < 8; i++) {
            bool seen = word[i] == 8 || word[i] == 15 || word[i] == 512;
            assert_int_equal(REACH(i + 2), !seen  ? REACH_LOST
                                           : lost ? REACH_LOST_INDIRECT
                                                  : REACH_REACHABLE);
        }
    }
    here_end();
}

static void large_blocks(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(LARGE, 0, 2 * UNIT - 64), *b = here_put(LARGE_TOO, 0, 40000);
    uint64_t *c = here_put(TINY, 0, 8);
    here_root(a);
    a[(2 * UNIT - 64) / 8 - 1] = (uintptr_t)here_byte(b, 39999);
    b[4999] = (uintptr_t)c;
    here_run();
    assert_int_equal(REACH(1), REACH_REACHABLE);
    assert_int_equal(REACH(2), REACH_INTERIOR);
    assert_int_equal(REACH(3), REACH_INDIRECT);
    a[(2 * UNIT - 64) / 8 - 1] = (uintptr_t)here_byte(b, 40000);
    here_run();
    assert_int_equal(REACH(2), REACH_LOST);
    a[(2 * UNIT - 64) / 8 - 1] = 0;
    a[(2 * UNIT - 64) / 8] = (uintptr_t)b;
    here_run();
    assert_int_equal(REACH(2), REACH_LOST);
    assert_int_equal(here_group(2)->block_bytes, 40000);
    here.root[0] = (uintptr_t)here_byte(a, UNIT + 4);
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    here_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_alone),
        cmocka_unit_test(cycle_with_tail),
        cmocka_unit_test(cycle_after_cycle),
        cmocka_unit_test(separate_cycles),
        cmocka_unit_test(cycle_of_one),
        cmocka_unit_test(two_cycles_joined),
        cmocka_unit_test(inherited),
        cmocka_unit_test(roots_by_flag),
        cmocka_unit_test(marks),
        cmocka_unit_test(groups),
        cmocka_unit_test(too_many_stacks),
        cmocka_unit_test(sparse_blocks),
        cmocka_unit_test(large_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
