/*
 * source_names.c - derive the function names that rules use from demangled names.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/*
 * The position of the bracket that matches the closing one before `end`. Returns `end` if the text
 * does not end with `close`.
 */
static const char *opened(const char *text, const char *end, char open, char close)
{
    const char *at = end;
    int depth = 0;

    do {
        if (at == text)
            return end;
        at--;
        depth += *at == close ? 1 : *at == open ? -1 : 0;
    } while (depth > 0);
    return at + 1 == end ? end : at;
}

/* The end of a name without its parameters. */
static const char *end_of_name(const char *full)
{
    const char *end = full + strlen(full);

    if (end - full > 6 && strcmp(end - 6, " const") == 0)
        end -= 6;
    return opened(full, end, '(', ')');
}

/* For "int ns::f<int>(char) const" return "ns::f", with *simple at "f". */
char *qualified_name(const char *full, const char **simple)
{
    const char *end = opened(full, end_of_name(full), '<', '>'), *from, *last;
    char *name;
    int depth = 0;

    if (strstr(full, "operator"))
        return NULL; /* their names contain brackets */
    for (from = last = full; full < end; full++) {
        depth += *full == '<' || *full == '(' ? 1 : *full == '>' || *full == ')' ? -1 : 0;
        if (depth == 0 && *full == ' ')
            from = last = full + 1;
        else if (depth == 0 && *full == ':')
            last = full + 1;
    }
    name = xalloc(strndup(from, (size_t)(end - from)));
    *simple = name + (last - from);
    return name;
}

static bool is_operator(const char *at)
{
    size_t bytes = strlen("operator");

    return strncmp(at, "operator", bytes) == 0 && at[bytes] != '_' &&
           !isalnum((unsigned char)at[bytes]);
}

char *declared_name(const char *full)
{
    const char *end = end_of_name(full), *from = full;
    int depth = 0;

    for (const char *at = full; at < end; at++) {
        depth += *at == '<' || *at == '(' ? 1 : *at == '>' || *at == ')' ? -1 : 0;
        if (depth == 0 && (*at == ' ' || *at == ':'))
            from = at + 1;
        if (from == at + 1 || at == full)
            if (is_operator(from))
                break;
    }
    return xalloc(strndup(from, (size_t)(end - from)));
}
