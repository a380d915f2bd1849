/*
 * map_buffer.h - what was mapped last: the part of it that calls make in line.
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
#ifndef MAP_BUFFER_H
#define MAP_BUFFER_H

#include "mapped_priv.h"

#define MAP_BUFFER_REGIONS 4u
#define MAP_BUFFER_SLOTS ((1u << MAP_BUFFER_REGIONS) - 1)

extern HIDDEN struct map_buffer {
    alignas(64) uint64_t start[MAP_BUFFER_REGIONS],
        end[MAP_BUFFER_REGIONS]; /* in one line; 0: there is none in this place */
    uint64_t bytes;
    uint32_t present; /* bit n: there is one in place n */
    struct segment *copy;
    struct map_region region[MAP_BUFFER_REGIONS];
} map_buffer;

void map_buffer_flush(void); /* they go into the map */
void map_buffer_copy_again(
    void);                   /* as they are now: into the copy, or a new one where it is NULL */
void map_buffer_clear(void); /* there are none; the copy stays */
struct segment *map_buffer_take_copy(void); /* NULL: there is no room */

ALWAYS_INLINE void map_note_bytes(void)
{
    struct map_sum *sum = map.sum;
    uint64_t bytes = map.maps.called_bytes + map_buffer.bytes;
    atomic_store_explicit(&sum->bytes, bytes, memory_order_relaxed);
    if (unlikely(bytes > atomic_load_explicit(&sum->peak_bytes, memory_order_relaxed)))
        atomic_store_explicit(&sum->peak_bytes, bytes, memory_order_relaxed);
}

/* What stands in the copy from now on: nothing, if it is that. */
ALWAYS_INLINE void map_buffer_write(uint32_t slot_index, const struct map_region *r)
{
    struct segment *s = likely(map_buffer.copy) ? map_buffer.copy : map_buffer_take_copy();
    if (unlikely(!s))
        return;
    struct map_region *to = (struct map_region *)segment_items(s) + slot_index;
    uint32_t epoch = copy_begin(s);
    if (r)
        *to = *r;
    else
        to->start = to->end = 0;
    copy_end(s, epoch);
}

ALWAYS_INLINE bool map_buffer_is_in(uint32_t i, uint64_t start, uint64_t end)
{
    return unlikely(map_buffer.end[i] > start) && map_buffer.start[i] < end;
}

static_assert(MAP_BUFFER_REGIONS == 4, "asked one after the other, without a loop");

/* false: something lies there, as far as is known. */
ALWAYS_INLINE bool map_buffer_add(const struct map_region *r)
{
    uint64_t start = r->start, end = r->end;
    if (unlikely(map_buffer.present == MAP_BUFFER_SLOTS))
        map_buffer_flush();
    if (unlikely(!maps_is_free(&map.maps, start, end)) || map_buffer_is_in(0, start, end) ||
        map_buffer_is_in(1, start, end) || map_buffer_is_in(2, start, end) ||
        map_buffer_is_in(3, start, end))
        return false;
    uint32_t slot_index = (uint32_t)__builtin_ctz(~map_buffer.present);
    map_buffer.start[slot_index] = start;
    map_buffer.end[slot_index] = end;
    map_buffer.region[slot_index] = *r;
    map_buffer.present |= 1u << slot_index;
    map_buffer.bytes += end - start;
    map_buffer_write(slot_index, r);
    return true;
}

ALWAYS_INLINE void map_buffer_drop(uint32_t slot_index)
{
    map_buffer.present &= ~(1u << slot_index);
    map_buffer.start[slot_index] = map_buffer.end[slot_index] = 0;
}

/* false: none is just this. */
ALWAYS_INLINE bool map_buffer_take(uint64_t start, uint64_t end, struct map_region *out)
{
    for (uint32_t i = 0; i < MAP_BUFFER_REGIONS; i++) {
        if (map_buffer.start[i] != start || map_buffer.end[i] != end)
            continue;
        *out = map_buffer.region[i];
        map_buffer.bytes -= end - start;
        map_buffer_drop(i);
        map_buffer_write(i, NULL);
        return true;
    }
    return false;
}

#endif
