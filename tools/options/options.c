/*
 * options.c - the table include/format/options.def as a parser.
 *
 * There is one grammar per kind of value, for the command line and RTCHECK_OPTIONS alike, and one
 * canonical text per value.  The runtime reads only canonical values from the run header.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options_priv.h"
#include "format/bits.h"

enum option_where { WHERE_L = 0, WHERE_R = 1 };

#define OPTION(name, kind, initial, where, help) \
    {name, initial, help, KIND_##kind, WHERE_##where == WHERE_R, NULL},
static const struct option_info table[] = {
#include "format/options.def"
};
#undef OPTION

static_assert(countof(table) <= OPTION_COUNT_MAX, "raise OPTION_COUNT_MAX");

#define SEPARATORS ": \t\r\n"

const struct option_info *option_at(const struct verb *verb, unsigned index)
{
    bool has_own = verb && verb->options;
    const struct option_info *options = has_own ? verb->options : table;
    return index < (has_own ? verb->option_count : countof(table)) ? &options[index] : NULL;
}

void options_init(struct options *o)
{
    memset(o, 0, sizeof *o);
}

void options_free(struct options *o)
{
    for (unsigned i = 0; i < OPTION_COUNT_MAX; i++)
        free(o->value[i]);
    options_init(o);
}

int option_set(struct options *o, unsigned index, const char *given, char err[TOOLS_ERROR_BYTES])
{
    const struct option_info *info = option_at(o->verb, index);
    given = given ? given : value_if_bare(info);
    if (!given)
        return fail(err, -EINVAL, "option %s needs a value: %s", info->name,
                    value_syntax(info->kind));
    char value[4096];
    if (!value_canonical(info->kind, given, value, sizeof value))
        return fail(err, -EINVAL, "option %s: '%.60s' is not %s", info->name, given,
                    value_syntax(info->kind));
    bool is_list = info->kind == KIND_PATHS || info->kind == KIND_MAP;
    bool adds = is_list && o->value[index] && *o->value[index] && *value;
    char *copy = NULL;
    if (asprintf(&copy, "%s%s%s", adds ? o->value[index] : "", adds ? "\n" : "", value) < 0)
        return fail(err, -ENOMEM, "out of memory");
    free(o->value[index]);
    o->value[index] = copy;
    return 0;
}

int option_give(struct options *o, const char *name, const char *value, char err[TOOLS_ERROR_BYTES])
{
    return option_set(o, option_index(o->verb, name, strlen(name)), value, err);
}

/* ---- RTCHECK_OPTIONS ------------------------------------------------------------------------- */

unsigned option_index(const struct verb *verb, const char *key, size_t n)
{
    const struct option_info *info;
    for (unsigned i = 0; (info = option_at(verb, i)); i++) {
        const char *name = info->name;
        size_t k = 0;
        while (k < n && name[k] && name[k] == (key[k] == '_' ? '-' : key[k]))
            k++;
        if (k == n && name[n] == '\0')
            return i;
    }
    return OPTION_COUNT_MAX;
}

/*
 * Copy the value at *at and advance *at past it.  NULL (err filled): a quote is not closed, or no
 * memory.
 */
static char *take_value(const char **at, char err[TOOLS_ERROR_BYTES])
{
    const char *from = *at;
    size_t n;
    if (*from == '"' || *from == '\'') {
        const char *end = strchr(from + 1, *from);
        if (!end) {
            fail(err, 0, "RTCHECK_OPTIONS: quote without end: %.60s", from);
            return NULL;
        }
        n = (size_t)(end - ++from);
        *at = end + 1;
    } else {
        n = strcspn(from, SEPARATORS);
        *at = from + n;
    }
    char *value = strndup(from, n);
    if (!value)
        fail(err, 0, "out of memory");
    return value;
}

/* Set one option; advances *at past it.  *quotes: a missing pair of quotes would explain an error. */
static int set_next(struct options *o, const char **at, bool *quotes, char err[TOOLS_ERROR_BYTES])
{
    const char *name = *at;
    size_t n = strcspn(name, "=" SEPARATORS);
    unsigned index = option_index(o->verb, name, n);
    bool has_value = name[n] == '=', needs_quotes = *quotes && !has_value;
    char *value = NULL, unused[TOOLS_ERROR_BYTES];
    int bad = 0;

    *at += n;
    *quotes = has_value && name[n + 1] != '"' && name[n + 1] != '\'';
    if (index == OPTION_COUNT_MAX)
        bad = fail(err, -EINVAL, "RTCHECK_OPTIONS: unknown option '%.*s'%s", n < 60 ? (int)n : 60,
                   name, needs_quotes ? " (a value with a colon or a space needs quotes)" : "");
    if (has_value) {
        ++*at;
        value = take_value(at, bad ? unused : err);
        if (!value) {
            *at += strlen(*at);
            return -EINVAL;
        }
    }
    if (!bad)
        bad = option_set(o, index, value, err);
    free(value);
    return bad;
}

int options_from_text(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES])
{
    char later[TOOLS_ERROR_BYTES];
    const char *at = text ? text : "";
    bool quotes = false;
    int first = 0;
    while (*(at += strspn(at, SEPARATORS))) {
        int bad = set_next(o, &at, &quotes, first ? later : err);
        first = first ? first : bad;
    }
    return first;
}

int check_skip(const struct options *o, char err[TOOLS_ERROR_BYTES])
{
    size_t most = 255; /* struct options of the runtime */
    return strlen(option_text(o, "trace-children-skip")) > most
               ? fail(err, -E2BIG, "option trace-children-skip: more than %zu bytes", most)
               : 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *value_in_force(const struct options *o, const char *name, bool (*is_kind)(int))
{
    unsigned index = option_index(o->verb, name, strlen(name));
    const struct option_info *info = option_at(o->verb, index);
    if (!info || !is_kind(info->kind))
        abort(); /* a name that is not in the table is a bug of the caller */
    return o->value[index] ? o->value[index] : info->initial;
}

static bool is_flag(int kind)
{
    return kind == KIND_FLAG;
}

static bool is_size(int kind)
{
    return kind == KIND_SIZE;
}

static bool is_text(int kind)
{
    return kind != KIND_FLAG && kind != KIND_SIZE;
}

bool option_is_given(const struct options *o, const char *name)
{
    unsigned index = option_index(o->verb, name, strlen(name));
    return index < OPTION_COUNT_MAX && o->value[index];
}

bool option_flag(const struct options *o, const char *name)
{
    bool flag = false;
    parse_flag(value_in_force(o, name, is_flag), &flag);
    return flag;
}

uint64_t option_size(const struct options *o, const char *name)
{
    uint64_t bytes = 0;
    parse_size(value_in_force(o, name, is_size), &bytes);
    return bytes;
}

unsigned option_number(const struct options *o, const char *name, unsigned none)
{
    const char *text = option_text(o, name);
    uint64_t n;
    char *end;
    return parse_number(text, 10, &n, &end) ? (unsigned)n : none;
}

unsigned option_leak_kinds(const struct options *o, const char *name)
{
    unsigned kinds = 0;
    parse_leak_kinds(option_text(o, name), &kinds);
    return kinds;
}

const char *option_text(const struct options *o, const char *name)
{
    return value_in_force(o, name, is_text);
}

/* ---- the canonical text ---------------------------------------------------------------------- */

/* "key=value" of option `index`; false: it contains both kinds of quotes, or does not fit. */
static bool format_setting(const struct options *o, unsigned index, char *out, size_t room)
{
    const char *value = o->value[index];
    const char *quote = "";
    if (*value == '"' || *value == '\'' || strpbrk(value, SEPARATORS))
        quote = strchr(value, '"') ? "'" : "\"";
    if (*quote && strchr(value, *quote))
        return false;
    int n = snprintf(out, room, "%s=%s%s%s", table[index].name, quote, value, quote);
    for (char *p = out; *p && *p != '='; p++)
        if (*p == '-')
            *p = '_';
    return n > 0 && (size_t)n < room;
}

/* Options of the runtime get their room first; the text has the order of the table. */
int options_canonical(const struct options *o, char out[OPTIONS_TEXT_BYTES],
                      char err[TOOLS_ERROR_BYTES])
{
    char setting[countof(table)][OPTIONS_TEXT_BYTES] = {{0}};
    size_t used = 0;
    for (int runtime = 1; runtime >= 0; runtime--) {
        for (unsigned i = 0; i < countof(table); i++) {
            if (!o->value[i] || table[i].is_runtime != runtime)
                continue;
            bool fits = format_setting(o, i, setting[i], sizeof setting[i]) &&
                        used + strlen(setting[i]) + 1 < OPTIONS_TEXT_BYTES;
            if (!fits && runtime)
                return fail(err, -E2BIG, "option %s: value cannot be handed down", table[i].name);
            if (fits)
                used += strlen(setting[i]) + 1;
            else
                setting[i][0] = '\0';
        }
    }
    out[0] = '\0';
    for (unsigned i = 0; i < countof(table); i++) {
        if (setting[i][0] && out[0])
            strcat(out, ":");
        strcat(out, setting[i]);
    }
    return 0;
}
