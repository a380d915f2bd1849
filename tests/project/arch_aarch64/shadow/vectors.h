/*
 * vectors.h - comparisons of 16 bytes, and of eight words, at a time: NEON.
 */
#ifndef VECTORS_H
#define VECTORS_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint8x16_t vector;

#define VECTOR_INLINE static inline __attribute__((always_inline))

VECTOR_INLINE vector vector_of(uint8_t byte)
{
    return vdupq_n_u8(byte);
}

VECTOR_INLINE vector vector_of_word(uint64_t word)
{
    return vreinterpretq_u8_u64(vdupq_n_u64(word));
}

VECTOR_INLINE vector vector_at(const void *p)
{
    return vld1q_u8((const uint8_t *)p);
}

VECTOR_INLINE vector vector_at_aligned(const void *p)
{
    return vld1q_u8((const uint8_t *)p);
}

VECTOR_INLINE void vector_put_aligned(void *p, vector v)
{
    vst1q_u8((uint8_t *)p, v);
}

VECTOR_INLINE void vector_put(void *p, vector v)
{
    vst1q_u8((uint8_t *)p, v);
}

VECTOR_INLINE vector vector_same(vector a, vector b)
{
    return vceqq_u8(a, b);
}

VECTOR_INLINE vector vector_and(vector a, vector b)
{
    return vandq_u8(a, b);
}

VECTOR_INLINE vector vector_xor(vector a, vector b)
{
    return veorq_u8(a, b);
}

VECTOR_INLINE uint32_t vector_bits(vector same)
{
    static const uint8_t weight[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    vector bits = vandq_u8(same, vld1q_u8(weight));
    return (uint32_t)vaddv_u8(vget_low_u8(bits)) | (uint32_t)vaddv_u8(vget_high_u8(bits)) << 8;
}

VECTOR_INLINE bool vector_is_all(vector same)
{
    return vminvq_u8(same) == 0xff;
}

struct vector_window {
    uint32_t first, count;
};

VECTOR_INLINE struct vector_window vector_window_of(uint64_t start, uint64_t bytes)
{
    uint32_t first = (uint32_t)(start >> 32), last = (uint32_t)((start + bytes - 1) >> 32);
    return (struct vector_window){first, last - first};
}

VECTOR_INLINE unsigned vector_inside(const struct vector_window *in, const void *words)
{
    const uint32_t *half = (const uint32_t *)words;
    unsigned inside = 0;
    for (unsigned i = 0; i < 8; i++)
        inside |= (unsigned)(half[2 * i + 1] - in->first <= in->count) << i;
    return inside;
}

#endif
