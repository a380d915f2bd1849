/*
 * output.c - judges of printed text, written apart from the printers on purpose.
 */
#include "output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* The judge's own turns are nothing for the fuzzer to explore. */
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

/* ---- text --------------------------------------------------------------------------------- */

/* The character at `s`, and how long it is; 0: no good UTF-8. */
static size_t decode(const unsigned char *s, size_t bytes, unsigned *character)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    unsigned c = n == 1 ? s[0] : s[0] & (0x7f >> n);

    if (n == 0 || n > bytes)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    *character = c;
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

static bool is_control(unsigned c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

bool output_is_plain(const char *text, size_t bytes)
{
    const unsigned char *s = (const unsigned char *)text;

    for (size_t at = 0, n; at < bytes; at += n) {
        unsigned c;
        n = decode(s + at, bytes - at, &c);
        if (n == 0 || (is_control(c) && c != '\n'))
            return false;
    }
    return true;
}

/* ---- JSON --------------------------------------------------------------------------------- */

#define DEPTH_MAX 32

struct json {
    const char *at; /* a NUL follows the last byte */
    const char *end;
    unsigned depth;
};

static void skip_space(struct json *j)
{
    j->at += strspn(j->at, " \t\r\n");
}

static bool eat(struct json *j, char c)
{
    skip_space(j);
    if (*j->at != c || j->at == j->end)
        return false;
    j->at++;
    return true;
}

static bool eat_escape(struct json *j)
{
    if (*j->at != 'u')
        return *j->at && strchr("\"\\/bfnrt", *j->at++);
    for (int i = 0; i < 4; i++)
        if (!isxdigit((unsigned char)*++j->at))
            return false;
    j->at++;
    return true;
}

static bool eat_string(struct json *j)
{
    if (!eat(j, '"'))
        return false;
    while (*j->at != '"') {
        unsigned c;
        size_t n = decode((const unsigned char *)j->at, (size_t)(j->end - j->at), &c);
        if (j->at >= j->end || n == 0 || c < 0x20)
            return false;
        j->at += n;
        if (c == '\\' && !eat_escape(j))
            return false;
    }
    j->at++;
    return true;
}

static bool eat_number(struct json *j)
{
    const char *from = j->at;

    j->at += *j->at == '-';
    j->at += strspn(j->at, "0123456789");
    return j->at > from && isdigit((unsigned char)j->at[-1]) &&
           (*from != '0' || j->at == from + 1) && !strchr(".eE", *j->at);
}

static bool eat_word(struct json *j, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(j->at, word, n) != 0)
        return false;
    j->at += n;
    return true;
}

static bool eat_value(struct json *j);

static bool eat_members(struct json *j, char last, bool named)
{
    if (eat(j, last))
        return true;
    do {
        if (named && !(eat_string(j) && eat(j, ':')))
            return false;
        if (!eat_value(j))
            return false;
    } while (eat(j, ','));
    return eat(j, last);
}

static bool eat_value(struct json *j)
{
    bool good;

    skip_space(j);
    if (*j->at == '"')
        return eat_string(j);
    if (*j->at == '-' || isdigit((unsigned char)*j->at))
        return eat_number(j);
    if (*j->at != '{' && *j->at != '[')
        return eat_word(j, "true") || eat_word(j, "false") || eat_word(j, "null");
    if (++j->depth > DEPTH_MAX)
        return false;
    good = *j->at++ == '{' ? eat_members(j, '}', true) : eat_members(j, ']', false);
    j->depth--;
    return good;
}

bool output_is_json(const char *text, size_t bytes)
{
    struct json j = {text, text + bytes, 0};

    if (!eat_value(&j))
        return false;
    skip_space(&j);
    return j.at == j.end;
}

bool output_is_json_lines(const char *text, size_t bytes)
{
    bool good = bytes == 0 || text[bytes - 1] == '\n';

    while (good && bytes > 0) {
        size_t n = (size_t)((const char *)memchr(text, '\n', bytes) - text);
        char *line = strndup(text, n); /* with the NUL that memchr stopped at */
        good = line && output_is_json(line, n);
        free(line);
        text += n + 1;
        bytes -= n + 1;
    }
    return good;
}

#pragma clang attribute pop
