/*
 * test_patterns.c - the patterns that match a text: the tables agree with comparing each pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "patterns.h"
#include "format/bits.h"

/* With the wildcards that users write. */
static const char *wild(const char *text)
{
    static char out[256];
    char *to = out;

    for (; *text; text++)
        *to++ = *text == '*' ? PATTERN_RUN : *text == '?' ? PATTERN_ONE : *text;
    *to = '\0';
    return out;
}

static void test_pairs(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        /* clang-format off */
        {"abc", "abc", true},        {"abc", "abcd", false},      {"abc", "ab", false},
        {"a*c", "ac", true},         {"a*c", "abbbc", true},      {"a*c", "abcb", false},
        {"*", "", true},             {"*", "x", true},            {"?", "", false},
        {"?", "x", true},            {"a?c", "ac", false},        {"a?c", "abc", true},
        {"*ab*ab", "abab", true},    {"*ab*ab", "ab", false},     {"*aab", "aaab", true},
        {"a*b*c*d", "axbxcxd", true}, {"a*b*c*d", "axcxbxd", false}, {"**a", "a", true},
        {"", "", true},              {"", "a", false},
        /* clang-format on */
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        if (pattern_matches(wild(rows[i].pattern), rows[i].text) != rows[i].matches)
            fail_msg("%s, %s: not %d", rows[i].pattern, rows[i].text, rows[i].matches);
}

static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void any_text(const char *letters, size_t most, char out[16])
{
    size_t n = any((uint32_t)most), of = strlen(letters);

    for (size_t i = 0; i < n; i++)
        out[i] = letters[any((uint32_t)of)];
    out[n] = '\0';
}

#define PATTERNS 300
#define TEXTS 300

/* Short patterns over few letters: many match, with every length of run, and some are equal. */
static void test_tables_are_pairs(void **state)
{
    static char patterns[PATTERNS][16], texts[TEXTS][16];
    struct patterns *all = patterns_new();
    uint32_t number[PATTERNS], met = 0;

    (void)state;
    for (int i = 0; i < PATTERNS; i++) {
        any_text("aab*?", 10, patterns[i]);
        strcpy(patterns[i], wild(patterns[i]));
        number[i] = pattern_intern(all, patterns[i], strlen(patterns[i]));
    }
    for (int i = 0; i < TEXTS; i++) {
        any_text("ab", 9, texts[i]);
        uint32_t text = text_intern(all, texts[i]);
        for (int k = 0; k < PATTERNS; k++) {
            bool matches = texts[i][0] && pattern_matches(patterns[k], texts[i]);
            met += matches;
            assert_int_equal(text_matches(all, text, number[k]), matches);
        }
    }
    assert_true(met > 1000);
    patterns_free(all);
}

/*
 * Equal patterns are stored once; nothing is compared twice, and few pairs without a common run
 * are.
 */
static void test_each_once(void **state)
{
    struct patterns *all = patterns_new();
    uint32_t one = pattern_intern(all, wild("lib*foo"), 7), text;

    (void)state;
    assert_int_equal(pattern_intern(all, wild("lib*foo"), 7), one);
    assert_int_equal(pattern_uses(all, one), 2);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "*%04d*", i);
        pattern_intern(all, wild(name), strlen(name));
    }
    text = text_intern(all, "libxfoo");
    assert_int_equal(text_intern(all, "libxfoo"), text);
    assert_true(text_matches(all, text, one));
    assert_int_equal(patterns_compared(all), 1);
    assert_true(text_matches(all, text, one));
    assert_int_equal(patterns_compared(all), 1);
    assert_int_equal(text_intern(all, ""), 0);
    assert_false(text_matches(all, 0, one));
    patterns_free(all);
}

static void test_trivial(void **state)
{
    struct patterns *all = patterns_new();

    (void)state;
    assert_true(pattern_is_trivial(all, pattern_intern(all, wild("*"), 1)));
    assert_true(pattern_is_trivial(all, pattern_intern(all, wild("*?"), 2)));
    assert_false(pattern_is_trivial(all, pattern_intern(all, wild("?"), 1)));
    assert_false(pattern_is_trivial(all, pattern_intern(all, wild("*a"), 2)));
    patterns_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_tables_are_pairs),
        cmocka_unit_test(test_each_once),
        cmocka_unit_test(test_trivial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
