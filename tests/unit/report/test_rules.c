/*
 * test_rules.c - rules and findings: the matches of each scope, precedence of rules, and the cost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "format/bits.h"
#include "rules_text.h"

#define MEL CODE_MEL, LEAK_DEFINITE

static char err[512];

static struct rules *sealed(const char *text)
{
    struct rules *rules = rules_of(text, err, sizeof err);

    if (!rules)
        fail_msg("%s", err);
    rules_seal(rules);
    return rules;
}

static bool matches(const char *text, uint32_t code, uint32_t kind, const char *words)
{
    struct rules *rules = sealed(text);
    uint32_t line = line_of(rules, code, kind, words);

    rules_free(rules);
    return line != 0;
}

#define LEAK(locations) "{\n a\n Memcheck:Leak\n " locations "\n}\n"

/*
 * Frames match from the innermost on, in order; an ellipsis matches any number of frames, also
 * none.
 */
static void test_stacks(void **state)
{
    static const struct {
        const char *rule, *stack;
        bool matches;
    } rows[] = {
        {LEAK("fun:malloc\nfun:a"), "malloc a b c", true},
        {LEAK("fun:malloc\nfun:b"), "malloc a b c", false},
        {LEAK("fun:malloc\nfun:a\nfun:b\nfun:c\nfun:d"), "malloc a b c", false},
        {LEAK("fun:malloc\n...\nfun:c"), "malloc a b c", true},
        {LEAK("...\nfun:c"), "malloc a b c d", true},
        {LEAK("...\nfun:c\n..."), "malloc a b c", true},
        {LEAK("...\nfun:malloc"), "malloc a", true},
        {LEAK("fun:malloc\n...\nfun:a\nfun:b"), "malloc a x a b", true},
        {LEAK("fun:malloc\n...\nfun:a\nfun:b\n...\nfun:z"), "malloc a x a b y z", true},
        {LEAK("fun:malloc\n...\nfun:a\nfun:b\n...\nfun:z"), "malloc a x a y b z", false},
        {LEAK("...\n...\nfun:q"), "malloc a b", false},
        {LEAK("fun:mal*\nfun:?"), "malloc a b", true},
        {LEAK("fun:mal*\nfun:??"), "malloc a b", false},
        {LEAK("fun:malloc\nobj:*/libx.so*"), "malloc /lib/libx.so.1:f main", true},
        {LEAK("fun:malloc\nobj:*/libx.so*"), "malloc /lib/liby.so.1:f main", false},
        {LEAK("obj:*\nfun:*"), "malloc a", true},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        if (matches(rows[i].rule, MEL, rows[i].stack) != rows[i].matches)
            fail_msg("%s%s: not %d", rows[i].rule, rows[i].stack, rows[i].matches);
}

/* Frames cut off by the limit of frames match, but an ellipsis does not reach them. */
static void test_cut_stacks(void **state)
{
    static const char *const rule[] = {LEAK("fun:malloc\nfun:a\nfun:b\nfun:c"),
                                       LEAK("fun:malloc\n...\nfun:c")};
    static const bool want[] = {true, false};

    (void)state;
    for (size_t i = 0; i < countof(rule); i++) {
        struct rules *rules = sealed(rule[i]);
        struct stack s;
        stack_make(rules, &s, MEL, "malloc a b");
        assert_int_equal(rules_find(rules, &s.finding), NO_RULE);
        s.finding.is_cut = true;
        assert_int_equal(rules_find(rules, &s.finding) == 0, want[i]);
        rules_free(rules);
    }
}

static void test_kinds(void **state)
{
    const char *possible =
        "{\n a\n Memcheck:Leak\n match-leak-kinds: possible,indirect\n fun:malloc\n}\n";
    const char *none = "{\n a\n Memcheck:Leak\n match-leak-kinds: none\n fun:malloc\n}\n";

    (void)state;
    assert_false(matches(possible, MEL, "malloc a"));
    assert_true(matches(possible, CODE_MEL, LEAK_INDIRECT, "malloc a"));
    assert_true(matches(possible, CODE_AIB, LEAK_POSSIBLE, "malloc a"));
    assert_true(matches(possible, CODE_AIR, LEAK_POSSIBLE, "malloc a"));
    assert_false(matches(possible, CODE_BIU, LEAK_REACHABLE, "malloc a"));
    assert_true(matches(LEAK("fun:malloc"), CODE_BIU, LEAK_REACHABLE, "malloc a"));
    assert_false(matches(none, MEL, "malloc a"));
    assert_false(matches(LEAK("fun:free"), CODE_DUF, 0, "free a"));
    assert_true(matches("{\n a\n Memcheck:Free\n fun:free\n}\n", CODE_DUF, 0, "free a"));
    assert_true(matches("{\n a\n Memcheck:Free\n fun:free\n}\n", CODE_MIS, 0, "free a"));
    assert_false(matches("{\n a\n Memcheck:Free\n fun:malloc\n}\n", MEL, "malloc a"));
    assert_true(matches("{\n a\n Memcheck:Addr8\n fun:a\n}\n", CODE_WUA, 0, "a b"));
    assert_true(matches("{\n a\n Memcheck:Addr1\n fun:memcpy*\n}\n", CODE_RUA, 0, "memcpy b"));
    assert_false(matches("{\n a\n Memcheck:Addr1\n fun:a\n}\n", CODE_OVL, 0, "a b"));
    assert_true(matches("{\n a\n Memcheck:Overlap\n fun:a\n}\n", CODE_OVL, 0, "a b"));
    assert_true(matches("{\n a\n Memcheck:Cond\n fun:a\n}\n", CODE_RUI, 0, "a b"));
    assert_true(matches("{\n a\n Memcheck:Value8\n fun:a\n}\n", CODE_RUI, 0, "a b"));
    assert_false(matches("{\n a\n Memcheck:Cond\n fun:a\n}\n", CODE_RUA, 0, "a b"));
    assert_false(matches("{\n a\n Memcheck:Addr8\n fun:a\n}\n", CODE_RUI, 0, "a b"));
    assert_false(matches("{\n a\n Memcheck:Overlap\n fun:a\n}\n", CODE_RUA, 0, "a b"));
    assert_true(matches("{\n a\n Memcheck:Param\n write(buf)\n fun:write\n fun:b\n}\n", CODE_RUA, 0,
                        "write b"));
    assert_true(matches("{\n a\n Memcheck:Param\n socketcall.sendto(msg)\n ...\n fun:b\n}\n",
                        CODE_RUA, 0, "sendto b"));
    assert_true(matches("{\n a\n Memcheck:Param\n pwrite64(buf)\n ...\n fun:b\n}\n", CODE_RUA, 0,
                        "pwrite b"));
    assert_false(
        matches("{\n a\n Memcheck:Param\n write(buf)\n ...\n fun:b\n}\n", CODE_RUA, 0, "writev b"));
    assert_false(matches("{\n a\n Memcheck:Param\n write(buf)\n ...\n fun:b\n}\n", CODE_MEL,
                         LEAK_DEFINITE, "write b"));
    assert_true(matches("{\n a\n rtcheck:wua\n fun:a\n}\n", CODE_WUA, 0, "a b"));
    assert_true(matches("{\n a\n rtcheck:wua\n fun:b\n}\n", CODE_WUA, 0, "a b c"));
    assert_false(matches("{\n a\n rtcheck:wua\n fun:c\n}\n", CODE_WUA, 0, "a b c"));
    assert_false(matches(LEAK("fun:a"), MEL, "malloc a"));
    assert_false(matches("{\n a\n Helgrind:Race\n fun:malloc\n}\n", MEL, "malloc a"));
    assert_true(matches("{\n a\n Helgrind,Memcheck:Leak\n fun:malloc\n}\n", MEL, "malloc a"));
    assert_true(matches("leak:a", CODE_AIB, LEAK_POSSIBLE, "malloc a"));
    assert_false(matches("leak:a", CODE_DUF, 0, "free a"));
}

/* A template matches any frame except the entry; a part of a name, unless it is anchored. */
static void test_templates(void **state)
{
    (void)state;
    assert_true(matches("leak:ore", MEL, "malloc a more main"));
    assert_true(matches("leak:libx.so", MEL, "malloc /lib/libx.so.1:f main"));
    assert_true(matches("leak:m*e", MEL, "malloc a more"));
    assert_true(matches("leak:^more$", MEL, "malloc a more"));
    assert_false(matches("leak:^ore", MEL, "malloc a more"));
    assert_false(matches("leak:^mor$", MEL, "malloc a more"));
    assert_true(matches("leak:^mor*e$ and what stands here", MEL, "malloc a more"));
    assert_false(matches("leak:mor?", MEL, "malloc a more"));
    assert_false(matches("leak:malloc", MEL, "malloc a more"));
}

/* Only the innermost frame matches. */
static void test_places(void **state)
{
    (void)state;
    assert_true(matches("suppress mel in f", MEL, "malloc f main"));
    assert_false(matches("suppress mel in main", MEL, "malloc f main"));
    assert_true(matches("suppress duf mel in g f", MEL, "malloc f main"));
    assert_true(matches("suppress all", MEL, "malloc f main"));
    assert_true(matches("suppress all", CODE_BAF, 0, "free f main"));
    assert_false(matches("suppress aib", MEL, "malloc f main"));
    assert_false(matches("suppress rui", MEL, "malloc f main"));
    assert_true(matches("suppress mel in sub/f", MEL, "malloc my/sub/f main"));
    assert_false(matches("suppress mel in sub/f", MEL, "malloc sub/ff main"));
    assert_true(matches("suppress mel in \"a f\"\n", MEL, "malloc f main") == false);
}

static void test_addresses(void **state)
{
    struct rules *rules = sealed("suppress baf addr 0x1010");
    struct stack s;

    (void)state;
    stack_make(rules, &s, CODE_BAF, 0, "free f");
    s.finding.address = 0x1010;
    assert_int_equal(rules_find(rules, &s.finding), 0);
    s.finding.address = 0x1011;
    assert_int_equal(rules_find(rules, &s.finding), NO_RULE);
    s.finding.address = 0x1000;
    assert_int_equal(rules_find(rules, &s.finding), NO_RULE);
    s.finding.bytes_there = 0x11;
    assert_int_equal(rules_find(rules, &s.finding), 0);
    s.finding.bytes_there = 0x10;
    assert_int_equal(rules_find(rules, &s.finding), NO_RULE);
    rules_free(rules);
}

/* In all grammars: an unsuppress removes findings from earlier rules. */
static void test_the_last_decides(void **state)
{
    struct rules *rules = sealed("suppress all\n" LEAK(
        "fun:malloc\nfun:f") "leak:f\nunsuppress mel in f\nsuppress mel in f\nleak:^g$\n");

    (void)state;
    assert_int_equal(line_of(rules, MEL, "malloc f main"), 10);
    assert_int_equal(line_of(rules, CODE_AIB, LEAK_POSSIBLE, "malloc f main"), 8);
    assert_int_equal(line_of(rules, MEL, "malloc h main"), 1);
    assert_int_equal(line_of(rules, MEL, "malloc f g"), 11);
    assert_int_equal(rules->rule[0].findings, 1);
    rules_free(rules);
    rules = sealed("suppress mel\nunsuppress mel in f");
    assert_int_equal(line_of(rules, MEL, "malloc f main"), 2);
    assert_true(rules->rule[1].is_shown);
    rules_free(rules);
}

static void test_remarks(void **state)
{
    struct rules *rules = rules_of(
        "# expires: 2026-05-04\n# reason: a bug\nleak:f\n\n# max: 3\n\nleak:^g$\n"
        "{\n# max: 2\n x\n Memcheck:Leak\n# reason: known\n fun:malloc\n fun:h\n}\nleak:^i$\n",
        err, sizeof err);

    (void)state;
    assert_non_null(rules);
    assert_string_equal(rules->rule[0].reason, "a bug");
    assert_int_equal(rules->rule[1].max, 0); /* an empty line came between */
    assert_int_equal(rules->rule[2].max, 2);
    assert_string_equal(rules->rule[2].reason, "known");
    assert_null(rules->rule[3].reason);
    strcpy(rules->today, "2026-05-05");
    rules_seal(rules);
    assert_true(rules->rule[0].is_expired);
    assert_int_equal(line_of(rules, MEL, "malloc f main"), 0);
    assert_int_equal(line_of(rules, MEL, "malloc h a"), 8);
    assert_int_equal(line_of(rules, MEL, "malloc h b"), 8);
    assert_int_equal(line_of(rules, MEL, "malloc h c"), 0);
    assert_int_equal(rules->rule[2].hits, 2);
    assert_int_equal(rules->rule[2].over, 1);
    rules_free(rules);
    rules = rules_of("# expires: 2026-05-04\nleak:f\n", err, sizeof err);
    strcpy(rules->today, "2026-05-04"); /* the rule's last day */
    rules_seal(rules);
    assert_int_equal(line_of(rules, MEL, "malloc f main"), 2);
    rules_free(rules);
}

/* A rule that expires on a day that does not exist would never expire. */
static void test_dates(void **state)
{
    static const struct {
        const char *date;
        bool exists;
    } dates[] = {{"2027-01-31", true},  {"2027-02-28", true},  {"2028-02-29", true},
                 {"2000-02-29", true},  {"2027-12-31", true},  {"2027-02-29", false},
                 {"2028-02-31", false}, {"2100-02-29", false}, {"2027-04-31", false},
                 {"2027-13-01", false}, {"2027-00-01", false}, {"2027-01-00", false}};

    (void)state;
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        char text[64];
        snprintf(text, sizeof text, "# expires: %s\nleak:f\n", dates[i].date);
        struct rules *rules = rules_of(text, err, sizeof err);
        assert_int_equal(rules != NULL, dates[i].exists);
        if (rules)
            rules_free(rules);
    }
}

#define MANY 10000

/*
 * Each rule has frames of its own and some that all rules have.  The number of comparisons stays
 * near the minimum: a hundredth of all pairs would be a million.
 */
static void test_many(void **state)
{
    char *text = malloc((size_t)MANY * 200), *at = text, words[200];
    struct rules *rules;
    uint32_t found = 0;
    clock_t start;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        at += i % 4 == 3 ? sprintf(at, "leak:lib_%d_\n", i)
                         : sprintf(at,
                                   "{\n r%d\n Memcheck:Leak\n fun:malloc\n ...\n "
                                   "fun:_ZN3app%s%dE*\n fun:main\n}\n",
                                   i, i % 4 == 2 ? "*" : "f", i);
    }
    start = clock();
    rules = sealed(text);
    for (int i = 0; i < MANY; i++) {
        snprintf(words, sizeof words, "malloc xmalloc _ZN3appf%dEv main", i);
        if (i % 4 == 3)
            snprintf(words, sizeof words, "malloc xmalloc lib_%d_f main", i);
        found += line_of(rules, MEL, words) != 0;
    }
    assert_int_equal(found, MANY);
    print_message("%d rules, %d findings: %.3f s, %llu rules and %llu patterns compared\n", MANY,
                  MANY, (double)(clock() - start) / CLOCKS_PER_SEC,
                  (unsigned long long)rules->tried,
                  (unsigned long long)patterns_compared(rules->patterns));
    assert_in_range(rules->tried + patterns_compared(rules->patterns), MANY, 400000);
    rules_free(rules);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_cut_stacks),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_the_last_decides),
        cmocka_unit_test(test_remarks),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
