/*
 * test_print_leaks.c - leaks in the text report, and the limits of length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "leak_output.h"
#include "golden.h"

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
    g->indirect_blocks = 1;
    g->indirect_bytes = 7;
    build_leak(p.leaks, REACH_INDIRECT, deep(p.depot, 3), 1, 7);
    build_leak(p.leaks, REACH_REACHABLE, deep(p.depot, 3), 1, 9)->witness = WITNESS_SELF;
    return b;
}

static void test_table(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL});

    (void)state;
    golden_add("table", text);
    b = one_of_each();
    golden_add("table, terminal", text_of(&b, (struct print_options){USUAL, .columns = 80,
                                                                     .pool = "/state/last.pool"}));
    b = one_of_each();
    golden_add("table in colours", text_of(&b, (struct print_options){USUAL, .color = true}));
}

/* Number of indirect leaks that are shown if these sites are in the baseline, for these kinds. */
static uint64_t indirect_shown(bool plain_known, bool head_known, uint32_t kinds)
{
    struct build b = one_of_each();
    struct report *r = collect(&b);
    uint64_t blocks;

    for (uint32_t i = 0; i < r->leak_count; i++)
        if (r->leaks[i].class == CLASS_LOST)
            r->leaks[i].disposition.is_known =
                r->leaks[i].indirect_blocks > 0 ? head_known : plain_known;
    report_hide_indirect(r, kinds);
    blocks = leak_sum(r, LEAK_INDIRECT).blocks;
    report_close(r);
    return blocks;
}

/* Add the text about one_of_each if these classes are suppressed. */
static void add_suppressed(uint32_t classes, uint32_t kinds, const char *name)
{
    struct build b = one_of_each();
    struct report *r = collect(&b);
    struct rules *rules = rules_new();
    struct print_options how = {.leak_kinds = kinds, .problem_kinds = kinds};
    char *text = NULL;
    size_t bytes;
    struct page page = page_of(open_memstream(&text, &bytes), &how, "");

    r->rules = rules;
    for (uint32_t i = 0; i < r->leak_count; i++)
        if (classes >> r->leaks[i].class & 1)
            r->leaks[i].disposition.suppressed_by = 1;
    report_hide_indirect(r, kinds);
    suppressed_print(r, &page);
    fclose(page.out);
    golden_add(name, text);
    free(text);
    report_close(r);
    rules_free(rules);
}

/* Indirect leaks are counted as without suppressions. */
static void test_suppressed(void **state)
{
    uint32_t usual = LEAK_DEFINITE | LEAK_POSSIBLE, lost = 1 << CLASS_LOST,
             indirect = 1 << CLASS_INDIRECT;

    (void)state;
    add_suppressed(lost, usual, "suppressed: definite");
    add_suppressed(lost | indirect, ALL_KINDS, "suppressed: definite and indirect, of all kinds");
    add_suppressed(indirect, usual, "suppressed: indirect");
    add_suppressed(1 << CLASS_INTERIOR, usual, "suppressed: possible");
    add_suppressed(1 << CLASS_INTERIOR | 1 << CLASS_POSSIBLY_INDIRECT, usual,
                   "suppressed: possible, and indirect");
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

    (void)state;
    golden_add("all kinds, one frame",
               text_of(&b, (struct print_options){
                               .leak_kinds = ALL_KINDS, .problem_kinds = ALL_KINDS, .frames = 1}));
}

static void test_deterministic(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL, .deterministic = true});

    (void)state;
    golden_add("table, deterministic", text);
    b = one_of_each();
    text = text_of(
        &b, (struct print_options){USUAL, .deterministic = true, .leaks = PRINT_LEAKS_RECORDS});
    golden_add("records, deterministic", text);
}

static void test_records(void **state)
{
    struct build b = one_of_each();

    (void)state;
    golden_add("records", text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS}));
    b = one_of_each();
    golden_add(
        "records, terminal",
        text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS, .columns = 80}));
    b = one_of_each();
    golden_add("records of all kinds",
               text_of(&b, (struct print_options){.leak_kinds = ALL_KINDS,
                                                  .problem_kinds = ALL_KINDS,
                                                  .leaks = PRINT_LEAKS_RECORDS}));
}

static void test_summary(void **state)
{
    struct build b = one_of_each();

    (void)state;
    golden_add("summary", text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_SUMMARY}));
}

/*
 * Leaks that are shown and leaks that are problems are independent sets; with neither there is no
 * text.
 */
static void test_problems(void **state)
{
    struct build b = one_of_each();
    const char *text;

    (void)state;
    golden_add("shown, but no problems",
               text_of(&b, (struct print_options){.leak_kinds = LEAK_DEFINITE}));
    b = one_of_each();
    golden_add("problems, but not shown",
               text_of(&b, (struct print_options){.problem_kinds = LEAK_DEFINITE}));
    b = one_of_each();
    text = text_of(&b, (struct print_options){.leaks = PRINT_LEAKS_NOTHING});
    golden_add("without leaks", text);
    b = one_of_each();
    golden_add("quiet", text_of(&b, (struct print_options){USUAL, .quiet = true}));
    b = one_of_each();
    assert_string_equal(text_of(&b, (struct print_options){.quiet = true}), "");
}

static void test_no_leaks(void **state)
{
    struct build b = build_begin();

    (void)state;
    an_image(&b, 1);
    golden_add("no leaks", text_of(&b, (struct print_options){USUAL}));
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
    golden_add("inherited block",
               text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS}));
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

    (void)state;
    golden_add("match: all frames", text_of(&b, (struct print_options){USUAL}));
    b = three_stacks();
    golden_add("match: 2 frames", text_of(&b, (struct print_options){USUAL, .match = 2}));
    b = three_stacks();
    golden_add(
        "match: 1 frame, summary",
        text_of(&b, (struct print_options){USUAL, .match = 1, .leaks = PRINT_LEAKS_SUMMARY}));
    b = three_stacks();
    golden_add(
        "match: 1 frame, records",
        text_of(&b, (struct print_options){USUAL, .match = 1, .leaks = PRINT_LEAKS_RECORDS}));
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
    const char *text;

    (void)state;
    text = text_of(&b, (struct print_options){USUAL, .pool = "/state/last.pool", .columns = 100});
    golden_add("60 leaks, 2 possible", text);
    assert_true(lines_of(text) <= 40);
    b = many(60, 60);
    text = text_of(&b, (struct print_options){USUAL, .columns = 100});
    golden_add("60 leaks, 60 possible", text);
    assert_true(lines_of(text) <= 40);
    b = many(60, 60);
    text = text_of(&b, (struct print_options){USUAL, .max_leaks = 2});
    golden_add("60 leaks, 60 possible, 2 of each", text);
    b = many(60, 60);
    text = text_of(&b, (struct print_options){USUAL, .all = true});
    must_not_print(text, "more");
    must_print(text, "  prog1+0x780 ");
    assert_int_equal(lines_of(text), 2 + 2 * 62 + 2 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_suppressed),    cmocka_unit_test(test_indirect_of_known),
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_records),
        cmocka_unit_test(test_summary),       cmocka_unit_test(test_problems),
        cmocka_unit_test(test_no_leaks),      cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_match),         cmocka_unit_test(test_short),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}
