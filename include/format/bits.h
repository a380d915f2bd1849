/*
 * bits.h - checked arithmetic for both sides of the run file.
 *
 * Every offset and length from a file is processed by the checked functions: files are not trusted.
 * All functions are pure, thread-safe and async-signal-safe.
 */
#ifndef RTCHECK_BITS_H
#define RTCHECK_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define countof(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Round n up to a multiple of align (a power of two).  The caller ensures that it does not
 * overflow.
 */
static inline uint64_t align_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

/* Round n down; align as above. */
static inline uint64_t align_down(uint64_t n, uint64_t align)
{
    return n & ~(align - 1);
}

/* 0 is not a power of two. */
static inline bool is_pow2(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* *out = a + b.  Return false, with *out unchanged, on overflow. */
static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

/* *out = a * b.  Return false, with *out unchanged, on overflow. */
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
