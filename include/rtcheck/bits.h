/*
 * bits.h - small exact arithmetic that both sides of the run file share.
 *
 * Every offset and length that comes out of a file goes through the checked forms: a file is
 * somebody else's word.  All functions are pure, thread- and signal-safe.
 */
#ifndef RTCHECK_BITS_H
#define RTCHECK_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define countof(a) (sizeof(a) / sizeof((a)[0]))

/* Rounds n up to a multiple of align (a power of two).  The caller knows that it cannot wrap. */
static inline uint64_t align_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

/* Rounds it down; align as above. */
static inline uint64_t align_down(uint64_t n, uint64_t align)
{
    return n & ~(align - 1);
}

/* A power of two: 0 is none. */
static inline bool is_pow2(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* *out = a + b; false (and *out untouched) when that wraps. */
static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

/* *out = a * b; false (and *out untouched) when that wraps. */
static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

/* Is [off, off + len) inside [0, total)? */
static inline bool range_inside(uint64_t off, uint64_t len, uint64_t total)
{
    return off <= total && len <= total - off;
}

/* floor(log2(n)), n > 0. */
static inline unsigned log2_floor(uint64_t n)
{
    return 63u - (unsigned)__builtin_clzll(n);
}

#endif
