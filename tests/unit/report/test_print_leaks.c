/*
 * test_print_leaks.c - leaks in the text report: exact texts, and the limits of length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "leak_output.h"

/* ---- whole texts --------------------------------------------------------------------------- */

/* One leak of each kind; the second lost site is the largest, with its indirectly lost blocks. */
static struct build one_of_each(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    struct leak_group *g;

    build_leak(p.leaks, REACH_LOST, deep(p.depot, 2), 3, 30);
    g = build_leak(p.leaks, REACH_CYCLE, deep(p.depot, 1), 1, 16);
    g->indirect_blocks = 2;
    g->indirect_bytes = 64;
    build_leak(p.leaks, REACH_LOST_INDIRECT, deep(p.depot, 3), 2, 64);
    g = build_leak(p.leaks, REACH_INTERIOR, deep(p.depot, 6), 1, 256);
    g->witness = WITNESS_REGISTER;
    g->at = 3;
    g->thread = 3;
    g->value = g->block + 8;
    build_leak(p.leaks, REACH_INDIRECT, deep(p.depot, 3), 1, 7);
    build_leak(p.leaks, REACH_REACHABLE, deep(p.depot, 3), 1, 9)->witness = WITNESS_SELF;
    return b;
}

static void test_table(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL});

    (void)state;
    must_print(text, "rtcheck: 3 problems: 2 leaks, 1 possible leak; 5 allocs, 4 frees, 1 process\n");
    must_print(text, "LEAKS (mel)  2 places: 46 B in 4 blocks, and 64 B in 2 blocks indirectly lost\n"
                   " Id            Total Size  Num of Blocks  Block Address   Allocation Call Stack\n");
    must_print(text, "        16 B              1  0x700000010200  prog1+0x10; 2 blocks of 64 B indirectly lost\n"
                   " mel-");
    must_print(text, "        30 B              3  -               prog1+0x20 < prog1+0x10\n"
                   "POSSIBLE LEAKS (aib, air)  1 place: 256 B in 1 block\n");
    must_print(text, "  0x700000010400  prog1+0x60 < prog1+0x50 < prog1+0x40 < prog1+0x30\nIN USE");
    must_not_print(text, "INDIRECT");
    must_not_print(text, "REACHABLE");
    must_print(text, "rtcheck: in control; 3 problems; leaked 110 B in 6 blocks, possibly 263 B in 2 blocks; exit status 0\n");
}

/* Number of indirect leaks that are shown if these sites are in the baseline, for these kinds. */
static uint64_t indirect_shown(bool plain_known, bool head_known, uint32_t kinds)
{
    struct build b = one_of_each();
    struct report *r = collect(&b);
    uint64_t blocks;

    for (uint32_t i = 0; i < r->leak_count; i++)
        if (r->leaks[i].class == CLASS_LOST)
            r->leaks[i].disposition.is_known = r->leaks[i].indirect_blocks > 0 ? head_known : plain_known;
    report_hide_indirect(r, kinds);
    blocks = leak_sum(r, LEAK_INDIRECT).blocks;
    report_close(r);
    return blocks;
}

/* The text about one_of_each if these classes are suppressed. */
static void assert_suppressed(uint32_t classes, uint32_t kinds, const char *prints)
{
    struct build b = one_of_each();
    struct report *r = collect(&b);
    struct rules *rules = rules_new();
    struct print_options how = {.leak_kinds = kinds, .problem_kinds = kinds};
    char *text = NULL;
    size_t bytes;
    struct page page = {.out = open_memstream(&text, &bytes), .how = &how};

    r->rules = rules;
    for (uint32_t i = 0; i < r->leak_count; i++)
        if (classes >> r->leaks[i].class & 1)
            r->leaks[i].disposition.suppressed_by = 1;
    report_hide_indirect(r, kinds);
    suppressed_print(r, &page);
    fclose(page.out);
    assert_string_equal(text, prints);
    free(text);
    report_close(r);
    rules_free(rules);
}

/* Indirect leaks are counted as without suppressions. */
static void test_suppressed(void **state)
{
    uint32_t usual = LEAK_DEFINITE | LEAK_POSSIBLE, lost = 1 << CLASS_LOST, indirect = 1 << CLASS_INDIRECT;

    (void)state;
    assert_suppressed(lost, usual, "SUPPRESSED      2 leaks of 46 B in 4 blocks, and 64 B in 2 blocks indirectly lost, by 0 rules\n");
    assert_suppressed(lost | indirect, ALL_KINDS, "SUPPRESSED      3 leaks of 110 B in 6 blocks, by 0 rules\n");
    assert_suppressed(indirect, usual, "SUPPRESSED      64 B in 2 blocks indirectly lost, by 0 rules\n");
    assert_suppressed(1 << CLASS_INTERIOR, usual, "SUPPRESSED      1 leak of 256 B in 1 block, by 0 rules\n");
    assert_suppressed(1 << CLASS_INTERIOR | 1 << CLASS_POSSIBLY_INDIRECT, usual,
                      "SUPPRESSED      1 leak of 256 B in 1 block, and 7 B in 1 block indirectly lost, by 0 rules\n");
}

static void test_indirect_of_known(void **state)
{
    (void)state;
    assert_int_equal(indirect_shown(false, false, LEAK_DEFINITE), 2);
    assert_int_equal(indirect_shown(true, false, LEAK_DEFINITE), 2);
    assert_int_equal(indirect_shown(false, true, LEAK_DEFINITE), 0);
    assert_int_equal(indirect_shown(true, true, ALL_KINDS), 2);
}

static void test_all_kinds(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){.leak_kinds = ALL_KINDS, .problem_kinds = ALL_KINDS, .frames = 1});

    (void)state;
    must_print(text, "rtcheck: 5 problems: 2 leaks, 1 indirect leak, 1 possible leak, 1 place in use; 5");
    must_print(text, "\nINDIRECT LEAKS (mel)  1 place: 64 B in 2 blocks\n");
    must_print(text, "\nSTILL REACHABLE (biu)  1 place: 9 B in 1 block\n");
    must_print(text, "  0x700000010400  prog1+0x60\n"); /* as many frames as requested */
}

static void test_deterministic(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL, .deterministic = true});

    (void)state;
    must_print(text, " Id            Total Size  Num of Blocks  Allocation Call Stack\n");
    must_print(text, "        16 B              1  prog1+0x10; 2 blocks");
    must_not_print(text, "0x7000000");
    b = one_of_each();
    must_not_print(text_of(&b, (struct print_options){USUAL, .deterministic = true, .leaks = PRINT_LEAKS_RECORDS}),
                   "0x7000000");
}

static void test_records(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS});

    (void)state;
    must_print(text, "  memory leak (mel): found a block of 16 bytes at 0x700000010200\n"
                   "     witness      only itself, or blocks that it leads to\n"
                   "     and          2 blocks of 64 B indirectly lost\n"
                   "     allocated    [1]  prog1+0x10\n");
    must_print(text, "  memory leak (mel): found 3 blocks, 30 B in total\n"
                   "     the first    no pointer to it\n"
                   "     allocated    [1]  prog1+0x20\n"
                   "                  [2]  prog1+0x10\n");
    must_print(text, "  possible leak, address in block (aib): found a block of 256 bytes at 0x700000010400\n"
                   "     witness      a pointer 8 bytes inside it in register rbx of thread 3 (worker\\x1b)\n"
                   "     allocated    [1]  prog1+0x60\n");
}

static void test_summary(void **state)
{
    struct build b = one_of_each();

    (void)state;
    must_print(text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_SUMMARY}),
               "LEAKS\n"
               "  definite (mel)        46 B in 4 blocks at 2 places\n"
               "  indirect (mel)        64 B in 2 blocks at 1 place\n"
               "  possible (aib, air)   263 B in 2 blocks at 1 place\n"
               "  reachable (biu)       9 B in 1 block at 1 place\n"
               "IN USE");
}

/*
 * Leaks that are shown and leaks that are problems are independent sets; with neither there is no
 * text.
 */
static void test_problems(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){.leak_kinds = LEAK_DEFINITE});

    (void)state;
    must_print(text, "rtcheck: no problems, 5 allocs");
    must_print(text, "LEAKS (mel)");
    b = one_of_each();
    text = text_of(&b, (struct print_options){.leaks = PRINT_LEAKS_NOTHING});
    must_not_print(text, "LEAKS");
    must_not_print(text, "leak");
    b = one_of_each();
    must_print(text_of(&b, (struct print_options){USUAL, .quiet = true}), "LEAKS (mel)");
    b = one_of_each();
    assert_string_equal(text_of(&b, (struct print_options){.quiet = true}), "");
}

static void test_no_leaks(void **state)
{
    struct build b = build_begin();

    (void)state;
    an_image(&b, 1);
    must_print(text_of(&b, (struct print_options){USUAL}), "rtcheck: in control; no leaks; exit status 0\n");
}

/* A lost inherited block belongs to the parent; blocks lost indirectly through it do not. */
static void test_inherited(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    struct leak_group *g = build_leak(p.leaks, REACH_LOST, deep(p.depot, 1), 0, 0);

    (void)state;
    g->block_bytes = 24;
    g->indirect_blocks = 1;
    g->indirect_bytes = 9;
    must_print(text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS}),
               "found an inherited block of 24 bytes at 0x700000010100\n"
               "     witness      no pointer to it\n"
               "     and          1 block of 9 B indirectly lost\n");
}

/* ---- merged by leading frames -------------------------------------------------------------- */

/* Three stacks: two share their 2 innermost frames, all three the innermost. */
static struct build three_stacks(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    uint32_t outer, middle;

    for (uint32_t i = 0; i < 3; i++) {
        outer = build_node(p.depot, PROG + 0x100 + 0x10 * i, 0);
        middle = build_node(p.depot, PROG + (i < 2 ? 0x20 : 0x30), outer);
        build_leak(p.leaks, REACH_LOST, build_node(p.depot, PROG + 0x10, middle), 1, 10 + i);
    }
    return b;
}

static void test_match(void **state)
{
    struct build b = three_stacks();
    const char *text = text_of(&b, (struct print_options){USUAL});

    (void)state;
    must_print(text, "LEAKS (mel)  3 places: 33 B in 3 blocks\n");
    b = three_stacks();
    text = text_of(&b, (struct print_options){USUAL, .match = 2});
    must_print(text, "LEAKS (mel)  2 places: 33 B in 3 blocks\n");
    must_print(text, "        21 B              2  -               prog1+0x10 < prog1+0x20\n"); /* and no more */
    must_print(text, "        12 B              1  0x700000010300  prog1+0x10 < prog1+0x30 < prog1+0x120\n");
    must_print(text, "rtcheck: 2 problems: 2 leaks"); /* the headline counts table rows */
    must_print(text, "rtcheck: in control; 2 problems; leaked 33 B");
    b = three_stacks();
    must_print(text_of(&b, (struct print_options){USUAL, .match = 1, .leaks = PRINT_LEAKS_SUMMARY}), " at 1 place\n");
    b = three_stacks();
    text = text_of(&b, (struct print_options){USUAL, .match = 1, .leaks = PRINT_LEAKS_RECORDS});
    must_print(text, "found 3 blocks, 33 B in total\n");
    must_print(text, "[1]  prog1+0x10\n                  ... 2 more\n");
}

/* ---- limits of length ----------------------------------------------------------------------- */

static struct build many(uint32_t lost, uint32_t interior)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);

    for (uint32_t i = 0; i < lost + interior; i++)
        build_leak(p.leaks, i < lost ? REACH_LOST : REACH_INTERIOR,
                   build_node(p.depot, PROG + 0x10 * (i + 1), 0), 1, 1000 - i);
    return b;
}

static void test_short(void **state)
{
    struct build b = many(60, 2);
    const char *text = text_of(&b, (struct print_options){USUAL, .pool = "/state/last.pool"});

    (void)state;
    assert_true(lines_of(text) <= 40);
    must_print(text, "LEAKS (mel)  60 places: ");
    must_print(text, " 53 more: rtcheck report --all"); /* 14 lines: 2 + 7 + 1 and 2 + 2 */
    must_print(text, "1000 B");
    must_print(text, "939 B"); /* all of the small ones */
    b = many(60, 60);
    text = text_of(&b, (struct print_options){USUAL});
    assert_true(lines_of(text) <= 40);
    must_print(text, " 56 more: --all prints them\nPOSSIBLE");
    must_print(text, " 56 more: --all prints them\nIN USE");
    b = many(60, 60);
    text = text_of(&b, (struct print_options){USUAL, .all = true});
    must_not_print(text, "more");
    must_print(text, "prog1+0x780\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_suppressed),
        cmocka_unit_test(test_indirect_of_known),
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_records),
        cmocka_unit_test(test_summary),    cmocka_unit_test(test_problems),
        cmocka_unit_test(test_no_leaks),   cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_match),      cmocka_unit_test(test_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
