/*
 * patterns.c - find which of many wildcard patterns match a text, with an index of n-grams.
 *
 * Ten thousand rules and ten thousand stacks make a hundred million pairs, but only some ten
 * thousand distinct patterns and texts. A pattern without wildcards is found by its hash. Every
 * other pattern has literal pieces that occur in each text it matches. Each is filed under one
 * n-gram of its pieces (up to GRAM bytes): the n-gram that the fewest patterns contain. A text is
 * compared once with the patterns filed under its own n-grams, and the result is cached with the
 * text.
 *
 * Measured with 10,000 rules, CPU time for 1,000 and 10,000 findings: 0.05 s and 0.35 s; if each
 * text is compared with all patterns, 3.3 s and 29 s.
 */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "basics.h"
#include "patterns.h"

#define GRAM 4u

struct pattern {
    UT_hash_handle hh;
    uint32_t number;
    uint32_t uses;
    uint32_t tried_with; /* the last text it was compared with */
    bool is_literal;
    char *text;
};

struct list {
    uint32_t *at;
    uint32_t count;
};

/* An n-gram: a run of bytes with its length. */
struct gram {
    UT_hash_handle hh;
    uint64_t key;
    uint32_t seen; /* the number of its occurrences in patterns */
    struct list patterns;
};

struct text {
    UT_hash_handle hh;
    uint32_t number;
    bool is_matched;
    struct list patterns;
    char *text;
};

struct patterns {
    struct pattern *by_text, **pattern;
    uint32_t count;
    struct text *texts, **text;
    uint32_t text_count;
    struct gram *grams;
    struct list loose; /* patterns without an n-gram */
    unsigned lengths;  /* lengths of n-grams in use: bit n */
    bool is_sealed;
    uint64_t compared;
};

static void list_add(struct list *list, uint32_t number)
{
    list->at = grow(list->at, list->count, sizeof list->at[0]);
    list->at[list->count++] = number;
}

static bool is_wild(char c)
{
    return c == PATTERN_RUN || c == PATTERN_ONE;
}

bool pattern_matches(const char *pattern, const char *text)
{
    const char *run = NULL, *from = NULL;

    while (*text) {
        if (*pattern == PATTERN_RUN) {
            run = ++pattern;
            from = text;
        } else if (*pattern && (*pattern == PATTERN_ONE || *pattern == *text)) {
            pattern++;
            text++;
        } else if (run) {
            pattern = run;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == PATTERN_RUN)
        pattern++;
    return !*pattern;
}

/* ---- the tables ------------------------------------------------------------------------------ */

struct patterns *patterns_new(void)
{
    return xalloc(calloc(1, sizeof(struct patterns)));
}

static void grams_free(struct patterns *all)
{
    struct gram *gram, *next;

    HASH_ITER (hh, all->grams, gram, next) {
        HASH_DEL(all->grams, gram);
        free(gram->patterns.at);
        free(gram);
    }
}

void patterns_free(struct patterns *all)
{
    if (!all)
        return;
    HASH_CLEAR(hh, all->by_text);
    HASH_CLEAR(hh, all->texts);
    for (uint32_t i = 0; i < all->count; i++) {
        free(all->pattern[i]->text);
        free(all->pattern[i]);
    }
    for (uint32_t i = 0; i < all->text_count; i++) {
        free(all->text[i]->patterns.at);
        free(all->text[i]->text);
        free(all->text[i]);
    }
    grams_free(all);
    free(all->pattern);
    free(all->text);
    free(all->loose.at);
    free(all);
}

static bool is_literal(const char *pattern)
{
    while (*pattern && !is_wild(*pattern))
        pattern++;
    return !*pattern;
}

uint32_t pattern_intern(struct patterns *all, const char *pattern, size_t bytes)
{
    struct pattern *p;

    HASH_FIND(hh, all->by_text, pattern, bytes, p);
    if (p) {
        p->uses++;
        return p->number;
    }
    p = xalloc(calloc(1, sizeof *p));
    p->text = xalloc(strndup(pattern, bytes));
    p->is_literal = is_literal(p->text);
    p->uses = 1;
    all->pattern = grow(all->pattern, all->count, sizeof(void *));
    all->pattern[all->count++] = p;
    p->number = all->count;
    HASH_ADD_KEYPTR(hh, all->by_text, p->text, strlen(p->text), p);
    return p->number;
}

const char *pattern_text(const struct patterns *all, uint32_t pattern)
{
    return all->pattern[pattern - 1]->text;
}

uint32_t pattern_uses(const struct patterns *all, uint32_t pattern)
{
    return all->pattern[pattern - 1]->uses;
}

uint32_t patterns_count(const struct patterns *all)
{
    return all->count;
}

bool pattern_is_trivial(const struct patterns *all, uint32_t pattern)
{
    const char *text = all->pattern[pattern - 1]->text;

    return text[0] == PATTERN_RUN && strspn(text, "\1\2") == strlen(text);
}

uint64_t patterns_compared(const struct patterns *all)
{
    return all->compared;
}

uint32_t text_intern(struct patterns *all, const char *text)
{
    struct text *t;

    if (!text || !*text)
        return 0;
    HASH_FIND_STR(all->texts, text, t);
    if (t)
        return t->number;
    t = xalloc(calloc(1, sizeof *t));
    t->text = xalloc(strdup(text));
    all->text = grow(all->text, all->text_count, sizeof(void *));
    all->text[all->text_count++] = t;
    t->number = all->text_count;
    HASH_ADD_KEYPTR(hh, all->texts, t->text, strlen(t->text), t);
    return t->number;
}

/* ---- runs of bytes --------------------------------------------------------------------------- */

static uint64_t gram_key(const char *at, unsigned bytes)
{
    uint64_t key = 0;

    for (unsigned i = 0; i < bytes; i++)
        key = key << 8 | (unsigned char)at[i];
    return key << 8 | bytes;
}

static struct gram *gram_find(const struct patterns *all, uint64_t key)
{
    struct gram *gram;

    HASH_FIND(hh, all->grams, &key, sizeof key, gram);
    return gram;
}

static struct gram *gram_get(struct patterns *all, uint64_t key)
{
    struct gram *gram = gram_find(all, key);

    if (gram)
        return gram;
    gram = xalloc(calloc(1, sizeof *gram));
    gram->key = key;
    HASH_ADD(hh, all->grams, key, sizeof gram->key, gram);
    return gram;
}

/*
 * The length of the n-grams of a pattern: at most GRAM and its longest literal piece. 0: it has
 * none.
 */
static unsigned gram_length(const char *pattern)
{
    unsigned longest = 0, now = 0;

    for (; *pattern; pattern++) {
        now = is_wild(*pattern) ? 0 : now + 1;
        longest = now > longest ? now : longest;
    }
    return longest < GRAM ? longest : GRAM;
}

/* The next n-gram of `bytes` bytes at or after `at`. NULL: no more. */
static const char *gram_next(const char *at, unsigned bytes)
{
    unsigned now = 0;

    for (; *at; at++) {
        now = is_wild(*at) ? 0 : now + 1;
        if (now == bytes)
            return at + 1 - bytes;
    }
    return NULL;
}

static void grams_count(struct patterns *all, const struct pattern *p)
{
    unsigned bytes = gram_length(p->text);

    for (const char *at = p->text; bytes && (at = gram_next(at, bytes)); at++)
        gram_get(all, gram_key(at, bytes))->seen++;
}

static void pattern_list_add(struct patterns *all, const struct pattern *p)
{
    unsigned bytes = gram_length(p->text);
    struct gram *rarest = NULL;

    for (const char *at = p->text; bytes && (at = gram_next(at, bytes)); at++) {
        struct gram *gram = gram_find(all, gram_key(at, bytes));
        if (gram && (!rarest || gram->seen < rarest->seen))
            rarest = gram;
    }
    list_add(rarest ? &rarest->patterns : &all->loose, p->number);
    all->lengths |= rarest ? 1u << bytes : 0;
}

static void patterns_seal(struct patterns *all)
{
    all->is_sealed = true;
    for (uint32_t i = 0; i < all->count; i++)
        if (!all->pattern[i]->is_literal)
            grams_count(all, all->pattern[i]);
    for (uint32_t i = 0; i < all->count; i++)
        if (!all->pattern[i]->is_literal)
            pattern_list_add(all, all->pattern[i]);
}

/* ---- queries --------------------------------------------------------------------------------- */

static void try_all(struct patterns *all, struct text *t, const struct list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct pattern *p = all->pattern[list->at[i] - 1];
        if (p->tried_with == t->number)
            continue;
        p->tried_with = t->number;
        all->compared++;
        if (pattern_matches(p->text, t->text))
            list_add(&t->patterns, p->number);
    }
}

static int ascending(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static void text_match_all(struct patterns *all, struct text *t)
{
    size_t length = strlen(t->text);
    struct pattern *p;

    t->is_matched = true;
    HASH_FIND(hh, all->by_text, t->text, length, p);
    if (p && p->is_literal)
        list_add(&t->patterns, p->number);
    try_all(all, t, &all->loose);
    for (unsigned bytes = 1; bytes <= GRAM; bytes++) {
        for (size_t i = 0; all->lengths >> bytes & 1 && i + bytes <= length; i++) {
            const struct gram *gram = gram_find(all, gram_key(t->text + i, bytes));
            if (gram)
                try_all(all, t, &gram->patterns);
        }
    }
    if (t->patterns.count > 1)
        qsort(t->patterns.at, t->patterns.count, sizeof t->patterns.at[0], ascending);
}

const uint32_t *text_patterns(struct patterns *all, uint32_t text, uint32_t *count)
{
    struct text *t;

    *count = 0;
    if (text == 0)
        return NULL;
    if (!all->is_sealed)
        patterns_seal(all);
    t = all->text[text - 1];
    if (!t->is_matched)
        text_match_all(all, t);
    *count = t->patterns.count;
    return t->patterns.at;
}

bool text_matches(struct patterns *all, uint32_t text, uint32_t pattern)
{
    uint32_t count;
    const uint32_t *list = text_patterns(all, text, &count);

    return count > 0 && bsearch(&pattern, list, count, sizeof *list, ascending) != NULL;
}
