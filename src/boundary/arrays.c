/*
 * arrays.c - functions on arrays: all elements that the caller names must be in one block. Which of
 * them a sort or a search looks at depends on their values.
 *
 * The program's comparison may throw or longjmp: so the checks come before, and the call is a jump,
 * except where only the result tells what was written (lsearch).
 */
#include "copies.h"

/* A product that does not exist is more than any block holds. */
static uint64_t array_bytes(size_t n, size_t size)
{
    uint64_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? UINT64_MAX : bytes;
}

/* One element is not moved, nor compared. */
static uint64_t sorted_bytes(size_t n, size_t size)
{
    return n > 1 ? array_bytes(n, size) : 0;
}

EXPORT void qsort(void *array, size_t n, size_t size, __compar_fn_t compare)
{
    if (access_is_on)
        WRITES(array, sorted_bytes(n, size), QSORT);
    NEXT_OF(qsort)(array, n, size, compare);
}

EXPORT void qsort_r(void *array, size_t n, size_t size, __compar_d_fn_t compare, void *argument)
{
    if (access_is_on)
        WRITES(array, sorted_bytes(n, size), QSORT_R);
    NEXT_OF(qsort_r)(array, n, size, compare, argument);
}

EXPORT void *bsearch(const void *key, const void *array, size_t n, size_t size,
                     __compar_fn_t compare)
{
    if (access_is_on)
        READS(array, array_bytes(n, size), BSEARCH);
    return NEXT_OF(bsearch)(key, array, n, size, compare);
}

/* *n is read by libc in any case. */
EXPORT void *lfind(const void *key, const void *array, size_t *n, size_t size,
                   __compar_fn_t compare)
{
    if (access_is_on) {
        READS(n, sizeof *n, LFIND);
        READS(array, array_bytes(*n, size), LFIND);
    }
    return NEXT_OF(lfind)(key, array, n, size, compare);
}

/* A key that is not found is copied behind the array, and *n is incremented. */
EXPORT void *lsearch(const void *key, void *array, size_t *n, size_t size, __compar_fn_t compare)
{
    if (!access_is_on)
        return NEXT_OF(lsearch)(key, array, n, size, compare);
    READS(n, sizeof *n, LSEARCH);
    size_t before = *n;
    READS(array, array_bytes(before, size), LSEARCH);
    char *found = NEXT_OF(lsearch)(key, array, n, size, compare);
    if (*n != before && found == (char *)array + before * size) {
        READS(key, size, LSEARCH);
        WRITES(found, size, LSEARCH);
    }
    return found;
}

/* Pairs of bytes: the last of an odd number is left alone. */
EXPORT void swab(const void *restrict from, void *restrict to, ssize_t n)
{
    if (access_is_on && n > 1) {
        uint64_t bytes = (uint64_t)n & ~1ull;
        MUST_NOT_OVERLAP(to, bytes, from, bytes, SWAB);
        READS(from, bytes, SWAB);
        WRITES(to, bytes, SWAB);
    }
    NEXT_OF(swab)(from, to, n);
}
