/*
 * short_name.c - names of C++ templates in the room of a line: arguments of templates become <...>,
 * the most deeply nested first, and in lists the parameters of functions are left out. `rtcheck
 * show` prints names in full.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define DEPTH_MOST 3u

/* The length of "operator<<" and its like at `text`, whose angle brackets are no brackets. 0: none. */
static size_t operator_bytes(const char *text, const char *name)
{
    static const char word[] = "operator";
    size_t bytes = sizeof word - 1;

    if (strncmp(text, word, bytes) != 0 || (text > name && (text[-1] == '_' || isalnum(text[-1]))))
        return 0;
    return strchr("<>-", text[bytes]) && text[bytes] ? bytes + strspn(text + bytes, "<>-=*") : 0;
}

/* Return where the template arguments that begin at `text` end. */
static const char *arguments_end(const char *text, const char *name)
{
    unsigned level = 0;

    for (; *text; text++) {
        size_t skip = operator_bytes(text, name);
        if (skip > 0)
            text += skip - 1;
        else if (*text == '<')
            level++;
        else if (*text == '>' && text[-1] != '-' && --level == 0)
            return text + 1;
    }
    return text;
}

/* "<>" grows to "<...>", which is less than three times as long; "<" at the end by four bytes. */
static char *folded(const char *name, unsigned depth)
{
    char *result = xalloc(malloc(strlen(name) * 3 + 5)), *out = result;
    unsigned level = 0;

    for (const char *at = name; *at;) {
        size_t bytes = operator_bytes(at, name);
        if (bytes == 0 && *at == '<' && level == depth) {
            out = stpcpy(out, "<...>");
            at = arguments_end(at, name);
            continue;
        }
        if (bytes == 0 && *at == '<')
            level++;
        else if (bytes == 0 && *at == '>' && at > name && at[-1] != '-' && level > 0)
            level--;
        bytes = bytes ? bytes : 1;
        out = mempcpy(out, at, bytes);
        at += bytes;
    }
    *out = 0;
    return result;
}

char *name_shortened(const char *name, uint32_t room)
{
    char *text = xalloc(strdup(name));

    for (unsigned depth = DEPTH_MOST + 1; depth > 0 && columns_of(text) > room; depth--) {
        free(text);
        text = folded(name, depth - 1);
    }
    return text;
}

/* Return where the parentheses that begin at `text` end. */
static const char *parentheses_end(const char *text)
{
    unsigned level = 0;

    for (; *text; text++) {
        level += *text == '(';
        if (*text == ')' && --level == 0)
            return text + 1;
    }
    return text;
}

/* Does nothing follow the parameters but qualifiers? If not, they are of an enclosing function. */
static bool are_last(const char *end)
{
    return !strchr(end, ':') && !strchr(end, '(');
}

char *name_without_parameters(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";

    for (const char *at = name; *at;) {
        size_t bytes = operator_bytes(at, name);
        if (bytes > 0)
            at += bytes;
        else if (*at == '<')
            at = arguments_end(at, name);
        else if (strncmp(at, anonymous, sizeof anonymous - 1) == 0)
            at += sizeof anonymous - 1;
        else if (*at == '(' && at - name >= 8 && strncmp(at - 8, "operator", 8) == 0)
            at += at[1] ? 2 : 1;
        else if (*at == '(' && at > name && are_last(parentheses_end(at)))
            return xalloc(strndup(name, (size_t)(at - name)));
        else
            at = *at == '(' ? parentheses_end(at) : at + 1;
    }
    return xalloc(strdup(name));
}
