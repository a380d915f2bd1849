/*
 * text.c - lines and numbers without stdio, locale or dynamic memory.
 */
#include "base.h"

struct text text_begin(char *buffer, size_t room)
{
    return (struct text){buffer, buffer + room - 1};
}

void text_put_n(struct text *t, const char *s, size_t n)
{
    while (n-- > 0 && t->at < t->end)
        *t->at++ = *s++;
}

void text_put(struct text *t, const char *s)
{
    text_put_n(t, s, text_length(s));
}

static void put_number(struct text *t, uint64_t n, unsigned base)
{
    char digits[24];
    size_t i = sizeof digits;
    do {
        digits[--i] = "0123456789abcdef"[n % base];
        n /= base;
    } while (n);
    text_put_n(t, digits + i, sizeof digits - i);
}

void text_decimal(struct text *t, uint64_t n)
{
    put_number(t, n, 10);
}

void text_hex(struct text *t, uint64_t n)
{
    put_number(t, n, 16);
}

char *text_end(struct text *t)
{
    *t->at = '\0';
    return t->at;
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 99;
}

static bool parse(const char **s, uint64_t *out, unsigned base)
{
    const char *p = *s;
    uint64_t n = 0;
    for (; digit_of(*p) < base; p++)
        if (!checked_mul(n, base, &n) || !checked_add(n, digit_of(*p), &n))
            return false;
    if (p == *s)
        return false;
    *s = p;
    *out = n;
    return true;
}

bool text_parse_decimal(const char **s, uint64_t *out)
{
    return parse(s, out, 10);
}

bool text_parse_hex(const char **s, uint64_t *out)
{
    return parse(s, out, 16);
}

size_t text_length(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

bool text_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

bool text_starts(const char *s, const char *prefix)
{
    while (*prefix)
        if (*s++ != *prefix++)
            return false;
    return true;
}
