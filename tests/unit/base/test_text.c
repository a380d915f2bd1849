/*
 * test_text.c - lines and numbers without stdio, compared with stdio.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base.h"

#include <cmocka.h>

/* clang-format off */
static const uint64_t numbers[] = {
    0,      1,          9,          10,          15,         16,
    99,     100,        255,        256,         4095,       65535,
    123456, 4294967295, 4294967296, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
/* clang-format on */

/*
 * A line truncated to each possible length: no byte is written past the buffer, and it is
 * terminated.
 */
static void cutting(void **state)
{
    (void)state;
    const char whole[] = "pid 4711 at 7fff00 end";
    for (size_t room = 1; room < sizeof whole + 4; room++) {
        char buffer[64];
        memset(buffer, '#', sizeof buffer);
        struct text t = text_begin(buffer, room);
        text_put(&t, "pid ");
        text_decimal(&t, 4711);
        text_put_n(&t, " at xx", 4);
        text_hex(&t, 0x7fff00);
        text_put(&t, " end");
        char *end = text_end(&t);
        size_t kept = room - 1 < sizeof whole - 1 ? room - 1 : sizeof whole - 1;
        assert_ptr_equal(end, buffer + kept);
        assert_memory_equal(buffer, whole, kept);
        assert_int_equal(buffer[kept], '\0');
        for (size_t i = kept + 1; i < sizeof buffer; i++)
            assert_int_equal(buffer[i], '#');
    }
}

static void putting_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(numbers); i++) {
        char got[64], want[64];
        struct text t = text_begin(got, sizeof got);
        text_decimal(&t, numbers[i]);
        text_put(&t, " ");
        text_hex(&t, numbers[i]);
        text_end(&t);
        snprintf(want, sizeof want, "%" PRIu64 " %" PRIx64, numbers[i], numbers[i]);
        assert_string_equal(got, want);
    }
}

static void parsing_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(numbers); i++) {
        char text[64];
        uint64_t n = 0;
        const char *s = text;
        snprintf(text, sizeof text, "%" PRIu64 ":rest", numbers[i]);
        assert_true(text_parse_decimal(&s, &n));
        assert_true(n == numbers[i]);
        assert_string_equal(s, ":rest");
        for (int upper = 0; upper <= 1; upper++) {
            snprintf(text, sizeof text, upper ? "%" PRIX64 "g" : "%" PRIx64 "g", numbers[i]);
            s = text;
            assert_true(text_parse_hex(&s, &n));
            assert_true(n == numbers[i]);
            assert_string_equal(s, "g");
        }
    }
}

/* Invalid numbers are refused; neither the position nor the result changes. */
static void refusing_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool hex;
    } rows[] = {
        /* clang-format off */
        {"", false},      {"x1", false},  {"-1", false},
        {"+1", false},    {" 1", false},  {"18446744073709551616", false},
        {"184467440737095516150", false}, {"99999999999999999999999999", false},
        {"a", false},     {"/", false},   {":", false},
        {"", true},       {"g", true},    {"@", true},
        {"10000000000000000", true},
        /* clang-format on */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const char *s = rows[i].text;
        uint64_t n = 77;
        assert_false(rows[i].hex ? text_parse_hex(&s, &n) : text_parse_decimal(&s, &n));
        assert_ptr_equal(s, rows[i].text);
        assert_int_equal(n, 77);
    }
    const char *s = "fF";
    uint64_t n;
    assert_false(text_parse_decimal(&s, &n)); /* a decimal number has no hex digits */
    assert_true(text_parse_hex(&s, &n));
    assert_int_equal(n, 255);
}

static void comparing(void **state)
{
    (void)state;
    static const char *const words[] = {"", "a", "ab", "abc", "b", "A", "a b", "\xff"};
    for (size_t i = 0; i < countof(words); i++) {
        assert_int_equal(text_length(words[i]), strlen(words[i]));
        for (size_t k = 0; k < countof(words); k++) {
            size_t n = strlen(words[k]);
            assert_int_equal(text_equal(words[i], words[k]), strcmp(words[i], words[k]) == 0);
            assert_int_equal(text_starts(words[i], words[k]), strncmp(words[i], words[k], n) == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting),         cmocka_unit_test(putting_numbers),
        cmocka_unit_test(parsing_numbers), cmocka_unit_test(refusing_numbers),
        cmocka_unit_test(comparing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
