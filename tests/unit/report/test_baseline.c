/*
 * test_baseline.c - baselines that are no baselines: the place and the reason of each mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "suppress.h"
#include "format/bits.h"

#define HEAD "{\"schema\":\"rtcheck-baseline/1\",\n"

/* "": the text is a baseline; else the first line of the message. */
static const char *why_not(const char *text, size_t bytes)
{
    static char err[512];
    struct baseline *b = NULL;
    char *copy = malloc(bytes); /* exact: a read past its end is found by the sanitizer */
    int bad;

    assert_non_null(copy);
    memcpy(copy, text, bytes);
    err[0] = '\0';
    bad = baseline_read_text(&b, "x.json", copy, bytes, err, sizeof err);
    free(copy);
    assert_int_equal(bad == 0, b != NULL);
    assert_int_equal(bad == 0, err[0] == '\0');
    baseline_free(b);
    err[strcspn(err, "\n")] = '\0';
    return err;
}

#define ROW(text, begin)              \
    {                                 \
        text, sizeof(text) - 1, begin \
    }
#define FINDING HEAD "\"findings\":[{\"id\":\"mel-01234567\",\"count\":1},\n"
#define MEMBERS                                                                               \
    "a finding needs an \"id\" and a \"count\", and may have a \"cap\", a \"program\" and a " \
    "\"source\""

static const struct {
    const char *text;
    size_t bytes;
    const char *begin; /* of the message; "": there is none */
} rows[] = {
    /* clang-format off */
    ROW(HEAD "\"findings\":[]}", ""),
    ROW(HEAD "\"more\":[{\"x\":[null,true,-1.5e3,\"t\"]}]}", ""),
    ROW(HEAD "\"findings\":[{\"id\":\"mel-0123456\\u0037\",\"count\":9223372036854775807,\"cap\":0}]}", ""),
    ROW("[]", "x.json:1:1: \"schema\": \"rtcheck-baseline/1\" is expected"),
    ROW("{\"schema\":1}", "x.json:1:1: \"schema\": \"rtcheck-baseline/1\" is expected"),
    ROW("{\n\"schema\":\"other\"}", "x.json:2:10: \"schema\": \"rtcheck-baseline/1\" is expected"),
    ROW(HEAD "\"findings\":{}}", "x.json:1:1: \"findings\" is no array"),
    /* the place is that of the finding's id, or of the last id before */
    ROW(FINDING "{\"count\":1}]}", "x.json:2:19: findings[1]: " MEMBERS),
    ROW(FINDING "7]}", "x.json:2:19: findings[1]: " MEMBERS),
    ROW(FINDING "{\"id\":7,\"count\":1}]}", "x.json:2:19: findings[1]: " MEMBERS),
    ROW(FINDING "{\"id\":\"mel-11111111\"}]}", "x.json:3:7: findings[1]: " MEMBERS),
    ROW(FINDING "{\"id\":\"mel-11111111\",\"count\":0}]}", "x.json:3:7: findings[1]: " MEMBERS),
    ROW(FINDING "{\"id\":\"mel-11111111\",\"count\":-1}]}", "x.json:3:7: findings[1]: " MEMBERS),
    ROW(FINDING "{\"id\":\"mel-11111111\",\"count\":1.0}]}", "x.json:3:7: findings[1]: " MEMBERS),
    ROW(FINDING "{\"id\":\"mel-11111111\",\"count\":1,\"cap\":-1}]}", "x.json:3:7: findings[1]: " MEMBERS),
    ROW(FINDING "{\"count\":2,\"id\":\"mel-01234567\"}]}", "x.json:3:17: findings[1]: an id that was there before"),
    ROW(FINDING "{\"count\":2,\"id\":\"mel-01234567\",\"program\":\"a\"}]}", ""),
    ROW(FINDING "{\"count\":2,\"id\":\"mel-01234567\",\"source\":\"a\"},{\"id\":\"mel-01234567\",\"count\":1,\"program\":\"a\"}]}", ""),
    ROW(HEAD "\"findings\":[{\"id\":\"mel-01234567\",\"count\":1,\"program\":\"a\"},\n{\"id\":\"mel-01234567\",\"count\":2,\"program\":\"a\"}]}", "x.json:3:7: findings[1]: an id that was there before"),
    ROW(FINDING "{\"id\":\"mel-11111111\",\"count\":1,\"program\":7}]}", "x.json:3:7: findings[1]: " MEMBERS),
    ROW(FINDING "{\"id\":\"mel-11111111\",\"count\":1,\"source\":null}]}", "x.json:3:7: findings[1]: " MEMBERS),
    ROW(FINDING "{\"count\":2,\"id\":\"mel-012\"}]}", "x.json:3:17: findings[1]: this is no id: "),
    ROW(HEAD "\"schema\":1}", "x.json:2:8: duplicate object key"),
    ROW(FINDING "{\"id\":\"mel-11111111\",\"count\":1,\"count\":2}]}", "x.json:3:38: duplicate object key"),
    ROW(HEAD "\"a\":9223372036854775808}", "x.json:2:23: too big integer"),
    ROW(HEAD "\"a\":-9223372036854775809}", "x.json:2:24: too big negative integer"),
    ROW(HEAD "\"a\":1e999}", "x.json:2:9: real number overflow"),
    ROW(HEAD "\"a\":\"b\x80\"}", "x.json:2:7: unable to decode byte 0x80"),
    ROW(HEAD "\"a\":\"\xc0\xaf\"}", "x.json:2:6: unable to decode byte 0xc0"),
    ROW(HEAD "\"a\":\"\xed\xa0\x80\"}", "x.json:2:6: unable to decode byte 0xed"),
    ROW(HEAD "\"a\":\"b\0c\"}", "x.json:2:7: a NUL byte"),
    ROW(HEAD "\"findings\":[]}\0", "x.json:2:15: a NUL byte"),
    ROW(HEAD "\"a\":\"\\u0000\"}", "x.json:2:12: \\u0000 is not allowed"),
    ROW(HEAD "\"a\":1} x", "x.json:2:8: end of file expected"),
    ROW("\xef\xbb\xbf" HEAD "\"a\":1}", "x.json:1:"),
    ROW("\n\n", "x.json:3:1: '[' or '{' expected"),
    /* clang-format on */
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        const char *why = why_not(rows[i].text, rows[i].bytes);
        if (strncmp(why, rows[i].begin, strlen(rows[i].begin)) != 0 || (!*why != !*rows[i].begin))
            fail_msg("%s: %s, not %s", rows[i].text, why, rows[i].begin);
    }
}

/* Each beginning of a baseline is refused, with a place in it; the message never exceeds its room. */
static void test_truncated(void **state)
{
    static const char whole[] =
        FINDING "{\"id\":\"duf-01234567\",\"count\":1,\"cap\":5,\"what\":\"\\u00e9 \xc3\xa9\"}]}";
    unsigned line, column;

    (void)state;
    assert_string_equal(why_not(whole, sizeof whole - 1), "");
    for (size_t bytes = 1; bytes < sizeof whole - 1; bytes++)
        if (sscanf(why_not(whole, bytes), "x.json:%u:%u: ", &line, &column) != 2 || line > 3 ||
            column == 0)
            fail_msg("%zu bytes: %s", bytes, why_not(whole, bytes));
    for (size_t room = 1; room < 200; room++) {
        char *err = malloc(room);
        struct baseline *b = NULL;
        assert_non_null(err);
        assert_int_not_equal(baseline_read_text(&b, "x.json", whole, 40, err, room), 0);
        assert_true(strlen(err) < room);
        free(err);
    }
}

/* A text of `count` times `unit` between two others, in *bytes bytes; to be freed. */
static char *repeated(const char *before, const char *unit, size_t count, const char *after,
                      size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);

    assert_non_null(out);
    fputs(before, out);
    for (size_t i = 0; i < count; i++)
        fputs(unit, out);
    fputs(after, out);
    fclose(out);
    return text;
}

/* Nesting uses the stack: it is limited. */
static void test_nesting(void **state)
{
    static const char *const units[] = {"[", "{\"a\":", "[{\"a\":"};
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < countof(units); i++) {
        char *text = repeated(HEAD "\"a\":", units[i], 10000, "", &bytes);
        assert_non_null(strstr(why_not(text, bytes), ": maximum parsing depth reached"));
        free(text);
    }
}

/* 10 MB: one long line, read whole; and a mistake in its last finding. */
static void test_large(void **state)
{
    size_t bytes;
    char *text = NULL, last[64];
    FILE *out = open_memstream(&text, &bytes);

    (void)state;
    assert_non_null(out);
    fputs("{\"schema\":\"rtcheck-baseline/1\",\"findings\":[", out);
    for (unsigned i = 0; i < 100000; i++)
        fprintf(out, "{\"id\":\"mel-%08x\",\"count\":1,\"what\":\"%064u\"},", i, i);
    fputs("{\"id\":\"mel-\",\"count\":1}]}", out);
    fclose(out);
    assert_true(bytes > 10000000);
    snprintf(last, sizeof last, "x.json:1:%zu: findings[100000]: this", bytes - 18);
    if (strncmp(why_not(text, bytes), last, strlen(last)) != 0)
        fail_msg("%s, not %s", why_not(text, bytes), last);
    text[bytes - 26] = ']';
    assert_non_null(strstr(why_not(text, bytes), "'}' expected"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
