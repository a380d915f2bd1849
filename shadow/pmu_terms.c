/*
 * pmu_terms.c - from the terms of an event to the fields of perf_event_attr.
 */
#include "pmu_terms.h"

#include "format/bits.h"

/* Return the text after the prefix; NULL: it begins with another one. */
static const char *after(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return NULL;
    return text;
}

/* Return the first such character, or the end of the text. */
static char *find(char *text, char c)
{
    while (*text && *text != c)
        text++;
    return text;
}

bool pmu_name_is_plain(const char *name)
{
    for (const char *s = name; *s; s++)
        if (*s == '/' || (*s == '.' && s == name))
            return false;
    return *name;
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    unsigned letter = (unsigned char)c | 0x20u; /* in lower case */
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 16;
}

static bool digits_parse(const char **s, unsigned base, uint64_t *out)
{
    const char *from = *s;
    for (*out = 0; digit_of(**s) < base; (*s)++)
        if (!checked_mul(*out, base, out) || !checked_add(*out, digit_of(**s), out))
            return false;
    return *s > from;
}

bool pmu_number_parse(const char *text, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    text += hex ? 2 : 0;
    return digits_parse(&text, hex ? 16 : 10, out) && !*text;
}

/* ---- attributes: config:0-7,32-35 ------------------------------------------------------------ */

/* Put the lowest bits of *value into [from, to] of the field; from <= to <= 63. */
static void put_range(uint64_t *field, uint64_t from, uint64_t to, uint64_t *value)
{
    uint64_t bits = (to == 63 ? 0 : 1ull << (to + 1)) - (1ull << from);
    *field = (*field & ~bits) | (*value << from & bits);
    *value = to - from == 63 ? 0 : *value >> (to - from + 1);
}

/*
 * Place the value in all ranges.  Return the remaining bits, or UINT64_MAX if the format is
 * invalid.
 */
static uint64_t put_bits(uint64_t *field, const char *ranges, uint64_t value)
{
    do {
        uint64_t from, to;
        if (!digits_parse(&ranges, 10, &from))
            return UINT64_MAX;
        to = from;
        if (*ranges == '-' && (ranges++, !digits_parse(&ranges, 10, &to)))
            return UINT64_MAX;
        if (from > to || to > 63)
            return UINT64_MAX;
        put_range(field, from, to, &value);
    } while (*ranges++ == ',');
    return value;
}

/* Return the field named at the start of the text, and set *rest after it; NULL: none. */
static uint64_t *field_of(struct event *e, const char *text, const char **rest)
{
    *rest = after(text, "config");
    if (!*rest || (**rest != '1' && **rest != '2'))
        return *rest ? &e->config : NULL;
    return *(*rest)++ == '1' ? &e->config1 : &e->config2;
}

/* `missing`: the fault if the PMU has no format of this name */
static enum pmu_fault put_attribute(struct pmu_terms *t, const char *pmu, const char *name,
                                    uint64_t value, enum pmu_fault missing, struct event *e)
{
    char format[128];
    const char *rest;
    uint64_t *field = field_of(e, name, &rest), placed = value;
    t->word = name;
    if (!field || *rest) {
        if (!pmu_name_is_plain(name))
            return PMU_NO_ATTRIBUTE;
        if (!t->read(t->about, pmu, "format", name, format, sizeof format))
            return missing;
        field = field_of(e, format, &rest);
        if (!field || *rest != ':')
            return PMU_NO_ATTRIBUTE;
        placed = *field;
        if (put_bits(&placed, rest + 1, value))
            return PMU_TOO_LARGE;
    }
    *field = placed;
    return PMU_NO_FAULT;
}

enum pmu_fault pmu_attribute_put(struct pmu_terms *t, const char *pmu, const char *name,
                                 uint64_t value, struct event *e)
{
    return put_attribute(t, pmu, name, value, PMU_NO_ATTRIBUTE, e);
}

/* ---- terms: event=0x2e,umask=0x41 ------------------------------------------------------------ */

static enum pmu_fault put_terms(struct pmu_terms *t, const char *pmu, char *terms, bool aliases,
                                struct event *e);

/* Apply "NAME=VALUE", an event of the PMU, or an attribute without a value, which is set to 1. */
static enum pmu_fault put_term(struct pmu_terms *t, const char *pmu, char *term, bool aliases,
                               struct event *e)
{
    enum pmu_fault missing = PMU_NO_ATTRIBUTE;
    uint64_t value = 1;
    char *sign = find(term, '=');
    if (*sign) {
        *sign = '\0';
        t->word = sign + 1;
        if (!pmu_number_parse(t->word, &value))
            return PMU_NO_NUMBER;
    } else if (aliases && pmu_name_is_plain(term)) {
        if (t->read(t->about, pmu, "events", term, t->line, sizeof t->line))
            return put_terms(t, pmu, t->line, false, e);
        missing = PMU_NO_EVENT;
    }
    return put_attribute(t, pmu, term, value, missing, e);
}

static enum pmu_fault put_terms(struct pmu_terms *t, const char *pmu, char *terms, bool aliases,
                                struct event *e)
{
    for (char *term = terms, *end;; term = end + 1) {
        end = find(term, ',');
        bool is_last = !*end;
        *end = '\0';
        enum pmu_fault fault = put_term(t, pmu, term, aliases, e);
        if (fault || is_last)
            return fault;
    }
}

enum pmu_fault pmu_event_parse(struct pmu_terms *t, char *name, struct event *e)
{
    char type[16], *terms = find(name, '/'), *end = find(terms, '\0');
    uint64_t number;
    if (end - terms < 3 || end[-1] != '/')
        return PMU_BAD_FORM;
    *terms = end[-1] = '\0';
    t->word = name;
    if (!pmu_name_is_plain(name) || !t->read(t->about, name, NULL, "type", type, sizeof type) ||
        !pmu_number_parse(type, &number))
        return PMU_UNKNOWN;
    *e = (struct event){SOURCE_PMU, .type = (uint32_t)number};
    return put_terms(t, name, terms + 1, true, e);
}
