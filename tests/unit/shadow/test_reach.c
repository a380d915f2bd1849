/*
 * test_reach.c - each rule of the leak check's marking, and beside it what must not fall under it.
 */
#include "reach_here.h"

#define REACH(stack) (here_group(stack)->reach)

static void *byte(const uint64_t *block, uint64_t inside)
{
    return (void *)((uintptr_t)block + inside);
}

/* One block of `bytes` to which the program points `inside`; `first` and `second` are its words. */
static enum reach pointed(uint64_t bytes, uint64_t first, uint64_t second, uint64_t inside)
{
    bool strict = here.rules.strict;
    here_begin();
    here.rules.strict = strict;
    uint64_t *b = here_put(MIDDLE, 3, bytes);
    b[0] = first;
    b[1] = second;
    here_root(byte(b, inside));
    here_run();
    return REACH(1);
}

static void where_it_points(void **state)
{
    (void)state;
    here_begin();
    assert_int_equal(pointed(64, 0, 0, 0), REACH_HELD);
    assert_int_equal(pointed(64, 0, 0, 1), REACH_INTERIOR);
    assert_int_equal(pointed(64, 0, 0, 63), REACH_INTERIOR);
    assert_int_equal(pointed(64, 0, 0, 64), REACH_LOST);
    assert_int_equal(pointed(64, 0, 0, 79), REACH_LOST);
    assert_int_equal(pointed(64, 0, 0, (uint64_t)-1), REACH_LOST);
    assert_int_equal(pointed(0, 0, 0, 0), REACH_HELD);
    assert_int_equal(pointed(0, 0, 0, 1), REACH_LOST);
    here_end();
}

/* No slab there, the tail of one, outside: nothing, and nothing is read. */
static void pointers_to_nowhere(void **state)
{
    (void)state;
    here_begin();
    (void)here_put(MIDDLE, 0, 32);
    here_root((void *)((uintptr_t)here.memory - 8));
    here_root((void *)((uintptr_t)here.memory + sizeof here.memory));
    here_root(here.memory + 7 * UNIT);
    here_root(here.memory + 2 * UNIT - 16);
    here_root(here.memory + 3 * UNIT - 16);
    here_root(NULL);
    here_root((void *)UINTPTR_MAX);
    here_run();
    assert_int_equal(REACH(1), REACH_LOST);
    assert_int_equal(here.groups, 1);
    here_end();
}

static void chains(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 9, 64), *b = here_put(SMALL, 0, 32),
             *c = here_put(WIDE, 5, 2500);
    uint64_t *d = here_put(TINY, 4000, 8);
    here_root(a);
    a[7] = (uintptr_t)b;
    b[0] = (uintptr_t)c;
    c[311] = (uintptr_t)d; /* the last whole word of 2500 bytes */
    d[0] = (uintptr_t)a;
    here_run();
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(REACH(i), REACH_HELD);
    c[311] = 0;
    c[312] = (uintptr_t)d; /* half of it is slack */
    here_run();
    assert_int_equal(REACH(4), REACH_LOST);
    here_end();
}

static void the_dead_hold_nothing(void **state)
{
    (void)state;
    static const enum block_state dead[] = {BLOCK_NEVER, BLOCK_FREED, BLOCK_FREE};
    for (unsigned i = 0; i < countof(dead); i++) {
        here_begin();
        uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64);
        atomic_init(&here.record[MIDDLE][0].word, here_word(dead[i], 0, 1, 64));
        a[0] = (uintptr_t)b;
        here_root(a);
        here_run();
        assert_int_equal(here.groups, 1); /* nor are they anything */
        assert_int_equal(REACH(2), REACH_LOST);
    }
    here_end();
}

/* ---- as good as a pointer to the start ----------------------------------------------------------- */

static enum reach pointed_array(enum block_family family, uint64_t bytes, uint64_t inside,
                                uint64_t n)
{
    here_begin();
    uint64_t *b = here_put(WIDE, 1, bytes);
    here.record[WIDE][1].word |= (uint64_t)family << BLOCK_FAMILY_SHIFT;
    b[inside / 8 - 1] = n;
    here_root(byte(b, inside));
    here_run();
    return REACH(1);
}

static void arrays(void **state)
{
    (void)state;
    here_begin();
    assert_int_equal(pointed(8 + 7 * 8, 7, 0, 8), REACH_HELD);
    assert_int_equal(pointed(8 + 7 * 8, 6, 0, 8), REACH_INTERIOR);
    assert_int_equal(pointed(8 + 7 * 8, 7, 0, 12), REACH_INTERIOR);
    assert_int_equal(pointed(8 + 7 * 8, 0, 0, 8), REACH_INTERIOR);
    assert_int_equal(pointed(16 + 3 * 16, 0, 3, 16), REACH_HELD);
    assert_int_equal(pointed(16 + 3 * 16, 3, 0, 16), REACH_INTERIOR);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 64 + 5 * 64, 64, 5), REACH_HELD);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 64 + 5 * 64, 64, 6), REACH_INTERIOR);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 64 + 5 * 64, 24, 5), REACH_INTERIOR);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 64 + 5 * 64, 64, 5), REACH_INTERIOR);
    here_end();
}

static void arrays_of_nothing(void **state)
{
    (void)state;
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 8, 8, 0), REACH_HELD);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 16, 16, 0), REACH_HELD);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 32, 32, 0), REACH_HELD);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 8, 8, 1), REACH_LOST);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 24, 24, 0), REACH_LOST);
    assert_int_equal(pointed_array(FAMILY_NEW, 8, 8, 0), REACH_LOST);
    assert_int_equal(pointed_array(FAMILY_MALLOC, 8, 8, 0), REACH_LOST);
}

#define TABLE 0x5555aaaa0000ull

static bool looks_like_table(void *about, uint64_t word)
{
    (*(uint32_t *)about)++;
    return (word & ~0xfffull) == TABLE;
}

static enum reach pointed_base(uint64_t first, uint64_t second, uint64_t inside, uint64_t bytes)
{
    static uint32_t asked;
    here_begin();
    here.rules.is_table = looks_like_table;
    here.rules.about = &asked;
    uint64_t *b = here_put(MIDDLE, 3, bytes);
    b[0] = first;
    b[inside / 8] = second;
    here_root(byte(b, inside));
    here_run();
    assert_true(asked > 0);
    return REACH(1);
}

static void second_bases(void **state)
{
    (void)state;
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 40, 64), REACH_HELD);
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 56, 64), REACH_HELD);
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 56, 60),
                     REACH_INTERIOR); /* half a word */
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 44, 64), REACH_INTERIOR);
    assert_int_equal(pointed_base(TABLE + 16, 5, 40, 64), REACH_INTERIOR);
    assert_int_equal(pointed_base(5000, TABLE, 40, 64), REACH_INTERIOR);
    here_begin();
    assert_int_equal(pointed(64, TABLE, TABLE, 8), REACH_INTERIOR); /* nobody can say what is one */
    here_end();
}

static void strings(void **state)
{
    (void)state;
    here_begin();
    assert_int_equal(pointed(24 + 31, 5, 30, 24), REACH_HELD);
    assert_int_equal(pointed(24 + 31, 30, 30, 24), REACH_HELD);
    assert_int_equal(pointed(24 + 11 * 2, 3, 10, 24), REACH_HELD);
    assert_int_equal(pointed(24 + 11 * 4, 3, 10, 24), REACH_HELD);
    assert_int_equal(pointed(24 + 1, 0, 0, 24), REACH_HELD);
    assert_int_equal(pointed(24 + 31, 31, 30, 24), REACH_INTERIOR);
    assert_int_equal(pointed(24 + 31, 5, 29, 24), REACH_INTERIOR);
    assert_int_equal(pointed(24 + 11 * 3, 3, 10, 24), REACH_INTERIOR);
    assert_int_equal(pointed(24 + 11 * 2 + 1, 3, 10, 24), REACH_INTERIOR);
    assert_int_equal(pointed(24 + 31, 5, 30, 32), REACH_INTERIOR);
    assert_int_equal(pointed(64, 0, 0, 24), REACH_INTERIOR);
    here_end();
}

static void size_headers(void **state)
{
    (void)state;
    here_begin();
    assert_int_equal(pointed(64, 64, 0, 8), REACH_HELD);
    assert_int_equal(pointed(64, 56, 0, 8), REACH_HELD);
    assert_int_equal(pointed(64, 48, 0, 8), REACH_INTERIOR);
    assert_int_equal(pointed(64, 64, 0, 16), REACH_HELD);
    assert_int_equal(pointed(64, 48, 0, 16), REACH_HELD);
    assert_int_equal(pointed(64, 56, 0, 16), REACH_INTERIOR);
    assert_int_equal(pointed(64, 64, 0, 24), REACH_INTERIOR);
    assert_int_equal(pointed(64, 64, 0, 12), REACH_INTERIOR);
    here_end();
}

static void strict(void **state)
{
    (void)state;
    here_begin();
    here.rules.strict = true;
    assert_int_equal(pointed(64, 64, 0, 8), REACH_INTERIOR);
    assert_int_equal(pointed(64, 64, 0, 0), REACH_HELD);
    here_end();
}

/* Only from what is held itself: behind an INTERIOR one it makes no difference. */
static void good_pointer_from_behind(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64);
    here_root(byte(a, 20));
    a[3] = (uintptr_t)byte(b, 8);
    b[0] = 64;
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    assert_int_equal(REACH(2), REACH_BEHIND);
    here_end();
}

/* ---- INTERIOR and REGISTER ------------------------------------------------------------------------ */

/* A start that is found later, or deeper, wins over an inside that was seen before. */
static void start_wins(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64),
             *c = here_put(MIDDLE, 2, 64);
    here_root(byte(c, 17));
    here_root(byte(a, 17));
    here_root(b);
    b[0] = (uintptr_t)a;
    here_run();
    assert_int_equal(REACH(1), REACH_HELD);
    assert_int_equal(REACH(2), REACH_HELD);
    assert_int_equal(REACH(3), REACH_INTERIOR);
    here_end();
}

/* A list linked through its nodes' insides: the first has the program's pointer, the rest follow. */
static void list_by_its_insides(void **state)
{
    (void)state;
    here_begin();
    uint64_t *node[5];
    for (uint32_t i = 0; i < 5; i++)
        node[i] = here_put(MIDDLE, 10 - i, 40);
    for (uint32_t i = 0; i < 5; i++)
        node[i][3] = (uintptr_t)byte(node[(i + 1) % 5], 20);
    here_root(byte(node[0], 20));
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    assert_int_equal(here_group(1)->behind_blocks, 4);
    assert_int_equal(here_group(1)->behind_bytes, 160);
    assert_true(here_group(1)->value == (uintptr_t)node[0] + 20);
    for (uint32_t i = 2; i <= 5; i++) {
        assert_int_equal(REACH(i), REACH_BEHIND);
        assert_true(here_group(i)->from == (uintptr_t)node[i - 2]);
        assert_int_equal(here_group(i)->from_stack, i - 1);
    }
    here_end();
}

/* Two that the program points into, and each to the other: both are INTERIOR, either way round. */
static void two_insides(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64),
             *c = here_put(MIDDLE, 2, 64);
    here_root(byte(a, 1));
    here_root(byte(b, 1));
    a[0] = (uintptr_t)b;
    b[0] = (uintptr_t)a;
    a[1] = b[1] = (uintptr_t)c;
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    assert_int_equal(REACH(2), REACH_INTERIOR);
    assert_int_equal(REACH(3), REACH_BEHIND);
    assert_int_equal(here_group(1)->behind_blocks, 0);
    assert_int_equal(here_group(2)->behind_blocks, 1); /* the one at the highest address */
    here_end();
}

static void registers(void **state)
{
    (void)state;
    here_begin();
    uint64_t *block[6];
    for (uint32_t i = 0; i < 6; i++)
        block[i] = here_put(MIDDLE, i, 64);
    here_root(block[0]);
    here_root(byte(block[1], 4));
    block[1][0] = (uintptr_t)block[2];
    block[3][5] = (uintptr_t)block[4];
    block[4][5] = (uintptr_t)block[5];
    here.reg[2] = (uintptr_t)block[0];
    here.reg[3] = (uintptr_t)block[1];
    here.reg[4] = (uintptr_t)block[2];
    here.reg[5] = (uintptr_t)byte(block[3], 63);
    here.reg[6] = (uintptr_t)block[5];
    here.reg[7] = (uintptr_t)byte(block[3], 64);
    here.regs = 8;
    here_run();
    static const enum reach want[] = {REACH_HELD,     REACH_INTERIOR, REACH_BEHIND,
                                      REACH_REGISTER, REACH_BEHIND,   REACH_REGISTER};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(REACH(i + 1), want[i]);
    const struct leak_group *g = here_group(4);
    assert_int_equal(g->witness, WITNESS_REGISTER);
    assert_int_equal(g->at, 5);
    assert_int_equal(g->thread, 105);
    assert_true(g->value == (uintptr_t)block[3] + 63);
    assert_int_equal(g->behind_blocks, 1);
    assert_int_equal(here_group(6)->at, 6);
    here_end();
}

/* ---- what is lost ---------------------------------------------------------------------------------- */

static void lost_alone(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64),
             *c = here_put(MIDDLE, 2, 64);
    a[0] = (uintptr_t)a;
    a[1] = (uintptr_t)byte(a, 8); /* itself is nobody */
    b[0] = b[1] = (uintptr_t)byte(c, 40);
    here_run();
    assert_int_equal(REACH(1), REACH_LOST);
    assert_int_equal(here_group(1)->behind_blocks, 0);
    assert_int_equal(here_group(1)->witness, WITNESS_NOBODY);
    assert_int_equal(REACH(2), REACH_LOST);
    assert_int_equal(REACH(3), REACH_LOST_BEHIND);
    assert_int_equal(here_group(2)->behind_blocks, 1);
    here_end();
}

/* Edges of `n` blocks of 64 bytes, 3 words each; none is held. */
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

static void circle_with_tail(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{2, 3}, {3, 4}, {4, 2}, {4, 1}, {1, 0}};
    lost_graph(5, countof(edge), edge);
    static const enum reach want[] = {REACH_LOST_BEHIND, REACH_LOST_BEHIND, REACH_CIRCLE,
                                      REACH_LOST_BEHIND, REACH_LOST_BEHIND};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(REACH(i + 1), want[i]);
    const struct leak_group *g = here_group(3);
    assert_int_equal(g->behind_blocks, 4);
    assert_int_equal(g->behind_bytes, 4 * 64);
    assert_int_equal(g->witness, WITNESS_BLOCK);
    assert_int_equal(g->from_stack, 5);
    here_end();
}

/* The later circle leads to a block of the earlier one that is not its lowest: one circle is told. */
static void circle_behind_circle(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{0, 1}, {1, 0}, {2, 3}, {3, 2}, {3, 1}};
    lost_graph(4, countof(edge), edge);
    assert_int_equal(REACH(1), REACH_LOST_BEHIND);
    assert_int_equal(REACH(2), REACH_LOST_BEHIND);
    assert_int_equal(REACH(3), REACH_CIRCLE);
    assert_int_equal(here_group(3)->behind_blocks, 3);
    assert_int_equal(REACH(4), REACH_LOST_BEHIND);
    here_end();
}

/* Two circles with one tail, which is counted once, and a block that leads to a circle. */
static void circles_apart(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{0, 1}, {1, 0}, {1, 4}, {2, 3}, {3, 2},
                                      {2, 4}, {5, 6}, {6, 7}, {7, 6}};
    lost_graph(8, countof(edge), edge);
    assert_int_equal(REACH(1), REACH_CIRCLE);
    assert_int_equal(REACH(3), REACH_CIRCLE);
    assert_int_equal(here_group(1)->behind_blocks + here_group(3)->behind_blocks, 3);
    assert_int_equal(REACH(6), REACH_LOST);
    assert_int_equal(here_group(6)->behind_blocks, 2);
    here_end();
}

/* Another one tells of it, not the block itself, though its end is read last and points to it. */
static void circle_of_one_with_itself(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(LARGE, 0, 2 * UNIT - 64), *b = here_put(LARGE_TOO, 0, 64);
    a[0] = (uintptr_t)b;
    a[10000] = (uintptr_t)a;
    b[0] = (uintptr_t)a;
    here_run();
    assert_int_equal(REACH(1), REACH_CIRCLE);
    assert_int_equal(here_group(1)->from_stack, 2);
    here_end();
}

static void two_circles_joined(void **state)
{
    (void)state;
    static const uint8_t edge[][2] = {{0, 1}, {1, 0}, {2, 3}, {3, 2}, {1, 2}, {3, 0}};
    lost_graph(4, countof(edge), edge);
    assert_int_equal(REACH(1), REACH_CIRCLE);
    assert_int_equal(here_group(1)->behind_blocks, 3);
    here_end();
}

/* ---- inherited, roots by flag, marks, groups --------------------------------------------------------- */

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
    d[8] = (uintptr_t)e; /* in 79 bytes, as nobody knows how many were asked for */
    here_run();
    assert_int_equal(here.groups, 2);
    assert_int_equal(REACH(2), REACH_HELD);
    assert_int_equal(REACH(5), REACH_HELD);
    here.roots = 0;
    here_run();
    assert_int_equal(here.groups, 3);
    assert_int_equal(here_group(1)->reach, REACH_LOST); /* the parent's, for what is behind it */
    assert_int_equal(here_group(1)->blocks, 0);
    assert_int_equal(here_group(1)->behind_blocks, 2);
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
    b[1] = (uintptr_t)byte(c, 4);
    here_root(byte(b, 4)); /* into its inside: it is held all the same */
    here_run();
    assert_int_equal(REACH(2), REACH_HELD);
    assert_int_equal(here_group(2)->witness, WITNESS_SELF);
    assert_int_equal(REACH(1), REACH_HELD);
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

/* A group is a stack and a class; its example is one block's, whole. */
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
            [REACH_HELD] = 2, [REACH_INTERIOR] = 1, [REACH_LOST] = 3};
        static const uint32_t bytes[REACH_COUNT] = {
            [REACH_HELD] = 24, [REACH_INTERIOR] = 24, [REACH_LOST] = 120};
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

/* More stacks than was said: what has no room is counted with the stack that is not known. */
static void too_many_stacks(void **state)
{
    (void)state;
    here_begin();
    uint64_t blocks = 0, bytes = 0;
    for (uint32_t i = 0; i < 500; i++)
        (void)here_put(TINY, i, 8);
    here.heap.stacks = 3;
    here_run();
    assert_int_equal(here.groups, 8 * (3 + 1) + 8 + 1); /* room for 8 of that stack is kept */
    for (uint32_t i = 0; i < here.groups; i++) {
        blocks += here.group[i].blocks;
        bytes += here.group[i].bytes;
    }
    assert_int_equal(blocks, 500);
    assert_int_equal(bytes, 4000);
    assert_true(here_group(0)->blocks > 400);
    here_end();
}

/* Two pieces of a block were ever touched; nothing else of it may be read. */
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
            assert_int_equal(REACH(i + 2), !seen ? REACH_LOST : lost ? REACH_LOST_BEHIND : REACH_HELD);
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
    a[(2 * UNIT - 64) / 8 - 1] = (uintptr_t)byte(b, 39999);
    b[4999] = (uintptr_t)c;
    here_run();
    assert_int_equal(REACH(1), REACH_HELD);
    assert_int_equal(REACH(2), REACH_INTERIOR);
    assert_int_equal(REACH(3), REACH_BEHIND);
    a[(2 * UNIT - 64) / 8 - 1] = (uintptr_t)byte(b, 40000);
    here_run();
    assert_int_equal(REACH(2), REACH_LOST);
    a[(2 * UNIT - 64) / 8 - 1] = 0;
    a[(2 * UNIT - 64) / 8] = (uintptr_t)b;
    here_run();
    assert_int_equal(REACH(2), REACH_LOST);
    assert_int_equal(here_group(2)->block_bytes, 40000);
    here.root[0] = (uintptr_t)byte(a, UNIT + 4);
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    here_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_it_points),
        cmocka_unit_test(pointers_to_nowhere),
        cmocka_unit_test(chains),
        cmocka_unit_test(the_dead_hold_nothing),
        cmocka_unit_test(arrays),
        cmocka_unit_test(arrays_of_nothing),
        cmocka_unit_test(second_bases),
        cmocka_unit_test(strings),
        cmocka_unit_test(size_headers),
        cmocka_unit_test(strict),
        cmocka_unit_test(good_pointer_from_behind),
        cmocka_unit_test(start_wins),
        cmocka_unit_test(list_by_its_insides),
        cmocka_unit_test(two_insides),
        cmocka_unit_test(registers),
        cmocka_unit_test(lost_alone),
        cmocka_unit_test(circle_with_tail),
        cmocka_unit_test(circle_behind_circle),
        cmocka_unit_test(circles_apart),
        cmocka_unit_test(circle_of_one_with_itself),
        cmocka_unit_test(two_circles_joined),
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
