/*
 * skip.c - --access-skip: functions that run unchecked because the user names them.
 *
 * A pattern is compared with the linkage name, with the same without what compilers append to parts and
 * clones (.cold, .part.0), and with the name in the source, with and without its parameters.  So a name
 * selects all parts of its function.  "OBJECT:" before a pattern limits it to objects of this name or path.
 * Both parts of "NAMESPACE::NAME" are of the function's name.
 *
 * A symbol selects each range of an FDE that it shares bytes with: a function has several ranges, and a range
 * may have several names.
 */
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "translate_priv.h"

#define PATTERN_BYTES 1024u

/* ---- lists of patterns ----------------------------------------------------------------------- */

static bool is_equal(const char *pattern, const char *name)
{
    return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool is_object_named(const char *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');

    return is_equal(pattern, path) || is_equal(pattern, slash ? slash + 1 : path);
}

const char *pattern_next(const char *list, char *out, size_t room)
{
    size_t bytes = strcspn(list, ",");

    if (!*list)
        return NULL;
    snprintf(out, room, "%.*s", bytes < room ? (int)bytes : (int)room - 1, list);
    return list + bytes + (list[bytes] == ',');
}

unsigned pattern_count(const char *list)
{
    unsigned count = *list != '\0';

    for (; (list = strchr(list, ',')); list++)
        count++;
    return count;
}

/* ---- one pattern ----------------------------------------------------------------------------- */

/* The colon after the object; NULL: there is none. */
static char *find_colon(char *pattern)
{
    for (char *at = pattern; (at = strchr(at, ':')); at += 2)
        if (at[1] != ':')
            return at;
    return NULL;
}

struct wanted {
    char text[PATTERN_BYTES];
    const char *name;  /* in `text`; NULL: an address */
    uint64_t address;  /* as in the object's own headers */
    bool is_of_object; /* not limited to another object */
};

static struct wanted *wanted_make(const char *patterns, const char *path)
{
    struct wanted *all = zeroed(pattern_count(patterns), sizeof *all), *w = all;

    for (const char *at = patterns; (at = pattern_next(at, w->text, sizeof w->text)); w++) {
        char *colon = find_colon(w->text), *end;
        w->name = colon ? colon + 1 : w->text;
        if (colon)
            *colon = '\0';
        w->is_of_object = !colon || is_object_named(w->text, path);
        if (!colon || strncmp(w->name, "0x", 2) != 0)
            continue;
        w->address = strtoull(w->name, &end, 16);
        if (!*end)
            w->name = NULL;
    }
    return all;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A symbol's names, as patterns are compared with them; NULL: it has no such name. */
struct names {
    const char *linkage;
    char *whole; /* without what is appended to it */
    char *source, *plain;
};

static struct names names_make(const char *linkage)
{
    struct names n = {.linkage = linkage};
    size_t bytes = 1 + strcspn(linkage + 1, ".@"); /* some names begin with a dot */

    n.whole = strndup(linkage, bytes);
    if (n.whole && linkage[0] == '_') {
        n.source = report_demangle(n.whole, true);
        n.plain = n.source ? report_demangle(n.whole, false) : NULL;
    }
    return n;
}

static void names_free(struct names *n)
{
    free(n->whole);
    free(n->source);
    free(n->plain);
}

static bool has_name(const struct names *n, const char *pattern)
{
    return is_equal(pattern, n->linkage) || (n->whole && is_equal(pattern, n->whole)) ||
           (n->source && is_equal(pattern, n->source)) || (n->plain && is_equal(pattern, n->plain));
}

static uint64_t patterns_of(const struct wanted *all, unsigned count, const char *linkage)
{
    struct names names = names_make(linkage);
    uint64_t matched = 0;

    for (unsigned n = 0; n < count; n++)
        if (all[n].is_of_object && all[n].name && has_name(&names, all[n].name))
            matched |= 1ull << n;
    names_free(&names);
    return matched;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The first function that ends after an offset. */
static uint32_t function_from(const struct functions *f, uint64_t offset)
{
    uint32_t low = 0, high = f->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uint64_t)f->at[middle].start + f->at[middle].bytes <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Skip the functions in a range of the text.  Is there one? */
static bool skip_range(struct functions *f, uint64_t start, uint64_t bytes)
{
    uint32_t first = function_from(f, start), n = first;

    for (; n < f->count && f->at[n].start < start + bytes; n++)
        if (f->at[n].state == PLAN_TRANSLATED)
            f->at[n].state = PLAN_SKIPPED;
    return n > first;
}

static uint64_t skip_symbols(struct functions *f, const struct object *o, const struct wanted *all,
                             unsigned count)
{
    struct code_symbols symbols;
    uint64_t matched = 0;
    uint32_t offset;

    code_symbols_read(&symbols, o->path);
    for (uint32_t n = 0; n < symbols.count; n++) {
        const struct code_symbol *s = &symbols.at[n];
        uint64_t of = object_text_at(o, s->address, &offset) ? patterns_of(all, count, s->name) : 0;
        if (of && skip_range(f, offset, s->bytes > 0 ? s->bytes : 1))
            matched |= of;
    }
    code_symbols_free(&symbols);
    return matched;
}

uint64_t functions_skip(struct functions *f, const struct object *o, const char *patterns)
{
    unsigned count = pattern_count(patterns);
    struct wanted *all = wanted_make(patterns, o->path);
    uint64_t matched = 0;
    bool has_names = false;
    uint32_t offset;

    for (unsigned n = 0; n < count; n++) {
        has_names |= all[n].is_of_object && all[n].name;
        if (all[n].is_of_object && !all[n].name && object_text_at(o, all[n].address, &offset) &&
            skip_range(f, offset, 1))
            matched |= 1ull << n;
    }
    if (has_names)
        matched |= skip_symbols(f, o, all, count);
    free(all);
    return matched;
}
