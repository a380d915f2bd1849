/*
 * redzone.h - bytes that nobody may write: behind every block, and all of a freed one.  Part of
 * pool's door; the rare side is redzone.c.
 *
 *    slot   | asked for ............ | slack: REDZONE_BYTE        |  next slot
 *           0                        request                  slot_bytes
 *
 * What a slot has beyond the bytes asked for - one at least - holds REDZONE_BYTE from the moment
 * the block is given out: all of it up to REDZONE_REACH bytes, and always the last REDZONE_TAIL.
 * (Behind a large block it is up to LARGE_REACH bytes, see redzone.c.)
 * The last byte of every slot that was ever at hand holds it whatever became of the slot, so it is
 * at the same time what lies before its right neighbour.  Slot 0 of a slab is never given out: its last bytes
 * are the redzone before slot 1.  A large block has one of its own before it, in its first unit.
 * --redzone-size makes the class larger: then all slack is redzone.  Freed blocks hold the free-fill byte
 * until they leave the quarantine.
 *
 * The test when a block is freed is one comparison of 16 bytes and one of the byte before it; when
 * it leaves the quarantine, one of the whole slot with what it should hold by now.
 */
#ifndef REDZONE_H
#define REDZONE_H

#include "pool.h"

#include <emmintrin.h>

#define REDZONE_BYTE 0xb5
#define REDZONE_TAIL 16u
#define REDZONE_REACH 240u /* all slack of slots up to 256 bytes, of which there are most */

/* Behind the first `request` bytes of a slot. */
void redzone_put_more(void *slot, uint32_t slot_bytes, uint64_t request);
bool redzone_is_intact_wide(const void *slot, uint32_t slot_bytes, uint64_t request);

ALWAYS_INLINE __m128i redzone_pattern(void)
{
    return _mm_set1_epi8((char)REDZONE_BYTE);
}

ALWAYS_INLINE __m128i sixteen_at(const char *aligned)
{
    return _mm_load_si128((const __m128i *)(const void *)aligned);
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

/* Is nothing written behind the block? */
ALWAYS_INLINE bool redzone_is_intact_after(const void *slot, uint32_t slot_bytes, uint64_t request)
{
    uint64_t slack = slot_bytes - request;
    if (slack > REDZONE_TAIL)
        return redzone_is_intact_wide(slot, slot_bytes, request);
    __m128i tail = sixteen_at((const char *)slot + slot_bytes - REDZONE_TAIL);
    uint32_t changed = ~(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(tail, redzone_pattern()));
    return (changed & 0xffff) << slack <= 0xffff; /* those of the block itself may be anything */
}

/* Before the first slot that is given out, slot 1. */
void redzone_put_border(void *slot);
bool redzone_border_is_intact(const void *slot);

/* ..., and not the byte before it? */
ALWAYS_INLINE bool redzone_is_intact(const void *slot, uint32_t number, uint32_t class,
                                     uint64_t request)
{
    if (((const uint8_t *)slot)[-1] != REDZONE_BYTE ||
        (unlikely(number == 1) && !redzone_border_is_intact(slot)))
        return false;
    return redzone_is_intact_after(slot, size_class[class].slot_bytes, request);
}

/* ---- what was found -------------------------------------------------------------------------- */

struct damage {
    enum error_damage where;
    const char *first;                /* damaged byte */
    uint64_t bytes;                   /* from it to behind the last one */
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
bool redzone_damage(const struct found *f, void *block, uint64_t request, uint64_t was,
                    uint32_t write_epoch, struct damage *out);

/* The same of a large block, which has no neighbours: behind it first, if called again before it. */
bool redzone_damage_large(const struct found *f, void *block, uint64_t request, uint64_t was,
                          struct damage *out);
void redzone_put_large(const struct found *f, void *block, uint64_t request);
void redzone_put_before_large(const struct unit *head);

/* Another size in the same slot: before the record says so, or a sweep would miss it. */
void redzone_move(void *slot, uint32_t class, uint64_t request);

/* A freed block leaves the quarantine: was it written to?  `word` is its record's. */
bool fill_damage(const void *block, uint64_t request, uint64_t word, uint64_t stacks,
                 struct damage *out);
void fill_put(void *block, uint64_t request);
bool fill_is_intact(const void *block, uint64_t request);

/*
 * Fill, then redzone: the window of slot_bytes that has `request` bytes of fill is what a slot in
 * quarantine holds, when all of its slack is in reach.
 */
#define FREED_SLOT_MAX (REDZONE_REACH + REDZONE_TAIL)
struct freed_pattern {
    _Alignas(16) char byte[2 * FREED_SLOT_MAX];
    uint32_t slot_max; /* it tells of slots up to this size */
};

extern HIDDEN struct freed_pattern freed_pattern;

void freed_pattern_start(void); /* the free-fill byte is known */
bool freed_is_intact_slow(const void *slot, uint32_t slot_bytes, uint64_t request);

ALWAYS_INLINE __m128i freed_same(const char *slot, const char *wanted, uint64_t at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(wanted + at));
    return _mm_cmpeq_epi8(sixteen_at(slot + at), bytes);
}

ALWAYS_INLINE __m128i freed_same_four(const char *slot, const char *wanted, uint64_t a, uint64_t b,
                                      uint64_t c, uint64_t d)
{
    return _mm_and_si128(_mm_and_si128(freed_same(slot, wanted, a), freed_same(slot, wanted, b)),
                         _mm_and_si128(freed_same(slot, wanted, c), freed_same(slot, wanted, d)));
}

/* A slot in quarantine: is all of it whole?  The first 64 bytes without a branch. */
ALWAYS_INLINE bool freed_is_intact(const void *slot, uint32_t slot_bytes, uint64_t request)
{
    if (unlikely(slot_bytes > freed_pattern.slot_max))
        return freed_is_intact_slow(slot, slot_bytes, request);
    const char *wanted = freed_pattern.byte + FREED_SLOT_MAX - request;
    uint64_t last = slot_bytes - 16u;
    __m128i same = freed_same_four(slot, wanted, 0, last < 16 ? last : 16, last < 32 ? last : 32,
                                   last < 48 ? last : 48);
    for (uint64_t end = slot_bytes; end > 64; end -= 64)
        same = _mm_and_si128(same,
                             freed_same_four(slot, wanted, end - 64, end - 48, end - 32, end - 16));
    return _mm_movemask_epi8(same) == 0xffff;
}

/*
 * Blocks that are never freed hide most overflows: at the end all that are live, and all that are in
 * quarantine, are looked at.  `visit` is called inside the sweep's sections; what a forked child
 * inherited and never wrote records of is its parent's to sweep.  Takes no lock.
 */
struct sweep {
    uint32_t unit; /* where to go on; 0: at the beginning */
    uint64_t
        settled_by; /* till when it waits for threads that are filling a block; 0: for none yet */
};

/* One slab or large block; false: there is no further one. */
bool sweep_next(struct sweep *s, uint32_t write_epoch, void (*visit)(const struct damage *));

#endif
