/*
 * redzone.h - bytes that nobody may write: behind every block, and all of a freed one.  Part of
 * pool's door; the rare side is redzone.c.
 *
 *    slot   | asked for ............ | slack: REDZONE_BYTE        |  next slot
 *           0                        request                  slot_bytes
 *
 * What a slot has beyond the bytes asked for - one at least - holds REDZONE_BYTE from the moment
 * the block is given out: all of it up to REDZONE_REACH bytes, and always the last REDZONE_TAIL.
 * The last byte of every slot that was ever at hand holds it whatever became of the slot, so it is
 * at the same time what lies before its right neighbour.  Freed blocks hold the free-fill byte
 * until they leave the quarantine.
 *
 * The test when a block is freed is one comparison of 16 bytes and one of the byte before it.
 */
#ifndef REDZONE_H
#define REDZONE_H

#include "pool.h"

#include <emmintrin.h>

#define REDZONE_BYTE 0xb5
#define REDZONE_TAIL 16u
#define REDZONE_REACH 128u

/* Behind the first `request` bytes of a slot, its tail excluded. */
void redzone_put_more(void *slot, uint32_t slot_bytes, uint64_t request);
bool redzone_more_is_whole(const void *slot, uint32_t slot_bytes, uint64_t request);

ALWAYS_INLINE __m128i redzone_pattern(void)
{
    return _mm_set1_epi8((char)REDZONE_BYTE);
}

/* A slot is about to be given out; the tail may overwrite the block's own last bytes. */
ALWAYS_INLINE void redzone_put(void *slot, uint32_t class, uint64_t request)
{
    uint32_t slot_bytes = size_class[class].slot_bytes;
    _mm_store_si128((__m128i *)(void *)((char *)slot + slot_bytes - REDZONE_TAIL),
                    redzone_pattern());
    if (slot_bytes - request > REDZONE_TAIL)
        redzone_put_more(slot, slot_bytes, request);
}

/* Is nothing written behind the block, and not the byte before it? */
ALWAYS_INLINE bool redzone_is_whole(const void *slot, uint32_t number, uint32_t class,
                                    uint64_t request)
{
    uint32_t slot_bytes = size_class[class].slot_bytes;
    const char *p = slot, *tail = p + slot_bytes - REDZONE_TAIL;
    uint64_t slack = slot_bytes - request;
    __m128i same =
        _mm_cmpeq_epi8(_mm_load_si128((const __m128i *)(const void *)tail), redzone_pattern());
    uint32_t changed = (uint32_t)_mm_movemask_epi8(same) ^ 0xffff;
    uint32_t first = slack < REDZONE_TAIL ? REDZONE_TAIL - (uint32_t)slack : 0;
    bool first_slot = number == 0; /* what lies before it belongs to another slab */
    bool before = ((uint8_t)p[-(ptrdiff_t)!first_slot] == REDZONE_BYTE) | first_slot;
    return !(changed >> first) & before &&
           (slack <= REDZONE_TAIL || redzone_more_is_whole(slot, slot_bytes, request));
}

/* ---- what was found -------------------------------------------------------------------------- */

struct damage {
    enum error_damage where;
    const char *first; /* damaged byte */
    uint64_t bytes;    /* from it to behind the last one */
    uint8_t found[ERROR_BYTES_FOUND]; /* what is there, before anything is repaired */
    /* the block that it is told of */
    const void *block;
    uint64_t request;
    uint64_t word, stacks; /* of its record */
};

/*
 * A block that has just become FREED (its record said `was`): true when something was written behind
 * or before it that has not been told of before.  Then its redzone is as new.
 */
bool redzone_damage(const struct found *f, void *block, uint64_t request, uint64_t was, uint32_t go,
                    struct damage *out);

/* The same of a large block, which has no neighbours. */
bool redzone_damage_large(const struct found *f, void *block, uint64_t request, uint64_t was,
                          struct damage *out);
void redzone_put_large(const struct found *f, void *block, uint64_t request);

/* Another size in the same slot: before the record says so, or a sweep would miss it. */
void redzone_move(void *slot, uint32_t class, uint64_t request);

/* A freed block leaves the quarantine: was it written to?  `word` is its record's. */
bool fill_damage(const void *block, uint64_t request, uint64_t word, uint64_t stacks,
                 struct damage *out);
void fill_put(void *block, uint64_t request);
bool fill_is_whole_slow(const void *block, uint64_t request);

/* A slot has 16 bytes at least: a shorter block's comparison leaves out what is not the block's. */
ALWAYS_INLINE bool fill_is_whole(const void *block, uint64_t request)
{
    const char *p = block;
    if (request > 64 || pool_knobs.free_fill < 0)
        return fill_is_whole_slow(block, request);
    __m128i fill = _mm_set1_epi8((char)pool_knobs.free_fill);
#define SAME_AT(offset) \
    _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + (offset))), fill)
    if (request <= 16)
        return !(((uint32_t)_mm_movemask_epi8(SAME_AT(0)) ^ 0xffff) << (16 - request) & 0xffff);
    uint64_t last = request - 16, second = last < 16 ? last : 16, third = last < 32 ? last : 32;
    __m128i same = _mm_and_si128(_mm_and_si128(SAME_AT(0), SAME_AT(second)),
                                 _mm_and_si128(SAME_AT(third), SAME_AT(last)));
#undef SAME_AT
    return _mm_movemask_epi8(same) == 0xffff;
}

/*
 * Blocks that are never freed hide most overflows: at the end all that are live, and all that are in
 * quarantine, are looked at.  `visit` is called inside the sweep's sections; what a forked child
 * inherited and never wrote records of is its parent's to sweep.  Takes no lock.
 */
struct sweep {
    uint32_t unit; /* where to go on; 0: at the beginning */
};

/* One slab or large block; false: there is no further one. */
bool sweep_next(struct sweep *s, uint32_t go, void (*visit)(const struct damage *));

#endif
