/*
 * vectors.h - comparisons of 16 bytes, and of eight words, at a time: SSE2, which every x86-64
 * machine has.
 *
 * Redzones are compared at every free, and a leak scan reads all memory of a program: both are
 * bound by these functions, so all are inline.  A port needs vectors of 16 bytes, because redzones
 * and slots are multiples of 16.  vector_is_all decides most comparisons; vector_bits, which is slow
 * on machines without a move of the sign bits, is used only where the position matters.
 */
#ifndef VECTORS_H
#define VECTORS_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

typedef __m128i vector;

#define VECTOR_INLINE static inline __attribute__((always_inline))

/* ---- 16 bytes -------------------------------------------------------------------------------- */

VECTOR_INLINE vector vector_of(uint8_t byte)
{
    return _mm_set1_epi8((char)byte);
}

/* The word, twice. */
VECTOR_INLINE vector vector_of_word(uint64_t word)
{
    return _mm_set1_epi64x((long long)word);
}

VECTOR_INLINE vector vector_at(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

VECTOR_INLINE vector vector_at_aligned(const void *p)
{
    return _mm_load_si128((const __m128i *)p);
}

VECTOR_INLINE void vector_put_aligned(void *p, vector v)
{
    _mm_store_si128((__m128i *)p, v);
}

VECTOR_INLINE void vector_put(void *p, vector v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

/* All bits of each equal byte are set. */
VECTOR_INLINE vector vector_same(vector a, vector b)
{
    return _mm_cmpeq_epi8(a, b);
}

VECTOR_INLINE vector vector_and(vector a, vector b)
{
    return _mm_and_si128(a, b);
}

VECTOR_INLINE vector vector_xor(vector a, vector b)
{
    return _mm_xor_si128(a, b);
}

/* Of results of vector_same: bit n is byte n. */
VECTOR_INLINE uint32_t vector_bits(vector same)
{
    return (uint32_t)_mm_movemask_epi8(same);
}

/* Were all bytes the same? */
VECTOR_INLINE bool vector_is_all(vector same)
{
    return _mm_movemask_epi8(same) == 0xffff;
}

/* ---- eight words ----------------------------------------------------------------------------- */

/*
 * A range of the upper halves of addresses, offset so that `first` maps to the least signed
 * number.
 */
struct vector_window {
    __m128i first, last;
};

/* The window of [start, start + bytes). */
VECTOR_INLINE struct vector_window vector_window_of(uint64_t start, uint64_t bytes)
{
    uint32_t first = (uint32_t)(start >> 32), last = (uint32_t)((start + bytes - 1) >> 32);
    return (struct vector_window){_mm_set1_epi32((int)(first ^ 1u << 31)),
                                  _mm_set1_epi32((int)(last - first - (1u << 31)))};
}

/* For each of four words: all bits set if it is outside of the window. */
VECTOR_INLINE __m128i vector_outside(const struct vector_window *in, const void *words)
{
    const char *w = words;
    __m128 two = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(const void *)w));
    __m128 more = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(const void *)(w + 16)));
    __m128i upper = _mm_castps_si128(_mm_shuffle_ps(two, more, 0xdd));
    return _mm_cmpgt_epi32(_mm_sub_epi32(upper, in->first), in->last);
}

/* For each of eight words of 64 bits: one bit, set if its upper half is in the window. */
VECTOR_INLINE unsigned vector_inside(const struct vector_window *in, const void *words)
{
    const char *w = words;
    __m128i sixteen = _mm_packs_epi32(vector_outside(in, w), vector_outside(in, w + 32));
    return ~(unsigned)_mm_movemask_epi8(_mm_packs_epi16(sixteen, sixteen)) & 0xff;
}

#endif
