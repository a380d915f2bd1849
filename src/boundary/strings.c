/*
 * strings.c - str* functions. Their lengths are those that libc finds: a string without an end is
 * read up to the next zero byte, and what was read is checked.
 */
#include "check.h"
#include "next_functions.h"
#include "string_length.h"
#include "string_reads.h"

/* Bytes of a string were read: its length, and 1 if its end was among them. */
#define READ_STRING(s, n, name) string_read(s, n, ENTRY_##name, CALLER)

/* Check a string that is read up to and including its end. */
#define READS_STRING(s, name)                             \
    do {                                                  \
        if (is_of_interest(s))                            \
            READ_STRING(s, NEXT_OF(strlen)(s) + 1, name); \
    } while (0)

/* The same up to at most n bytes. */
#define READS_STRING_N(s, n, name)                    \
    do {                                              \
        if (is_of_interest(s))                        \
            READ_STRING(s, string_bytes(s, n), name); \
    } while (0)

/*
 * As string_bytes, for a string that the program's call may not read to its end: only the block is read, and
 * one byte more is counted if the string does not end there.
 */
static size_t string_bytes_in_block(const char *s, size_t n)
{
    if (likely(!may_be_guarded(s)))
        return string_bytes(s, n);
    size_t known = access_allowed((uintptr_t)s, n), length = NEXT_OF(strnlen)(s, known);
    return length < known || known < n ? length + 1 : n;
}

/* ---- lengths --------------------------------------------------------------------------------- */

static NOINLINE size_t measured(const char *s, size_t length)
{
    READ_STRING(s, length + 1, STRLEN);
    return length;
}

EXPORT size_t strlen(const char *s)
{
    if (!is_of_interest(s) || is_skipped(SITE))
        return NEXT_OF(strlen)(s);
    return measured(s, NEXT_OF(strlen)(s));
}

EXPORT size_t strnlen(const char *s, size_t n)
{
    if (access_is_on)
        READS_STRING_N(s, n, STRNLEN);
    return NEXT_OF(strnlen)(s, n);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* A copy of a whole string. `limit`: the size of the destination that a _chk form is given; larger copies end the program. */
#define CHECK_STRING_COPY(to, from, limit, name)                  \
    do {                                                          \
        if (access_is_on) {                                       \
            size_t bytes_ = NEXT_OF(strlen)(from) + 1;            \
            READ_STRING(from, bytes_, name);                      \
            if (bytes_ <= (limit)) {                              \
                MUST_NOT_OVERLAP(to, bytes_, from, bytes_, name); \
                WRITES(to, bytes_, name);                         \
            }                                                     \
        }                                                         \
    } while (0)

EXPORT char *strcpy(char *to, const char *from)
{
    CHECK_STRING_COPY(to, from, SIZE_MAX, STRCPY);
    return NEXT_OF(strcpy)(to, from);
}

EXPORT char *stpcpy(char *to, const char *from)
{
    CHECK_STRING_COPY(to, from, SIZE_MAX, STPCPY);
    return NEXT_OF(stpcpy)(to, from);
}

EXPORT char *__stpcpy(char *to, const char *from)
{
    CHECK_STRING_COPY(to, from, SIZE_MAX, STPCPY);
    return NEXT_OF(stpcpy)(to, from);
}

EXPORT char *__strcpy_chk(char *to, const char *from, size_t room)
{
    CHECK_STRING_COPY(to, from, room, STRCPY);
    return NEXT_OF(__strcpy_chk)(to, from, room);
}

EXPORT char *__stpcpy_chk(char *to, const char *from, size_t room)
{
    CHECK_STRING_COPY(to, from, room, STPCPY);
    return NEXT_OF(__stpcpy_chk)(to, from, room);
}

/* n bytes are written: the string, then zeros. */
#define CHECK_STRING_COPY_N(to, from, n, limit, name)        \
    do {                                                     \
        if (access_is_on) {                                  \
            size_t bytes_ = string_bytes(from, n);           \
            READ_STRING(from, bytes_, name);                 \
            if ((n) <= (limit)) {                            \
                MUST_NOT_OVERLAP(to, n, from, bytes_, name); \
                WRITES(to, n, name);                         \
            }                                                \
        }                                                    \
    } while (0)

EXPORT char *strncpy(char *to, const char *from, size_t n)
{
    CHECK_STRING_COPY_N(to, from, n, SIZE_MAX, STRNCPY);
    return NEXT_OF(strncpy)(to, from, n);
}

EXPORT char *stpncpy(char *to, const char *from, size_t n)
{
    CHECK_STRING_COPY_N(to, from, n, SIZE_MAX, STPNCPY);
    return NEXT_OF(stpncpy)(to, from, n);
}

EXPORT char *__strncpy_chk(char *to, const char *from, size_t n, size_t room)
{
    CHECK_STRING_COPY_N(to, from, n, room, STRNCPY);
    return NEXT_OF(__strncpy_chk)(to, from, n, room);
}

EXPORT char *__stpncpy_chk(char *to, const char *from, size_t n, size_t room)
{
    CHECK_STRING_COPY_N(to, from, n, room, STPNCPY);
    return NEXT_OF(__stpncpy_chk)(to, from, n, room);
}

/*
 * The string at `to` is read, and at most n bytes of `from` and a zero byte are written after it. If
 * the string at `to` already reaches beyond its block, the read is the error, and the write follows
 * from it.
 */
#define CHECK_APPEND(to, from, n, limit, name)                                     \
    do {                                                                           \
        if (access_is_on) {                                                        \
            size_t before_ = NEXT_OF(strlen)(to), source_ = string_bytes(from, n), \
                   bytes_ = NEXT_OF(strnlen)(from, n) + 1;                         \
            bool fits_ = before_ + bytes_ <= (limit);                              \
            READ_STRING(from, source_, name);                                      \
            if (fits_)                                                             \
                MUST_NOT_OVERLAP((to) + before_, bytes_, from, source_, name);     \
            if (is_in_heap(to) && unlikely(!is_allowed(to, before_ + 1))) {        \
                access_refused_search(to, before_ + 1, ENTRY_##name, CALLER);      \
                if (fits_)                                                         \
                    access_follows((to) + before_, bytes_);                        \
            } else if (fits_) {                                                    \
                WRITES((to) + before_, bytes_, name);                              \
            }                                                                      \
        }                                                                          \
    } while (0)

EXPORT char *strcat(char *to, const char *from)
{
    CHECK_APPEND(to, from, SIZE_MAX, SIZE_MAX, STRCAT);
    return NEXT_OF(strcat)(to, from);
}

EXPORT char *__strcat_chk(char *to, const char *from, size_t room)
{
    CHECK_APPEND(to, from, SIZE_MAX, room, STRCAT);
    return NEXT_OF(__strcat_chk)(to, from, room);
}

EXPORT char *strncat(char *to, const char *from, size_t n)
{
    CHECK_APPEND(to, from, n, SIZE_MAX, STRNCAT);
    return NEXT_OF(strncat)(to, from, n);
}

EXPORT char *__strncat_chk(char *to, const char *from, size_t n, size_t room)
{
    CHECK_APPEND(to, from, n, room, STRNCAT);
    return NEXT_OF(__strncat_chk)(to, from, n, room);
}

/* The result is the length of what would be written, if there were room. */
EXPORT size_t strxfrm(char *to, const char *from, size_t n)
{
    size_t length = NEXT_OF(strxfrm)(to, from, n);
    if (access_is_on) {
        READS_STRING(from, STRXFRM);
        WRITES(to, length < n ? length + 1 : n, STRXFRM);
    }
    return length;
}

/* libc's own allocation: the program's call is that of strdup. */
EXPORT char *strdup(const char *s)
{
    if (access_is_on)
        READS_STRING(s, STRDUP);
    return NEXT_OF(strdup)(s);
}

EXPORT char *__strdup(const char *s)
{
    if (access_is_on)
        READS_STRING(s, STRDUP);
    return NEXT_OF(__strdup)(s);
}

EXPORT char *strndup(const char *s, size_t n)
{
    if (access_is_on)
        READS_STRING_N(s, n, STRNDUP);
    return NEXT_OF(strndup)(s, n);
}

EXPORT char *__strndup(const char *s, size_t n)
{
    if (access_is_on)
        READS_STRING_N(s, n, STRNDUP);
    return NEXT_OF(__strndup)(s, n);
}

/* ---- comparisons: characters after the first difference are not read -------------------------- */

/* Do these bytes end a string, or differ from the other's? Then no more of them are read. */
static bool ends_within(const char *a, const char *b, uint64_t known)
{
    for (uint64_t i = 0; i < known; i++)
        if (!a[i] || a[i] != b[i])
            return true;
    return false;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The same without regard to case: at least as many characters are equal. */
static bool ends_within_caseless(const char *a, const char *b, uint64_t known)
{
    for (uint64_t i = 0; i < known; i++)
        if (!a[i] || lower(a[i]) != lower(b[i]))
            return true;
    return false;
}

struct comparison {
    const char *a, *b;
    size_t n; /* at most so many characters */
    bool caseless;
    uint32_t entry;
};

/* Bytes of s that may be read, as far as the string reaches. *is_short: it does not end there. */
static uint64_t readable(const char *s, size_t n, bool *is_short)
{
    uint64_t bytes = string_bytes_in_block(s, n), known = access_allowed((uintptr_t)s, bytes);
    *is_short = is_in_heap(s) && known < bytes;
    return is_in_heap(s) ? known : bytes;
}

static COLD void compare_slowly(const struct comparison *c, const struct entry *at)
{
    bool a_short, b_short;
    uint64_t a = readable(c->a, c->n, &a_short), b = readable(c->b, c->n, &b_short);
    uint64_t known = a < b ? a : b;
    bool (*ends)(const char *, const char *, uint64_t) =
        c->caseless ? ends_within_caseless : ends_within;
    if (ends(c->a, c->b, known))
        return;
    if (a_short && a == known)
        access_refused(&(struct access){.at = c->a, .bytes = a + 1, .entry = c->entry}, at);
    if (b_short && b == known)
        access_refused(&(struct access){.at = c->b, .bytes = b + 1, .entry = c->entry}, at);
}

/* What libc has compared, up to the first difference, must be initialised.  Returns its result. */
static COLD int search_compared(int result, const struct comparison *c, const struct entry *at)
{
    uint64_t n = 0;
    while (n < c->n && c->a[n] &&
           (c->caseless ? lower(c->a[n]) == lower(c->b[n]) : c->a[n] == c->b[n]))
        n++;
    n += n < c->n;
    uninitialised_search(c->a, n, c->entry, at);
    uninitialised_search(c->b, n, c->entry, at);
    return result;
}

/* Is it certain, without looking at the characters one by one, that only the block is read? */
ALWAYS_INLINE bool is_good_string(const char *s, size_t n)
{
    return !is_in_heap(s) || is_allowed(s, string_bytes_in_block(s, n));
}

#define CHECK_COMPARISON(a, b, n, caseless, name)                                          \
    do {                                                                                   \
        if ((is_in_heap(a) || is_in_heap(b)) && !is_skipped(SITE) &&                       \
            unlikely(!is_good_string(a, n) || !is_good_string(b, n)))                      \
            compare_slowly(&(struct comparison){a, b, n, caseless, ENTRY_##name}, CALLER); \
    } while (0)

#define SEARCHED(result, a, b, n, caseless, name) \
    search_compared(result, &(struct comparison){a, b, n, caseless, ENTRY_##name}, CALLER)

#define COMPARISON(name, entry, caseless)                                          \
    EXPORT int name(const char *a, const char *b)                                  \
    {                                                                              \
        CHECK_COMPARISON(a, b, SIZE_MAX, caseless, entry);                         \
        if (unlikely(fill_is_sought))                                              \
            return SEARCHED(NEXT_OF(name)(a, b), a, b, SIZE_MAX, caseless, entry); \
        return NEXT_OF(name)(a, b);                                                \
    }                                                                              \
    static_assert(true, "ends with a semicolon")

COMPARISON(strcmp, STRCMP, false);
COMPARISON(strcasecmp, STRCASECMP, true);
/* Which characters these two read is known only up to the first that differs. */
COMPARISON(strcoll, STRCOLL, false);
COMPARISON(strverscmp, STRVERSCMP, false);

#define COMPARISON_N(name, entry, caseless)                                    \
    EXPORT int name(const char *a, const char *b, size_t n)                    \
    {                                                                          \
        CHECK_COMPARISON(a, b, n, caseless, entry);                            \
        if (unlikely(fill_is_sought))                                          \
            return SEARCHED(NEXT_OF(name)(a, b, n), a, b, n, caseless, entry); \
        return NEXT_OF(name)(a, b, n);                                         \
    }                                                                          \
    static_assert(true, "ends with a semicolon")

COMPARISON_N(strncmp, STRNCMP, false);
COMPARISON_N(strncasecmp, STRNCASECMP, true);

/* ---- searches -------------------------------------------------------------------------------- */

/* A search for one character ends where it is found. */
#define FOUND_OR_END(s, found) ((found) ? (size_t)((found) - (s)) + 1 : NEXT_OF(strlen)(s) + 1)

#define SEARCH(name, entry)                                \
    EXPORT char *name(const char *s, int c)                \
    {                                                      \
        char *found = NEXT_OF(name)(s, c);                 \
        if (is_in_heap(s) && !is_skipped(SITE))            \
            READ_STRING(s, FOUND_OR_END(s, found), entry); \
        return found;                                      \
    }                                                      \
    static_assert(true, "ends with a semicolon")

SEARCH(strchr, STRCHR);
SEARCH(index, INDEX);
SEARCH(strchrnul, STRCHRNUL);

/* A search for the last one reads the whole string. */
#define SEARCH_LAST(name, entry)            \
    EXPORT char *name(const char *s, int c) \
    {                                       \
        if (access_is_on)                   \
            READS_STRING(s, entry);         \
        return NEXT_OF(name)(s, c);         \
    }                                       \
    static_assert(true, "ends with a semicolon")

SEARCH_LAST(strrchr, STRRCHR);
SEARCH_LAST(rindex, RINDEX);

#define SEARCH_STRING(name, entry)                                              \
    EXPORT char *name(const char *s, const char *what)                          \
    {                                                                           \
        char *found = NEXT_OF(name)(s, what);                                   \
        if (access_is_on) {                                                     \
            if (is_in_heap(s))                                                  \
                READ_STRING(s,                                                  \
                            found ? (size_t)(found - s) + NEXT_OF(strlen)(what) \
                                  : NEXT_OF(strlen)(s) + 1,                     \
                            entry);                                             \
            READS_STRING(what, entry);                                          \
        }                                                                       \
        return found;                                                           \
    }                                                                           \
    static_assert(true, "ends with a semicolon")

SEARCH_STRING(strstr, STRSTR);
SEARCH_STRING(strcasestr, STRCASESTR);

#define SPAN(name, entry)                              \
    EXPORT size_t name(const char *s, const char *set) \
    {                                                  \
        size_t length = NEXT_OF(name)(s, set);         \
        if (access_is_on) {                            \
            READ_STRING(s, length + 1, entry);         \
            READS_STRING(set, entry);                  \
        }                                              \
        return length;                                 \
    }                                                  \
    static_assert(true, "ends with a semicolon")

SPAN(strspn, STRSPN);
SPAN(strcspn, STRCSPN);

EXPORT char *strpbrk(const char *s, const char *set)
{
    char *found = NEXT_OF(strpbrk)(s, set);
    if (access_is_on) {
        if (is_in_heap(s))
            READ_STRING(s, FOUND_OR_END(s, found), STRPBRK);
        READS_STRING(set, STRPBRK);
    }
    return found;
}
