/*
 * suppress_read.c - read files of suppressions line by line: choose the grammar, parse comments,
 * and report mistakes with their position.
 *
 * A file may mix entries of valgrind, rules of LeakSanitizer and commands of a debugger: the
 * beginning of a rule identifies its grammar. Our own settings are comments, so that the original
 * tool still accepts the file:
 *
 *     # expires: 2027-01-31      the last day that the rule is valid
 *     # max: 3                   maximum of hits; further findings are reported
 *     # reason: upstream bug 12  printed with the rule
 *
 * directly above a rule, or inside an entry of valgrind's.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

int reader_refuse(struct reader *in, const char *at, const char *format, ...)
{
    const struct text_position position = {in->name, in->number, in->whole, in->whole_bytes, at};
    va_list args;

    va_start(args, format);
    text_error(&position, in->err, in->room, format, args);
    va_end(args);
    return -EINVAL;
}

/* ---- comments -------------------------------------------------------------------------------- */

static unsigned number_at(const char *digits, size_t bytes)
{
    unsigned number = 0;

    for (size_t i = 0; i < bytes; i++)
        number = 10 * number + (unsigned)(digits[i] - '0');
    return number;
}

static unsigned days_of(unsigned year, unsigned month)
{
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    if (month == 2)
        return is_leap ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static bool is_date(const char *at, size_t bytes)
{
    static const char form[] = "0000-00-00";
    unsigned month, day;

    if (bytes != sizeof form - 1)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)at[i]) : at[i] != form[i])
            return false;
    month = number_at(at + 5, 2);
    day = number_at(at + 8, 2);
    return month >= 1 && month <= 12 && day >= 1 && day <= days_of(number_at(at, 4), month);
}

static int take_date(struct reader *in, const char *at, size_t bytes)
{
    if (!is_date(at, bytes))
        return reader_refuse(in, at, "a date like 2027-01-31 is expected");
    memcpy(in->remarks.expires, at, bytes);
    in->remarks.expires[bytes] = '\0';
    return 0;
}

static int take_max(struct reader *in, const char *at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes && i < 10; i++)
        number = isdigit((unsigned char)at[i]) ? 10 * number + (uint64_t)(at[i] - '0') : UINT32_MAX;
    if (bytes == 0 || bytes > 9 || number == 0 || number > 999999999)
        return reader_refuse(in, at, "a number from 1 to 999999999 is expected");
    in->remarks.max = number;
    return 0;
}

static int take_reason(struct reader *in, const char *at, size_t bytes)
{
    free(in->remarks.reason);
    in->remarks.reason = xalloc(strndup(at, bytes));
    return 0;
}

static int take_comment(struct reader *in)
{
    static const struct {
        const char *word;
        int (*take)(struct reader *in, const char *at, size_t bytes);
    } remarks[] = {{"expires:", take_date}, {"max:", take_max}, {"reason:", take_reason}};
    const char *end = in->line + in->bytes, *at = in->line;

    while (at < end && (*at == '#' || *at == ' ' || *at == '\t'))
        at++;
    for (size_t i = 0; i < countof(remarks); i++) {
        size_t n = strlen(remarks[i].word);
        if ((size_t)(end - at) < n || memcmp(at, remarks[i].word, n) != 0)
            continue;
        for (at += n; at < end && (*at == ' ' || *at == '\t');)
            at++;
        return remarks[i].take(in, at, (size_t)(end - at));
    }
    return 0;
}

static void forget_remarks(struct reader *in)
{
    free(in->remarks.reason);
    in->remarks = (struct remarks){0};
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static void take_line(struct reader *in)
{
    const char *end;

    in->is_end = in->at == in->end;
    if (in->is_end) { /* the position is the end of the last line */
        in->line = in->whole ? in->whole + in->whole_bytes : in->at;
        in->bytes = 0;
        return;
    }
    in->whole = in->line = in->at;
    end = memchr(in->at, '\n', (size_t)(in->end - in->at));
    end = end ? end : in->end;
    in->at = end < in->end ? end + 1 : end;
    in->number++;
    in->whole_bytes = (size_t)(end - in->whole);
    while (in->line < end && is_blank(*in->line))
        in->line++;
    while (end > in->line && is_blank(end[-1]))
        end--;
    in->bytes = (size_t)(end - in->line);
}

int reader_next(struct reader *in, bool in_entry)
{
    for (take_line(in); !in->is_end; take_line(in)) {
        const char *nul = memchr(in->line, '\0', in->bytes);
        if (nul)
            return reader_refuse(in, nul, "a zero byte: this is no text");
        if (in->bytes == 0) {
            if (!in_entry)
                forget_remarks(in);
        } else if (*in->line != '#') {
            return 0;
        } else if (take_comment(in) != 0) {
            return -EINVAL;
        }
    }
    return 0;
}

bool line_begins(const struct reader *in, const char *word)
{
    size_t n = strlen(word);
    return in->bytes >= n && memcmp(in->line, word, n) == 0;
}

bool line_is(const struct reader *in, const char *word)
{
    return in->bytes == strlen(word) && line_begins(in, word);
}

/* ---- rules ----------------------------------------------------------------------------------- */

struct rule *reader_add(struct reader *in, enum rule_grammar grammar, const char *name,
                        size_t bytes)
{
    struct rules *rules = in->rules;
    struct rule *rule;

    rules->rule = grow(rules->rule, rules->count, sizeof *rules->rule);
    rule = &rules->rule[rules->count++];
    *rule = (struct rule){.grammar = grammar, .line = in->number, .leak_kinds = UINT32_MAX};
    rule->name = xalloc(strndup(name, bytes));
    rule->file = in->name ? xalloc(strdup(in->name)) : NULL;
    reader_remark(in, rule);
    return rule;
}

void reader_remark(struct reader *in, struct rule *rule)
{
    if (in->remarks.reason) {
        free(rule->reason);
        rule->reason = in->remarks.reason;
    }
    if (in->remarks.expires[0])
        memcpy(rule->expires, in->remarks.expires, sizeof rule->expires);
    if (in->remarks.max)
        rule->max = in->remarks.max;
    in->remarks = (struct remarks){0};
}

void reader_locate(struct rule *rule, enum location_field field, uint32_t pattern, uint32_t line)
{
    rule->locations = grow(rule->locations, rule->location_count, sizeof *rule->locations);
    rule->locations[rule->location_count++] = (struct location){field, pattern, line};
}

/* ---- texts and files ------------------------------------------------------------------------- */

/* LeakSanitizer's rules begin with one word and a colon. */
static bool is_kind_and_colon(const struct reader *in)
{
    size_t n = 0;

    while (n < in->bytes && (islower((unsigned char)in->line[n]) || in->line[n] == '_'))
        n++;
    return n > 0 && n < in->bytes && in->line[n] == ':';
}

static bool is_command(const struct reader *in, const char *word)
{
    size_t n = strlen(word);
    return line_begins(in, word) && (in->bytes == n || is_blank(in->line[n]));
}

static int read_rule(struct reader *in)
{
    if (*in->line == '{')
        return read_valgrind(in);
    if (is_command(in, "suppress") || is_command(in, "unsuppress"))
        return read_rtc(in);
    if (is_kind_and_colon(in))
        return read_lsan(in);
    return reader_refuse(in, in->line,
                         "no rule begins like this: {, leak:, suppress or unsuppress is expected");
}

int rules_read_text(struct rules *rules, const char *name, const char *text, size_t bytes,
                    char *err, size_t room)
{
    struct reader in = {
        .rules = rules, .name = name, .at = text, .end = text + bytes, .err = err, .room = room};
    int bad;

    while ((bad = reader_next(&in, false)) == 0 && !in.is_end) {
        bad = read_rule(&in);
        if (bad)
            break;
    }
    forget_remarks(&in);
    return bad;
}

int rules_read_file(struct rules *rules, const char *path, char *err, size_t room)
{
    size_t bytes;
    char *text = file_read(path, &bytes);
    int bad = text ? 0 : -errno;

    if (bad)
        snprintf(err, room, "suppressions %.300s: %s", path, strerror(-bad));
    else
        bad = rules_read_text(rules, path, text, bytes, err, room);
    free(text);
    return bad;
}
