/*
 * suppress_rtc.c - suppression commands of a debugger's run-time checking (dbx).
 *
 *     suppress mel                          anywhere
 *     suppress mel aib in load libfoo.so    functions, source files, load objects
 *     unsuppress all in main.c
 *     suppress duf at "list.c":120
 *     suppress baf addr 0x4042a0
 *
 * The last rule that matches a finding decides, so `unsuppress` makes exceptions to an earlier
 * `suppress`. Only the innermost frame and its inlined functions are compared: for a leak that of
 * the allocation, for an error that of the call. For rules about callers use valgrind's grammar. A
 * name may be that of a function, a file or a load object, and may contain * and ?. Commands that
 * list, count or reset are no rules and are refused.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

struct word {
    const char *at;
    size_t bytes;
    bool is_quoted;
};

/*
 * Read the next word and move *at past it. false: there is none. A quote without an end extends to
 * the end of the line.
 */
static bool word_next(const struct reader *in, const char **at, struct word *word)
{
    const char *end = in->line + in->bytes, *from = *at;

    while (from < end && isspace((unsigned char)*from))
        from++;
    *word = (struct word){.at = from, .is_quoted = from < end && *from == '"'};
    if (from == end)
        return false;
    if (word->is_quoted) {
        const char *quote = memchr(from + 1, '"', (size_t)(end - from - 1));
        word->at++;
        word->bytes = (size_t)((quote ? quote : end) - word->at);
        *at = quote ? quote + 1 : end;
        return true;
    }
    while (from < end && !isspace((unsigned char)*from))
        from++;
    word->bytes = (size_t)(from - word->at);
    *at = from;
    return true;
}

static bool word_is(const struct word *word, const char *text)
{
    return !word->is_quoted && word->bytes == strlen(text) &&
           memcmp(word->at, text, word->bytes) == 0;
}

/* Convert a name to a pattern. A relative path with a slash matches the end of a path. */
static uint32_t name_intern(struct reader *in, const struct word *word)
{
    char *pattern = xalloc(malloc(word->bytes + 3));
    size_t used = 0;
    uint32_t number;

    if (*word->at != '/' && memchr(word->at, '/', word->bytes)) {
        pattern[used++] = PATTERN_RUN;
        pattern[used++] = '/';
    }
    for (size_t i = 0; i < word->bytes; i++) {
        char c = word->at[i];
        pattern[used++] = c == '*' ? PATTERN_RUN : c == '?' ? PATTERN_ONE : c;
    }
    number = pattern_intern(in->rules->patterns, pattern, used);
    free(pattern);
    return number;
}

/* ---- scope of a rule ------------------------------------------------------------------------- */

/* Read the codes, and the word after them. If there is none, *word is empty. */
static int take_codes(struct reader *in, const char **at, uint32_t *codes, struct word *word)
{
    *codes = 0;
    while (word_next(in, at, word)) {
        uint32_t code = word->is_quoted ? 0 : rule_code_of(word->at, word->bytes);
        if (!code && *codes &&
            (word_is(word, "in") || word_is(word, "at") || word_is(word, "addr")))
            return 0;
        if (!code && word->bytes > 0 && *word->at == '-')
            return reader_refuse(in, word->at, "a rule in a file has no options");
        if (!code)
            return reader_refuse(in, word->at,
                                 "'%.*s' is no error code (baf, duf, .. mel, aib, air, biu, all)",
                                 word->bytes < 60 ? (int)word->bytes : 60, word->at);
        *codes |= code;
    }
    return *codes ? 0
                  : reader_refuse(in, word->at, "an error code is expected: mel, duf, .. or all");
}

static int take_names(struct reader *in, const char *at, struct rule *rule)
{
    struct word word;

    rule->scope = SCOPE_PLACE;
    while (word_next(in, &at, &word)) {
        if (word.bytes == 0)
            return reader_refuse(in, word.at, "an empty name");
        reader_locate(rule, FIELD_WORD, name_intern(in, &word), 0);
    }
    if (rule->location_count == 0)
        return reader_refuse(in, word.at, "a function, file or load object is expected behind in");
    return 0;
}

/* FILE:LINE or "FILE":LINE, which is one word or two. */
static int take_line(struct reader *in, const char *at, struct rule *rule)
{
    const char *end = in->line + in->bytes, *digits = end;
    struct word word;
    uint64_t line = 0;

    if (!word_next(in, &at, &word))
        return reader_refuse(in, word.at, "\"FILE\":LINE is expected behind at");
    while (digits > word.at && isdigit((unsigned char)digits[-1]))
        digits--;
    if (digits <= word.at || digits == end || end - digits > 9 || digits[-1] != ':')
        return reader_refuse(in, word.at, "\"FILE\":LINE is expected behind at");
    for (const char *d = digits; d < end; d++)
        line = 10 * line + (uint64_t)(*d - '0');
    if (!word.is_quoted)
        word.bytes = (size_t)(digits - 1 - word.at);
    if (word.bytes == 0 || line == 0 || (word.is_quoted && word.at + word.bytes + 2 != digits))
        return reader_refuse(in, word.at, "\"FILE\":LINE is expected behind at");
    rule->scope = SCOPE_PLACE;
    reader_locate(rule, FIELD_SRC, name_intern(in, &word), (uint32_t)line);
    return 0;
}

static int take_address(struct reader *in, const char *at, struct rule *rule)
{
    char text[24], *end;
    struct word word;

    rule->scope = SCOPE_ADDRESS;
    if (!word_next(in, &at, &word) || word.bytes >= sizeof text ||
        !isdigit((unsigned char)*word.at))
        return reader_refuse(in, word.at, "an address is expected behind addr");
    memcpy(text, word.at, word.bytes);
    text[word.bytes] = '\0';
    errno = 0;
    rule->address = strtoull(text, &end, 0);
    if (*end || errno)
        return reader_refuse(in, word.at, "an address is expected behind addr");
    if (word_next(in, &at, &word))
        return reader_refuse(in, word.at, "nothing may stand behind the address");
    return 0;
}

int read_rtc(struct reader *in)
{
    const char *at = in->line;
    struct word command, word;
    uint32_t codes;
    struct rule *rule;

    word_next(in, &at, &command);
    if (take_codes(in, &at, &codes, &word) != 0)
        return -EINVAL;
    rule = reader_add(in, GRAMMAR_RTC, in->line, in->bytes);
    rule->is_shown = word_is(&command, "unsuppress");
    rule->codes = codes;
    rule->scope = SCOPE_ALL;
    if (word_is(&word, "in"))
        return take_names(in, at, rule);
    if (word_is(&word, "at"))
        return take_line(in, at, rule);
    if (word_is(&word, "addr"))
        return take_address(in, at, rule);
    return 0;
}
