/*
 * suppress_lsan.c - LeakSanitizer's rules: leak:TEMPLATE, a substring of the name of a function,
 * source file or module of any frame. * matches anything, ^ the beginning and $ the end.
 */
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

static void put(char *pattern, size_t *used, char c)
{
    if (c != PATTERN_RUN || *used == 0 || pattern[*used - 1] != PATTERN_RUN)
        pattern[(*used)++] = c;
}

/*
 * Convert a template to a pattern. As in LeakSanitizer, text after a $ is ignored. A template that
 * begins with $ matches nothing instead of everything.
 */
static uint32_t template_intern(struct reader *in, const char *at, size_t bytes)
{
    char *pattern = xalloc(malloc(bytes + 3));
    bool is_begun = bytes > 0 && *at == '^', is_ended = false;
    size_t used = 0;
    uint32_t number;

    if (!is_begun && bytes > 0 && *at != '$')
        put(pattern, &used, PATTERN_RUN);
    for (size_t i = is_begun; i < bytes && !is_ended; i++) {
        is_ended = at[i] == '$';
        if (!is_ended)
            put(pattern, &used, at[i] == '*' ? PATTERN_RUN : at[i]);
    }
    if (!is_ended)
        put(pattern, &used, PATTERN_RUN);
    number = pattern_intern(in->rules->patterns, pattern, used);
    free(pattern);
    return number;
}

int read_lsan(struct reader *in)
{
    const char *at = in->line + strlen("leak:");
    struct rule *rule;

    if (!line_begins(in, "leak:"))
        return reader_refuse(in, in->line, "leak: is the only kind of suppression of this form");
    if (in->bytes == strlen("leak:"))
        return reader_refuse(in, at, "a name is expected behind leak:");
    rule = reader_add(in, GRAMMAR_LSAN, in->line, in->bytes);
    rule->scope = SCOPE_ANY_FRAME;
    rule->codes = CODES_LEAKS;
    reader_locate(rule, FIELD_ANY, template_intern(in, at, (size_t)(in->line + in->bytes - at)), 0);
    return 0;
}
