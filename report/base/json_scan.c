/*
 * json_scan.c - a scanner of the subset of JSON that rtcheck's own files use.
 *
 * Escapes in names and strings are not decoded: our files do not depend on them. Numbers are
 * counts. In skipped values only the depth of brackets is checked.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "basics.h"
#include "json_scan.h"

#define DEPTH_MAX 32u

int scan_refuse(struct scan *s, const char *why, ...)
{
    struct text_position position = {s->name, 1, s->text, 0, s->at};
    const char *end;
    va_list args;

    for (const char *p = s->text; p < s->at; p++)
        if (*p == '\n') {
            position.number++;
            position.line = p + 1;
        }
    end = s->at < s->end ? memchr(s->at, '\n', (size_t)(s->end - s->at)) : NULL;
    position.bytes = (size_t)((end ? end : s->end) - position.line);
    va_start(args, why);
    text_error(&position, s->err, s->room, why, args);
    va_end(args);
    return -EINVAL;
}

static void scan_blanks(struct scan *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
        s->at++;
}

char scan_peek(struct scan *s)
{
    scan_blanks(s);
    return s->at < s->end ? *s->at : '\0';
}

bool scan_take(struct scan *s, char c)
{
    if (scan_peek(s) != c || !c)
        return false;
    s->at++;
    return true;
}

int scan_text(struct scan *s, char *out, size_t room)
{
    size_t used = 0;

    if (!scan_take(s, '"'))
        return scan_refuse(s, "a text is expected");
    for (; s->at < s->end && *s->at != '"'; s->at++) {
        if ((unsigned char)*s->at < 0x20)
            return scan_refuse(s, "a text ends on its line");
        if (*s->at == '\\' && s->at + 1 < s->end && s->at[1] != '\n') {
            if (used + 1 < room)
                out[used++] = '\\';
            s->at++;
        }
        if (used + 1 < room)
            out[used++] = *s->at;
    }
    out[used < room ? used : room - 1] = '\0';
    if (s->at == s->end)
        return scan_refuse(s, "a text without its end");
    s->at++;
    return 0;
}

int scan_number(struct scan *s, uint64_t *out)
{
    scan_peek(s);
    for (*out = 0; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        if (*out > UINT64_MAX / 16)
            return scan_refuse(s, "a number that is too large");
        *out = 10 * *out + (uint64_t)(*s->at - '0');
    }
    return s->at > s->text && s->at[-1] >= '0' && s->at[-1] <= '9'
               ? 0
               : scan_refuse(s, "a number is expected");
}

/* Skip a number or a word, without checking its spelling. */
static void skip_word(struct scan *s)
{
    do {
        s->at++;
    } while (s->at < s->end && *s->at && strchr("-+.0123456789truefalsnE", *s->at));
}

int scan_skip(struct scan *s)
{
    unsigned depth = 0;
    char name[2];

    do {
        char c = scan_peek(s);
        if (c == '"') {
            if (scan_text(s, name, sizeof name) != 0)
                return -EINVAL;
        } else if (c == '{' || c == '[') {
            if (++depth > DEPTH_MAX)
                return scan_refuse(s, "too many brackets");
            s->at++;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
            s->at++;
        } else if (c != '\0' && depth > 0) {
            s->at++;
        } else if (c != '\0' && strchr("-+.0123456789truefalsn", c)) {
            skip_word(s);
        } else {
            return scan_refuse(s, "a value is expected");
        }
    } while (depth > 0);
    return 0;
}

int scan_object(struct scan *s, member_taker *take_member, void *arg)
{
    char member[16];

    if (!scan_take(s, '{'))
        return scan_refuse(s, "{ is expected");
    do {
        int bad = scan_text(s, member, sizeof member);
        if (!bad && !scan_take(s, ':'))
            bad = scan_refuse(s, ": is expected");
        if (!bad)
            bad = take_member(s, member, arg);
        if (bad)
            return bad;
    } while (scan_take(s, ','));
    return scan_take(s, '}') ? 0 : scan_refuse(s, ", or } is expected");
}
