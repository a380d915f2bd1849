/*
 * memory.c - mem* functions: all of their bytes are accessed, except where a search or a comparison
 * ends earlier.
 */
#include "check.h"
#include "next_functions.h"

/* Is one of them in the heap? */
ALWAYS_INLINE bool is_concerned(const void *a, const void *b)
{
    return is_in_heap(a) || is_in_heap(b);
}

/* Nothing to do: not in the heap, not this time, or surely allowed. */
ALWAYS_INLINE bool is_fine(const void *a, const void *b, size_t n, const void *site)
{
    return !is_concerned(a, b) || is_skipped(site) ||
           (is_surely_allowed(a, n) && is_surely_allowed(b, n));
}

/*
 * The functions below that are called most do not call anything while all is well: so their
 * arguments stay in registers, and they need no frame. checked_X does the rest.
 */

/* ---- copies ---------------------------------------------------------------------------------- */

/* A copy that must not overlap: exported `name`, reported as `entry`. */
#define COPY(name, entry)                                                  \
    static COLD void *checked_##name(void *to, const void *from, size_t n) \
    {                                                                      \
        if (access_is_on) {                                                \
            MUST_NOT_OVERLAP(to, n, from, n, entry);                       \
            READS(from, n, entry);                                         \
            WRITES(to, n, entry);                                          \
        }                                                                  \
        return NEXT_OF(name)(to, from, n);                                 \
    }                                                                      \
    EXPORT void *name(void *to, const void *from, size_t n)                \
    {                                                                      \
        if (likely(next_functions.name && !is_overlap(to, n, from, n) &&   \
                   is_fine(to, from, n, SITE)))                            \
            return next_functions.name(to, from, n);                       \
        return checked_##name(to, from, n);                                \
    }                                                                      \
    static_assert(true, "ends with a semicolon")

COPY(memcpy, MEMCPY);
COPY(mempcpy, MEMPCPY);
COPY(__mempcpy, MEMPCPY);

static COLD void *checked_memmove(void *to, const void *from, size_t n)
{
    if (access_is_on) {
        READS(from, n, MEMMOVE);
        WRITES(to, n, MEMMOVE);
    }
    return NEXT_OF(memmove)(to, from, n);
}

EXPORT void *memmove(void *to, const void *from, size_t n)
{
    if (likely(next_functions.memmove && is_fine(to, from, n, SITE)))
        return next_functions.memmove(to, from, n);
    return checked_memmove(to, from, n);
}

EXPORT void bcopy(const void *from, void *to, size_t n)
{
    if (access_is_on) {
        READS(from, n, BCOPY);
        WRITES(to, n, BCOPY);
    }
    NEXT_OF(memmove)(to, from, n);
}

/* Copies up to the first `c`. */
EXPORT void *memccpy(void *to, const void *from, int c, size_t n)
{
    if (access_is_on) {
        const char *end = NEXT_OF(memchr)(from, c, n);
        size_t used = end ? (size_t)(end - (const char *)from) + 1 : n;
        MUST_NOT_OVERLAP(to, used, from, used, MEMCCPY);
        READS(from, used, MEMCCPY);
        WRITES(to, used, MEMCCPY);
    }
    return NEXT_OF(memccpy)(to, from, c, n);
}

/* ---- fills ----------------------------------------------------------------------------------- */

static COLD void *checked_memset(void *to, int c, size_t n)
{
    if (access_is_on)
        WRITES(to, n, MEMSET);
    return NEXT_OF(memset)(to, c, n);
}

EXPORT void *memset(void *to, int c, size_t n)
{
    if (likely(next_functions.memset &&
               (!is_in_heap(to) || is_skipped(SITE) || is_surely_allowed(to, n))))
        return next_functions.memset(to, c, n);
    return checked_memset(to, c, n);
}

EXPORT void bzero(void *to, size_t n)
{
    if (access_is_on)
        WRITES(to, n, BZERO);
    NEXT_OF(bzero)(to, n);
}

EXPORT void explicit_bzero(void *to, size_t n)
{
    if (access_is_on)
        WRITES(to, n, EXPLICIT_BZERO);
    NEXT_OF(explicit_bzero)(to, n);
}

/* ---- comparisons: bytes after the first difference are not read ------------------------------ */

/* Of two ranges, the bytes that are compared: all up to the first difference. */
static size_t compared(const void *a, const void *b, size_t n)
{
    uint64_t known = is_in_heap(a) ? access_allowed((uintptr_t)a, n) : n;
    uint64_t other = is_in_heap(b) ? access_allowed((uintptr_t)b, n) : n;
    known = other < known ? other : known;
    return known < n && NEXT_OF(memcmp)(a, b, known) != 0 ? known : n;
}

#define COMPARISON(name, entry)                                            \
    static COLD int checked_##name(const void *a, const void *b, size_t n) \
    {                                                                      \
        if (access_is_on) {                                                \
            size_t used = compared(a, b, n);                               \
            READS(a, used, entry);                                         \
            READS(b, used, entry);                                         \
        }                                                                  \
        return NEXT_OF(name)(a, b, n);                                     \
    }                                                                      \
    EXPORT int name(const void *a, const void *b, size_t n)                \
    {                                                                      \
        if (likely(next_functions.name && is_fine(a, b, n, SITE)))         \
            return next_functions.name(a, b, n);                           \
        return checked_##name(a, b, n);                                    \
    }                                                                      \
    static_assert(true, "ends with a semicolon")

COMPARISON(memcmp, MEMCMP);
COMPARISON(bcmp, BCMP);

/* ---- searches: bytes after the one that is found are not read -------------------------------- */

static NOINLINE void *searched_memchr(const void *in, const char *end, size_t n)
{
    size_t used = end ? (size_t)(end - (const char *)in) + 1 : n;
    READS(in, used, MEMCHR);
    return (void *)(uintptr_t)end;
}

EXPORT void *memchr(const void *in, int c, size_t n)
{
    if (!is_in_heap(in) || !access_is_on)
        return NEXT_OF(memchr)(in, c, n);
    return searched_memchr(in, NEXT_OF(memchr)(in, c, n), n);
}

static void *found_raw(const void *in, const char *end, const struct entry *at)
{
    size_t used = (size_t)(end - (const char *)in) + 1;
    if (access_is_on && is_in_heap(in) && unlikely(!is_allowed(in, used)))
        access_refused_search(in, used, ENTRY_RAWMEMCHR, at);
    return (void *)(uintptr_t)end;
}

EXPORT void *rawmemchr(const void *in, int c)
{
    return found_raw(in, NEXT_OF(rawmemchr)(in, c), CALLER);
}

EXPORT void *__rawmemchr(const void *in, int c)
{
    return found_raw(in, NEXT_OF(rawmemchr)(in, c), CALLER);
}

EXPORT void *memrchr(const void *in, int c, size_t n)
{
    const char *found = NEXT_OF(memrchr)(in, c, n);
    if (access_is_on) {
        size_t skipped = found ? (size_t)(found - (const char *)in) : 0;
        READS((const char *)in + skipped, n - skipped, MEMRCHR);
    }
    return (void *)(uintptr_t)found;
}

EXPORT void *memmem(const void *in, size_t n, const void *what, size_t what_bytes)
{
    const char *found = NEXT_OF(memmem)(in, n, what, what_bytes);
    if (access_is_on && what_bytes <= n) {
        READS(in, found ? (size_t)(found - (const char *)in) + what_bytes : n, MEMMEM);
        READS(what, what_bytes, MEMMEM);
    }
    return (void *)(uintptr_t)found;
}

/* ---- _FORTIFY_SOURCE: `room` is what the compiler knows of the destination -------------------- */

#define COPY_CHK(name, entry, may_overlap)                               \
    EXPORT void *name(void *to, const void *from, size_t n, size_t room) \
    {                                                                    \
        if (access_is_on && n <= room) {                                 \
            if (!(may_overlap))                                          \
                MUST_NOT_OVERLAP(to, n, from, n, entry);                 \
            READS(from, n, entry);                                       \
            WRITES(to, n, entry);                                        \
        }                                                                \
        return NEXT_OF(name)(to, from, n, room);                         \
    }                                                                    \
    static_assert(true, "ends with a semicolon")

COPY_CHK(__memcpy_chk, MEMCPY, false);
COPY_CHK(__mempcpy_chk, MEMPCPY, false);
COPY_CHK(__memmove_chk, MEMMOVE, true);

EXPORT void *__memset_chk(void *to, int c, size_t n, size_t room)
{
    if (access_is_on && n <= room)
        WRITES(to, n, MEMSET);
    return NEXT_OF(__memset_chk)(to, c, n, room);
}

EXPORT void __explicit_bzero_chk(void *to, size_t n, size_t room)
{
    if (access_is_on && n <= room)
        WRITES(to, n, EXPLICIT_BZERO);
    NEXT_OF(__explicit_bzero_chk)(to, n, room);
}
