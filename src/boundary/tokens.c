/*
 * tokens.c - strtok and its like: what they have read is known by the token that they return.
 */
#include "string_reads.h"

/*
 * `token` was taken from the text that begins at `from`; NULL: there was none, and the text was read
 * up to its end. The end of a token is a zero byte now; it was a delimiter, or the end of the text.
 */
static COLD void check_token(const char *from, const char *token, uint32_t entry,
                             const struct entry *at)
{
    const char *end = token ? token : from;
    end += NEXT_OF(strlen)(end);
    uint64_t bytes = (uint64_t)(end - from) + 1;
    if (is_allowed(from, bytes))
        return;
    access_refused_search(from, bytes, entry, at);
    if (token)
        access_follows(end, 1);
}

static void check(const char *from, const char *token, const char *delimiters, uint32_t entry,
                  const struct entry *at)
{
    if (is_in_heap(from))
        check_token(from, token, entry, at);
    if (token)
        string_read_whole(delimiters, entry, at);
}

/* The rest of an earlier call's text is libc's variable: it is checked from the token on. */
EXPORT char *strtok(char *s, const char *delimiters)
{
    char *token = NEXT_OF(strtok)(s, delimiters);
    if (access_is_on)
        check(s ? s : token, token, delimiters, ENTRY_STRTOK, CALLER);
    return token;
}

#define STRTOK_R(name)                                              \
    EXPORT char *name(char *s, const char *delimiters, char **rest) \
    {                                                               \
        if (!access_is_on)                                          \
            return NEXT_OF(name)(s, delimiters, rest);              \
        WRITES(rest, sizeof *rest, STRTOK_R);                       \
        char *from = s ? s : *rest; /* which libc reads, too */     \
        char *token = NEXT_OF(name)(s, delimiters, rest);           \
        check(from, token, delimiters, ENTRY_STRTOK_R, CALLER);     \
        return token;                                               \
    }                                                               \
    static_assert(true, "ends with a semicolon")

STRTOK_R(strtok_r);
STRTOK_R(__strtok_r);

EXPORT char *strsep(char **text, const char *delimiters)
{
    if (access_is_on)
        WRITES(text, sizeof *text, STRSEP);
    char *token = NEXT_OF(strsep)(text, delimiters);
    if (access_is_on)
        check(token, token, delimiters, ENTRY_STRSEP, CALLER);
    return token;
}
