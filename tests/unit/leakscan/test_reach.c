/*
 * test_reach.c - each rule of the leak scan's marking, with a counterexample for each.
 */
#include "reach_here.h"

/* One block of `bytes` with a root to offset `inside`; `first` and `second` are its words. */
static enum reach pointed(uint64_t bytes, uint64_t first, uint64_t second, uint64_t inside)
{
    bool strict = here.rules.strict;
    here_begin();
    here.rules.strict = strict;
    uint64_t *b = here_put(MIDDLE, 3, bytes);
    b[0] = first;
    b[1] = second;
    here_root(here_byte(b, inside));
    here_run();
    return REACH(1);
}

static void where_it_points(void **state)
{
    (void)state;
    here_begin();
    assert_int_equal(pointed(64, 0, 0, 0), REACH_REACHABLE);
    assert_int_equal(pointed(64, 0, 0, 1), REACH_INTERIOR);
    assert_int_equal(pointed(64, 0, 0, 63), REACH_INTERIOR);
    assert_int_equal(pointed(64, 0, 0, 64), REACH_LOST);
    assert_int_equal(pointed(64, 0, 0, 79), REACH_LOST);
    assert_int_equal(pointed(64, 0, 0, (uint64_t)-1), REACH_LOST);
    assert_int_equal(pointed(0, 0, 0, 0), REACH_REACHABLE);
    assert_int_equal(pointed(0, 0, 0, 1), REACH_LOST);
    here_end();
}

/* Pointers to no slab, to a slab's tail, or outside: ignored, and nothing is read. */
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
        assert_int_equal(REACH(i), REACH_REACHABLE);
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
        assert_int_equal(here.groups, 1); /* they form no group either */
        assert_int_equal(REACH(2), REACH_LOST);
    }
    here_end();
}

/* ---- interior pointers that count as pointers to the start ----------------------------------- */

static enum reach pointed_array(enum block_family family, uint64_t bytes, uint64_t inside,
                                uint64_t n)
{
    here_begin();
    uint64_t *b = here_put(WIDE, 1, bytes);
    here.record[WIDE][1].word |= (uint64_t)family << BLOCK_FAMILY_SHIFT;
    b[inside / 8 - 1] = n;
    here_root(here_byte(b, inside));
    here_run();
    return REACH(1);
}

static void arrays(void **state)
{
    (void)state;
    here_begin();
    assert_int_equal(pointed(8 + 7 * 8, 7, 0, 8), REACH_REACHABLE);
    assert_int_equal(pointed(8 + 7 * 8, 6, 0, 8), REACH_INTERIOR);
    assert_int_equal(pointed(8 + 7 * 8, 7, 0, 12), REACH_INTERIOR);
    assert_int_equal(pointed(8 + 7 * 8, 0, 0, 8), REACH_INTERIOR);
    assert_int_equal(pointed(16 + 3 * 16, 0, 3, 16), REACH_REACHABLE);
    assert_int_equal(pointed(16 + 3 * 16, 3, 0, 16), REACH_INTERIOR);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 64 + 5 * 64, 64, 5), REACH_REACHABLE);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 64 + 5 * 64, 64, 6), REACH_INTERIOR);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 64 + 5 * 64, 24, 5), REACH_INTERIOR);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 64 + 5 * 64, 64, 5), REACH_INTERIOR);
    here_end();
}

static void arrays_of_nothing(void **state)
{
    (void)state;
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 8, 8, 0), REACH_REACHABLE);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY, 16, 16, 0), REACH_REACHABLE);
    assert_int_equal(pointed_array(FAMILY_NEW_ARRAY_ALIGNED, 32, 32, 0), REACH_REACHABLE);
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
    here_root(here_byte(b, inside));
    here_run();
    assert_true(asked > 0);
    return REACH(1);
}

static void second_bases(void **state)
{
    (void)state;
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 40, 64), REACH_REACHABLE);
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 56, 64), REACH_REACHABLE);
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 56, 60),
                     REACH_INTERIOR); /* half a word */
    assert_int_equal(pointed_base(TABLE + 16, TABLE + 64, 44, 64), REACH_INTERIOR);
    assert_int_equal(pointed_base(TABLE + 16, 5, 40, 64), REACH_INTERIOR);
    assert_int_equal(pointed_base(5000, TABLE, 40, 64), REACH_INTERIOR);
    here_begin();
    assert_int_equal(pointed(64, TABLE, TABLE, 8), REACH_INTERIOR); /* ambiguous */
    here_end();
}

static void strings(void **state)
{
    (void)state;
    here_begin();
    assert_int_equal(pointed(24 + 31, 5, 30, 24), REACH_REACHABLE);
    assert_int_equal(pointed(24 + 31, 30, 30, 24), REACH_REACHABLE);
    assert_int_equal(pointed(24 + 11 * 2, 3, 10, 24), REACH_REACHABLE);
    assert_int_equal(pointed(24 + 11 * 4, 3, 10, 24), REACH_REACHABLE);
    assert_int_equal(pointed(24 + 1, 0, 0, 24), REACH_REACHABLE);
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
    assert_int_equal(pointed(64, 64, 0, 8), REACH_REACHABLE);
    assert_int_equal(pointed(64, 56, 0, 8), REACH_REACHABLE);
    assert_int_equal(pointed(64, 48, 0, 8), REACH_INTERIOR);
    assert_int_equal(pointed(64, 64, 0, 16), REACH_REACHABLE);
    assert_int_equal(pointed(64, 48, 0, 16), REACH_REACHABLE);
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
    assert_int_equal(pointed(64, 64, 0, 0), REACH_REACHABLE);
    here_end();
}

/*
 * The rule applies only in reachable blocks: in a block that is itself INTERIOR it has no effect.
 */
static void good_pointer_from_after(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64);
    here_root(here_byte(a, 20));
    a[3] = (uintptr_t)here_byte(b, 8);
    b[0] = 64;
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    assert_int_equal(REACH(2), REACH_INDIRECT);
    here_end();
}

/* ---- INTERIOR and REGISTER ------------------------------------------------------------------- */

/* A pointer to a start that is found later, or deeper, wins over an interior one seen before. */
static void start_wins(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64),
             *c = here_put(MIDDLE, 2, 64);
    here_root(here_byte(c, 17));
    here_root(here_byte(a, 17));
    here_root(b);
    b[0] = (uintptr_t)a;
    here_run();
    assert_int_equal(REACH(1), REACH_REACHABLE);
    assert_int_equal(REACH(2), REACH_REACHABLE);
    assert_int_equal(REACH(3), REACH_INTERIOR);
    here_end();
}

/* A list linked by interior pointers: the first has the program's pointer, the rest follow. */
static void list_by_its_insides(void **state)
{
    (void)state;
    here_begin();
    uint64_t *node[5];
    for (uint32_t i = 0; i < 5; i++)
        node[i] = here_put(MIDDLE, 10 - i, 40);
    for (uint32_t i = 0; i < 5; i++)
        node[i][3] = (uintptr_t)here_byte(node[(i + 1) % 5], 20);
    here_root(here_byte(node[0], 20));
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    assert_int_equal(here_group(1)->indirect_blocks, 4);
    assert_int_equal(here_group(1)->indirect_bytes, 160);
    assert_true(here_group(1)->value == (uintptr_t)node[0] + 20);
    for (uint32_t i = 2; i <= 5; i++) {
        assert_int_equal(REACH(i), REACH_INDIRECT);
        assert_true(here_group(i)->from == (uintptr_t)node[i - 2]);
        assert_int_equal(here_group(i)->from_stack, i - 1);
    }
    here_end();
}

/* Two blocks with interior roots that point to each other: both are INTERIOR, in either order. */
static void two_insides(void **state)
{
    (void)state;
    here_begin();
    uint64_t *a = here_put(MIDDLE, 0, 64), *b = here_put(MIDDLE, 1, 64),
             *c = here_put(MIDDLE, 2, 64);
    here_root(here_byte(a, 1));
    here_root(here_byte(b, 1));
    a[0] = (uintptr_t)b;
    b[0] = (uintptr_t)a;
    a[1] = b[1] = (uintptr_t)c;
    here_run();
    assert_int_equal(REACH(1), REACH_INTERIOR);
    assert_int_equal(REACH(2), REACH_INTERIOR);
    assert_int_equal(REACH(3), REACH_INDIRECT);
    assert_int_equal(here_group(1)->indirect_blocks, 0);
    assert_int_equal(here_group(2)->indirect_blocks, 1); /* of the one at the highest address */
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
    here_root(here_byte(block[1], 4));
    block[1][0] = (uintptr_t)block[2];
    block[3][5] = (uintptr_t)block[4];
    block[4][5] = (uintptr_t)block[5];
    here.reg[2] = (uintptr_t)block[0];
    here.reg[3] = (uintptr_t)block[1];
    here.reg[4] = (uintptr_t)block[2];
    here.reg[5] = (uintptr_t)here_byte(block[3], 63);
    here.reg[6] = (uintptr_t)block[5];
    here.reg[7] = (uintptr_t)here_byte(block[3], 64);
    here.regs = 8;
    here_run();
    static const enum reach want[] = {REACH_REACHABLE, REACH_INTERIOR, REACH_INDIRECT,
                                      REACH_REGISTER,  REACH_INDIRECT, REACH_REGISTER};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(REACH(i + 1), want[i]);
    const struct leak_group *g = here_group(4);
    assert_int_equal(g->witness, WITNESS_REGISTER);
    assert_int_equal(g->at, 5);
    assert_int_equal(g->thread, 105);
    assert_true(g->value == (uintptr_t)block[3] + 63);
    assert_int_equal(g->indirect_blocks, 1);
    assert_int_equal(here_group(6)->at, 6);
    here_end();
}

static void live_registers(void **state)
{
    (void)state;
    here_begin();
    uint64_t *held = here_put(MIDDLE, 0, 64), *next = here_put(MIDDLE, 1, 64),
             *inside = here_put(MIDDLE, 2, 64);
    held[3] = (uintptr_t)next;
    here.live_reg[0] = 1;
    here.live_reg[1] = (uintptr_t)here_byte(inside, 5);
    here.live_reg[2] = (uintptr_t)held;
    here.live_regs = 3;
    here_run();
    assert_int_equal(REACH(1), REACH_REACHABLE);
    assert_int_equal(REACH(2), REACH_REACHABLE);
    assert_int_equal(REACH(3), REACH_INTERIOR);
    for (uint32_t i = 1; i <= 2; i++) {
        const struct leak_group *g = here_group(i == 1 ? 3 : 1);
        assert_int_equal(g->witness, WITNESS_REGISTER);
        assert_int_equal(g->at, i);
        assert_int_equal(g->thread, 200 + i);
    }
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
        cmocka_unit_test(good_pointer_from_after),
        cmocka_unit_test(start_wins),
        cmocka_unit_test(list_by_its_insides),
        cmocka_unit_test(two_insides),
        cmocka_unit_test(registers),
        cmocka_unit_test(live_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
