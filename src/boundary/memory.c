/*
 * memory.c - mem* functions: all of their bytes are accessed, except where a search or a comparison
 * ends earlier.
 */
#include "copies.h"

/* ---- copies ---------------------------------------------------------------------------------- */

COPY(memcpy, MEMCPY, void, bytes_of);
COPY(mempcpy, MEMPCPY, void, bytes_of);
COPY(__mempcpy, MEMPCPY, void, bytes_of);
MOVE(memmove, MEMMOVE, void, bytes_of);

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

FILL(memset, MEMSET, void, int, bytes_of);

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

COMPARISON(memcmp, MEMCMP, void, 1, bytes_of);
COMPARISON(bcmp, BCMP, void, 1, bytes_of);

/* ---- searches: bytes after the one that is found are not read -------------------------------- */

static NOINLINE void *searched_memchr(const void *in, const char *end, size_t n)
{
    size_t used = end ? (size_t)(end - (const char *)in) + 1 : n;
    READS(in, used, MEMCHR);
    USES(in, used, MEMCHR);
    return (void *)(uintptr_t)end;
}

EXPORT void *memchr(const void *in, int c, size_t n)
{
    if (!is_of_interest(in) || is_skipped(SITE))
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

COPY_CHK(__memcpy_chk, MEMCPY, void, false, bytes_of);
COPY_CHK(__mempcpy_chk, MEMPCPY, void, false, bytes_of);
COPY_CHK(__memmove_chk, MEMMOVE, void, true, bytes_of);
FILL_CHK(__memset_chk, MEMSET, void, int, bytes_of);

EXPORT void __explicit_bzero_chk(void *to, size_t n, size_t room)
{
    if (access_is_on && n <= room)
        WRITES(to, n, EXPLICIT_BZERO);
    NEXT_OF(__explicit_bzero_chk)(to, n, room);
}
