/*
 * mapped_young.h - what was mapped last: the part of it that calls make in line.
 *
 * Much of what is mapped is unmapped soon: then it never goes into the map.  The few last ones lie
 * side by side, and have a segment of their own in the run file, a place for each; they go on into
 * the map together, when there is one too many, or when somebody wants to know more than whether
 * one of them is just this range.
 *
 * Each lies where nothing else does, neither in the map nor among them, so the order in which they go on
 * does not matter, and nothing of the map comes to light when one is unmapped.  (What the map has
 * there has gone, and nobody knew: of several mappings that mremap was to move, say, and did not
 * all.)
 */
#ifndef MAPPED_YOUNG_H
#define MAPPED_YOUNG_H

#include "mapped_priv.h"

#define MAP_YOUNG 4u
#define YOUNG_PLACES ((1u << MAP_YOUNG) - 1)

extern HIDDEN struct young {
    alignas(64) uint64_t start[MAP_YOUNG], end[MAP_YOUNG]; /* in one line; 0: there is none in this place */
    uint64_t bytes;
    uint32_t present; /* bit n: there is one in place n */
    struct segment *copy;
    struct map_region region[MAP_YOUNG];
} young;

void young_settle(void); /* they go into the map */
void young_copy_again(void); /* as they are now: into the copy, or a new one where it is NULL */
void young_clear(void); /* there are none; the copy stays */
struct segment *young_take_copy(void); /* NULL: there is no room */

ALWAYS_INLINE void map_note_bytes(void)
{
    struct map_sum *sum = map.sum;
    uint64_t bytes = map.maps.called_bytes + young.bytes;
    atomic_store_explicit(&sum->bytes, bytes, memory_order_relaxed);
    if (unlikely(bytes > atomic_load_explicit(&sum->peak_bytes, memory_order_relaxed)))
        atomic_store_explicit(&sum->peak_bytes, bytes, memory_order_relaxed);
}

/* What stands in the copy from now on: nothing, if it is that. */
ALWAYS_INLINE void young_write(uint32_t place, const struct map_region *r)
{
    struct segment *s = likely(young.copy) ? young.copy : young_take_copy();
    if (unlikely(!s))
        return;
    struct map_region *to = (struct map_region *)segment_items(s) + place;
    uint32_t epoch = copy_begin(s);
    if (r)
        *to = *r;
    else
        to->start = to->end = 0;
    copy_end(s, epoch);
}

ALWAYS_INLINE bool young_is_in(uint32_t i, uint64_t start, uint64_t end)
{
    return unlikely(young.end[i] > start) && young.start[i] < end;
}

static_assert(MAP_YOUNG == 4, "asked one after the other, without a loop");

/* false: something lies there, as far as is known. */
ALWAYS_INLINE bool young_add(const struct map_region *r)
{
    uint64_t start = r->start, end = r->end;
    if (unlikely(young.present == YOUNG_PLACES))
        young_settle();
    if (unlikely(!maps_is_free(&map.maps, start, end)) || young_is_in(0, start, end) ||
        young_is_in(1, start, end) || young_is_in(2, start, end) || young_is_in(3, start, end))
        return false;
    uint32_t place = (uint32_t)__builtin_ctz(~young.present);
    young.start[place] = start;
    young.end[place] = end;
    young.region[place] = *r;
    young.present |= 1u << place;
    young.bytes += end - start;
    young_write(place, r);
    return true;
}

ALWAYS_INLINE void young_drop(uint32_t place)
{
    young.present &= ~(1u << place);
    young.start[place] = young.end[place] = 0;
}

/* false: none is just this. */
ALWAYS_INLINE bool young_take(uint64_t start, uint64_t end, struct map_region *out)
{
    for (uint32_t i = 0; i < MAP_YOUNG; i++) {
        if (young.start[i] != start || young.end[i] != end)
            continue;
        *out = young.region[i];
        young.bytes -= end - start;
        young_drop(i);
        young_write(i, NULL);
        return true;
    }
    return false;
}

#endif
