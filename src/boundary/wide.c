/*
 * wide.c - wcs* functions: as strings.c, of wide characters. Lengths are those that libc finds.
 *
 * Strings that are not aligned to a character are not measured: libc compares aligned words, so
 * wcslen may miss an end that wcscpy finds.
 */
#include "copies.h"

/* May it be measured, if a check needs its length? */
static bool is_aligned(const wchar_t *s)
{
    return (uintptr_t)s % sizeof *s == 0;
}

static bool is_checked(const wchar_t *s)
{
    return is_in_heap(s) && is_aligned(s);
}

/* Some versions of libc's wcsnlen multiply n without a check, so that large ones wrap. */
static size_t length_up_to(const wchar_t *s, size_t n)
{
    return n <= SIZE_MAX / sizeof *s ? NEXT_OF(wcsnlen)(s, n) : NEXT_OF(wcslen)(s);
}

/* Bytes of a string of at most n characters, with its end if that is among them. */
static uint64_t string_bytes_of(const wchar_t *s, size_t n)
{
    size_t length = length_up_to(s, n);
    return bytes_of_wide(length < n ? length + 1 : n);
}

/* ---- checks: `at` is the program's call, `entry` its function --------------------------------- */

/* As access_refused_search: up to the first character that must not be read. */
static COLD void refuse_read(const wchar_t *s, uint64_t bytes, uint32_t entry,
                             const struct entry *at)
{
    uint64_t characters = access_allowed((uintptr_t)s, bytes) / sizeof *s + 1;
    access_refused(&(struct access){.at = s, .bytes = bytes_of_wide(characters), .entry = entry},
                   at);
}

static void read_bytes(const wchar_t *s, uint64_t bytes, uint32_t entry, const struct entry *at)
{
    if (is_in_heap(s) && unlikely(!is_allowed(s, bytes)))
        refuse_read(s, bytes, entry, at);
}

/* At most n characters of a string are read. */
static void read_string(const wchar_t *s, size_t n, uint32_t entry, const struct entry *at)
{
    if (is_checked(s))
        read_bytes(s, string_bytes_of(s, n), entry, at);
}

/* Characters up to the one that was found are read; NULL: the whole string. */
static void read_up_to(const wchar_t *s, const wchar_t *found, uint32_t entry,
                       const struct entry *at)
{
    if (found)
        read_bytes(s, bytes_of_wide((size_t)(found - s) + 1), entry, at);
    else
        read_string(s, SIZE_MAX, entry, at);
}

static void write_bytes(wchar_t *to, uint64_t bytes, uint32_t entry, const struct entry *at)
{
    if (is_in_heap(to) && unlikely(!is_allowed(to, bytes)))
        access_refused(&(struct access){.at = to, .bytes = bytes, .is_write = true, .entry = entry},
                       at);
}

static void must_not_overlap(const wchar_t *to, uint64_t written, const wchar_t *from,
                             uint64_t read, uint32_t entry, const struct entry *at)
{
    if (unlikely(is_overlap(to, written, from, read)))
        access_overlaps(to, from, written, entry, at);
}

/*
 * A copy of at most n characters, of which `written` are written at least: libc adds zeros. `room`:
 * the size of the destination that a _chk form is given; larger copies end the program.
 */
static void copy(wchar_t *to, const wchar_t *from, size_t n, size_t written, size_t room,
                 uint32_t entry, const struct entry *at)
{
    if (!access_is_on || !is_aligned(from))
        return;
    uint64_t source = string_bytes_of(from, n), bytes = bytes_of_wide(written);
    bytes = source > bytes ? source : bytes;
    read_bytes(from, source, entry, at);
    if (bytes > bytes_of_wide(room))
        return;
    must_not_overlap(to, bytes, from, source, entry, at);
    write_bytes(to, bytes, entry, at);
}

/*
 * The string at `to` is read, and at most n characters of `from` and a zero are written after it. If
 * the string at `to` already reaches beyond its block, the read is the error, and the write follows
 * from it.
 */
static void append(wchar_t *to, const wchar_t *from, size_t n, size_t room, uint32_t entry,
                   const struct entry *at)
{
    if (!access_is_on || !is_aligned(to) || !is_aligned(from))
        return;
    size_t before = NEXT_OF(wcslen)(to), length = length_up_to(from, n);
    uint64_t source = string_bytes_of(from, n), bytes = bytes_of_wide(length + 1);
    bool fits = before + length < room;
    read_bytes(from, source, entry, at);
    if (fits)
        must_not_overlap(to + before, bytes, from, source, entry, at);
    if (is_in_heap(to) && unlikely(!is_allowed(to, bytes_of_wide(before + 1)))) {
        refuse_read(to, bytes_of_wide(before + 1), entry, at);
        if (fits)
            access_follows(to + before, bytes);
    } else if (fits) {
        write_bytes(to + before, bytes, entry, at);
    }
}

/* ---- lengths --------------------------------------------------------------------------------- */

static NOINLINE size_t measured(const wchar_t *s, size_t length)
{
    read_bytes(s, bytes_of_wide(length + 1), ENTRY_WCSLEN, CALLER);
    return length;
}

EXPORT size_t wcslen(const wchar_t *s)
{
    if (!is_in_heap(s) || is_skipped(SITE))
        return NEXT_OF(wcslen)(s);
    return measured(s, NEXT_OF(wcslen)(s));
}

EXPORT size_t wcsnlen(const wchar_t *s, size_t n)
{
    size_t length = NEXT_OF(wcsnlen)(s, n);
    if (access_is_on)
        read_bytes(s, bytes_of_wide(length < n ? length + 1 : n), ENTRY_WCSNLEN, CALLER);
    return length;
}

/* ---- copies ---------------------------------------------------------------------------------- */

#define STRING_COPY(name, entry)                                      \
    EXPORT wchar_t *name(wchar_t *to, const wchar_t *from)            \
    {                                                                 \
        copy(to, from, SIZE_MAX, 0, SIZE_MAX, ENTRY_##entry, CALLER); \
        return NEXT_OF(name)(to, from);                               \
    }                                                                 \
    static_assert(true, "ends with a semicolon")

#define STRING_COPY_CHK(name, entry)                                    \
    EXPORT wchar_t *name(wchar_t *to, const wchar_t *from, size_t room) \
    {                                                                   \
        copy(to, from, SIZE_MAX, 0, room, ENTRY_##entry, CALLER);       \
        return NEXT_OF(name)(to, from, room);                           \
    }                                                                   \
    static_assert(true, "ends with a semicolon")

STRING_COPY(wcscpy, WCSCPY);
STRING_COPY(wcpcpy, WCPCPY);
STRING_COPY_CHK(__wcscpy_chk, WCSCPY);
STRING_COPY_CHK(__wcpcpy_chk, WCPCPY);

#define STRING_COPY_N(name, entry)                                   \
    EXPORT wchar_t *name(wchar_t *to, const wchar_t *from, size_t n) \
    {                                                                \
        copy(to, from, n, n, SIZE_MAX, ENTRY_##entry, CALLER);       \
        return NEXT_OF(name)(to, from, n);                           \
    }                                                                \
    static_assert(true, "ends with a semicolon")

#define STRING_COPY_N_CHK(name, entry)                                            \
    EXPORT wchar_t *name(wchar_t *to, const wchar_t *from, size_t n, size_t room) \
    {                                                                             \
        copy(to, from, n, n, room, ENTRY_##entry, CALLER);                        \
        return NEXT_OF(name)(to, from, n, room);                                  \
    }                                                                             \
    static_assert(true, "ends with a semicolon")

STRING_COPY_N(wcsncpy, WCSNCPY);
STRING_COPY_N(wcpncpy, WCPNCPY);
STRING_COPY_N_CHK(__wcsncpy_chk, WCSNCPY);
STRING_COPY_N_CHK(__wcpncpy_chk, WCPNCPY);

EXPORT wchar_t *wcscat(wchar_t *to, const wchar_t *from)
{
    append(to, from, SIZE_MAX, SIZE_MAX, ENTRY_WCSCAT, CALLER);
    return NEXT_OF(wcscat)(to, from);
}

EXPORT wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t room)
{
    append(to, from, SIZE_MAX, room, ENTRY_WCSCAT, CALLER);
    return NEXT_OF(__wcscat_chk)(to, from, room);
}

EXPORT wchar_t *wcsncat(wchar_t *to, const wchar_t *from, size_t n)
{
    append(to, from, n, SIZE_MAX, ENTRY_WCSNCAT, CALLER);
    return NEXT_OF(wcsncat)(to, from, n);
}

EXPORT wchar_t *__wcsncat_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room)
{
    append(to, from, n, room, ENTRY_WCSNCAT, CALLER);
    return NEXT_OF(__wcsncat_chk)(to, from, n, room);
}

EXPORT wchar_t *wcsdup(const wchar_t *s)
{
    if (access_is_on)
        read_string(s, SIZE_MAX, ENTRY_WCSDUP, CALLER);
    return NEXT_OF(wcsdup)(s);
}

/* ---- comparisons: characters after the first difference are not read -------------------------- */

typedef int compare_function(const wchar_t *a, const wchar_t *b, size_t n);

/* Characters of s that may be read, as far as the string reaches. *is_short: it does not end there. */
static size_t readable(const wchar_t *s, size_t n, bool *is_short)
{
    uint64_t bytes = string_bytes_of(s, n), known = access_allowed((uintptr_t)s, bytes);
    *is_short = is_in_heap(s) && known < bytes;
    return (is_in_heap(s) ? known : bytes) / sizeof *s;
}

/* Strings of at most n characters; `compare` is libc's function for such strings. */
static COLD void compare_slowly(const wchar_t *a, const wchar_t *b, size_t n,
                                compare_function *compare, uint32_t entry, const struct entry *at)
{
    bool a_short, b_short;
    size_t a_known = readable(a, n, &a_short), b_known = readable(b, n, &b_short);
    size_t known = a_known < b_known ? a_known : b_known;
    if (length_up_to(a, known) < known || compare(a, b, known) != 0)
        return;
    if (a_short && a_known == known)
        refuse_read(a, bytes_of_wide(known + 1), entry, at);
    if (b_short && b_known == known)
        refuse_read(b, bytes_of_wide(known + 1), entry, at);
}

/* Is it certain, without looking at the characters one by one, that only the block is read? */
static bool is_good_string(const wchar_t *s, size_t n)
{
    return !is_in_heap(s) || is_allowed(s, string_bytes_of(s, n));
}

static bool is_good_pair(const wchar_t *a, const wchar_t *b, size_t n)
{
    return !is_concerned(a, b) || !is_aligned(a) || !is_aligned(b) ||
           (is_good_string(a, n) && is_good_string(b, n));
}

#define STRING_COMPARISON(name, entry, name_n)                                      \
    EXPORT int name(const wchar_t *a, const wchar_t *b)                             \
    {                                                                               \
        if (access_is_on && unlikely(!is_good_pair(a, b, SIZE_MAX)))                \
            compare_slowly(a, b, SIZE_MAX, NEXT_OF(name_n), ENTRY_##entry, CALLER); \
        return NEXT_OF(name)(a, b);                                                 \
    }                                                                               \
    static_assert(true, "ends with a semicolon")

#define STRING_COMPARISON_N(name, entry)                                   \
    EXPORT int name(const wchar_t *a, const wchar_t *b, size_t n)          \
    {                                                                      \
        if (access_is_on && unlikely(!is_good_pair(a, b, n)))              \
            compare_slowly(a, b, n, NEXT_OF(name), ENTRY_##entry, CALLER); \
        return NEXT_OF(name)(a, b, n);                                     \
    }                                                                      \
    static_assert(true, "ends with a semicolon")

STRING_COMPARISON(wcscmp, WCSCMP, wcsncmp);
STRING_COMPARISON(wcscasecmp, WCSCASECMP, wcsncasecmp);
STRING_COMPARISON_N(wcsncmp, WCSNCMP);
STRING_COMPARISON_N(wcsncasecmp, WCSNCASECMP);

/* ---- searches -------------------------------------------------------------------------------- */

/* A search for one character ends where it is found. */
#define SEARCH(name, entry)                              \
    EXPORT wchar_t *name(const wchar_t *s, wchar_t c)    \
    {                                                    \
        wchar_t *found = NEXT_OF(name)(s, c);            \
        if (access_is_on)                                \
            read_up_to(s, found, ENTRY_##entry, CALLER); \
        return found;                                    \
    }                                                    \
    static_assert(true, "ends with a semicolon")

SEARCH(wcschr, WCSCHR);
SEARCH(wcschrnul, WCSCHRNUL);

EXPORT wchar_t *wcsrchr(const wchar_t *s, wchar_t c)
{
    if (access_is_on)
        read_string(s, SIZE_MAX, ENTRY_WCSRCHR, CALLER);
    return NEXT_OF(wcsrchr)(s, c);
}

#define SEARCH_STRING(name, entry)                                                        \
    EXPORT wchar_t *name(const wchar_t *s, const wchar_t *what)                           \
    {                                                                                     \
        wchar_t *found = NEXT_OF(name)(s, what);                                          \
        if (access_is_on && is_concerned(s, what) && is_aligned(what)) {                  \
            size_t length = found ? NEXT_OF(wcslen)(what) : 1;                            \
            if (length) /* else s is not read */                                          \
                read_up_to(s, found ? found + length - 1 : found, ENTRY_##entry, CALLER); \
            read_string(what, SIZE_MAX, ENTRY_##entry, CALLER);                           \
        }                                                                                 \
        return found;                                                                     \
    }                                                                                     \
    static_assert(true, "ends with a semicolon")

SEARCH_STRING(wcsstr, WCSSTR);
SEARCH_STRING(wcswcs, WCSWCS);

#define SPAN(name, entry)                                                    \
    EXPORT size_t name(const wchar_t *s, const wchar_t *set)                 \
    {                                                                        \
        size_t length = NEXT_OF(name)(s, set);                               \
        if (access_is_on) {                                                  \
            read_bytes(s, bytes_of_wide(length + 1), ENTRY_##entry, CALLER); \
            read_string(set, SIZE_MAX, ENTRY_##entry, CALLER);               \
        }                                                                    \
        return length;                                                       \
    }                                                                        \
    static_assert(true, "ends with a semicolon")

SPAN(wcsspn, WCSSPN);
SPAN(wcscspn, WCSCSPN);

EXPORT wchar_t *wcspbrk(const wchar_t *s, const wchar_t *set)
{
    wchar_t *found = NEXT_OF(wcspbrk)(s, set);
    if (access_is_on) {
        read_up_to(s, found, ENTRY_WCSPBRK, CALLER);
        read_string(set, SIZE_MAX, ENTRY_WCSPBRK, CALLER);
    }
    return found;
}
