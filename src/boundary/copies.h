/*
 * copies.h - copies, fills and comparisons of memory: of bytes (memory.c) and wide characters (wide_memory.c).
 *
 * The functions that are called most do not call anything while all is well: so their arguments stay
 * in registers, and they need no frame. checked_X does the rest. Their macros take the type of the
 * elements and the function that returns the bytes of n of them.
 */
#ifndef COPIES_H
#define COPIES_H

#include <wchar.h>

#include "check.h"
#include "next_functions.h"

ALWAYS_INLINE uint64_t bytes_of(size_t n)
{
    return n;
}

/* A number that has no such product is more than any block holds. */
ALWAYS_INLINE uint64_t bytes_of_wide(size_t n)
{
    return n <= SIZE_MAX / sizeof(wchar_t) ? n * sizeof(wchar_t) : SIZE_MAX;
}

/* Is one of them in the heap? */
ALWAYS_INLINE bool is_concerned(const void *a, const void *b)
{
    return is_in_heap(a) || is_in_heap(b);
}

/* Nothing to do: not in the heap, not this time, or surely allowed. */
ALWAYS_INLINE bool is_fine(const void *a, const void *b, uint64_t bytes, const void *site)
{
    return !is_concerned(a, b) || is_skipped(site) ||
           (is_surely_allowed(a, bytes) && is_surely_allowed(b, bytes));
}

/* A copy that must not overlap: exported `name`, reported as `entry`. */
#define COPY(name, entry, type, bytes_of_n)                                        \
    static COLD type *checked_##name(type *to, const type *from, size_t n)         \
    {                                                                              \
        uint64_t bytes_ = bytes_of_n(n);                                           \
        if (access_is_on) {                                                        \
            MUST_NOT_OVERLAP(to, bytes_, from, bytes_, entry);                     \
            READS(from, bytes_, entry);                                            \
            WRITES(to, bytes_, entry);                                             \
        }                                                                          \
        return NEXT_OF(name)(to, from, n);                                         \
    }                                                                              \
    EXPORT type *name(type *to, const type *from, size_t n)                        \
    {                                                                              \
        uint64_t bytes_ = bytes_of_n(n);                                           \
        if (likely(next_functions.name && !is_overlap(to, bytes_, from, bytes_) && \
                   is_fine(to, from, bytes_, SITE)))                               \
            return next_functions.name(to, from, n);                               \
        return checked_##name(to, from, n);                                        \
    }                                                                              \
    static_assert(true, "ends with a semicolon")

/* A copy that may overlap. */
#define MOVE(name, entry, type, bytes_of_n)                                        \
    static COLD type *checked_##name(type *to, const type *from, size_t n)         \
    {                                                                              \
        if (access_is_on) {                                                        \
            READS(from, bytes_of_n(n), entry);                                     \
            WRITES(to, bytes_of_n(n), entry);                                      \
        }                                                                          \
        return NEXT_OF(name)(to, from, n);                                         \
    }                                                                              \
    EXPORT type *name(type *to, const type *from, size_t n)                        \
    {                                                                              \
        if (likely(next_functions.name && is_fine(to, from, bytes_of_n(n), SITE))) \
            return next_functions.name(to, from, n);                               \
        return checked_##name(to, from, n);                                        \
    }                                                                              \
    static_assert(true, "ends with a semicolon")

/* `value`: the type of the argument that is stored. */
#define FILL(name, entry, type, value, bytes_of_n)                                                 \
    static COLD type *checked_##name(type *to, value c, size_t n)                                  \
    {                                                                                              \
        if (access_is_on)                                                                          \
            WRITES(to, bytes_of_n(n), entry);                                                      \
        return NEXT_OF(name)(to, c, n);                                                            \
    }                                                                                              \
    EXPORT type *name(type *to, value c, size_t n)                                                 \
    {                                                                                              \
        if (likely(next_functions.name &&                                                          \
                   (!is_in_heap(to) || is_skipped(SITE) || is_surely_allowed(to, bytes_of_n(n))))) \
            return next_functions.name(to, c, n);                                                  \
        return checked_##name(to, c, n);                                                           \
    }                                                                                              \
    static_assert(true, "ends with a semicolon")

/* Of two ranges, the bytes that are compared: all up to the first element that differs. */
ALWAYS_INLINE uint64_t compared(const void *a, const void *b, uint64_t bytes, uint64_t element)
{
    uint64_t known = is_in_heap(a) ? access_allowed((uintptr_t)a, bytes) : bytes;
    uint64_t other = is_in_heap(b) ? access_allowed((uintptr_t)b, bytes) : bytes;
    known = other < known ? other : known;
    known -= known % element;
    return known < bytes && NEXT_OF(memcmp)(a, b, known) != 0 ? known : bytes;
}

/* What libc has compared, up to the first byte that differs, must be initialised.  Returns its result. */
static inline int search_compared(int result, const char *a, const char *b, uint64_t bytes,
                                  uint32_t entry, const struct entry *at)
{
    uint64_t n = 0;
    while (n < bytes && a[n] == b[n])
        n++;
    n += n < bytes;
    uninitialised_search(a, n, entry, at);
    uninitialised_search(b, n, entry, at);
    return result;
}

#define COMPARISON(name, entry, type, element, bytes_of_n)                                        \
    static COLD int checked_##name(const type *a, const type *b, size_t n)                        \
    {                                                                                             \
        uint64_t used_ = access_is_on ? compared(a, b, bytes_of_n(n), element) : 0;               \
        READS(a, used_, entry);                                                                   \
        READS(b, used_, entry);                                                                   \
        if (unlikely(fill_is_sought))                                                             \
            return search_compared(NEXT_OF(name)(a, b, n), (const void *)a, (const void *)b,      \
                                   used_, ENTRY_##entry, CALLER);                                 \
        return NEXT_OF(name)(a, b, n);                                                            \
    }                                                                                             \
    EXPORT int name(const type *a, const type *b, size_t n)                                       \
    {                                                                                             \
        if (likely(next_functions.name && !fill_is_sought && is_fine(a, b, bytes_of_n(n), SITE))) \
            return next_functions.name(a, b, n);                                                  \
        return checked_##name(a, b, n);                                                           \
    }                                                                                             \
    static_assert(true, "ends with a semicolon")

/* _FORTIFY_SOURCE: `room` is what the compiler knows of the destination. */
#define COPY_CHK(name, entry, type, may_overlap, bytes_of_n)                     \
    EXPORT type *name(type *to, const type *from, size_t n, size_t room)         \
    {                                                                            \
        if (access_is_on && n <= room) {                                         \
            if (!(may_overlap))                                                  \
                MUST_NOT_OVERLAP(to, bytes_of_n(n), from, bytes_of_n(n), entry); \
            READS(from, bytes_of_n(n), entry);                                   \
            WRITES(to, bytes_of_n(n), entry);                                    \
        }                                                                        \
        return NEXT_OF(name)(to, from, n, room);                                 \
    }                                                                            \
    static_assert(true, "ends with a semicolon")

#define FILL_CHK(name, entry, type, value, bytes_of_n)          \
    EXPORT type *name(type *to, value c, size_t n, size_t room) \
    {                                                           \
        if (access_is_on && n <= room)                          \
            WRITES(to, bytes_of_n(n), entry);                   \
        return NEXT_OF(name)(to, c, n, room);                   \
    }                                                           \
    static_assert(true, "ends with a semicolon")

#endif
