/*
 * map_buffer.h - write buffer of the mapping table: the part that calls execute in line.
 *
 * Many ranges are unmapped soon after they were mapped; these never enter the table. The buffer
 * holds the last few ranges. Each has a slot in a segment of the run file. All are flushed into the
 * table together, when the buffer is full, or when a caller needs more than an exact match.
 *
 * A range in the buffer overlaps no other, neither in the table nor in the buffer. So the order of
 * the flush does not matter, and removing one uncovers nothing in the table. (If the table has a
 * range there, that was unmapped unseen: for example by an mremap that moved only some of several
 * mappings.)
 */
#ifndef MAP_BUFFER_H
#define MAP_BUFFER_H

#include "mapped_priv.h"

#define MAP_BUFFER_REGIONS 4u
#define MAP_BUFFER_SLOTS ((1u << MAP_BUFFER_REGIONS) - 1)

extern HIDDEN struct map_buffer {
    alignas(64) uint64_t start[MAP_BUFFER_REGIONS],
        end[MAP_BUFFER_REGIONS]; /* in one cache line; 0: the slot is empty */
    uint64_t bytes;
    uint32_t present; /* bit n: slot n is used */
    struct segment *copy;
    struct map_region region[MAP_BUFFER_REGIONS];
} map_buffer;

void map_buffer_flush(void); /* flush all ranges into the table */
/* Write all ranges into the copy, or into a new one if it is NULL. */
void map_buffer_copy_again(void);
void map_buffer_clear(void);                /* remove all ranges; the copy stays */
struct segment *map_buffer_take_copy(void); /* NULL: there is no room */

ALWAYS_INLINE void map_note_bytes(void)
{
    struct map_sum *sum = map.sum;
    uint64_t bytes = map.maps.called_bytes + map_buffer.bytes;
    atomic_store_explicit(&sum->bytes, bytes, memory_order_relaxed);
    if (unlikely(bytes > atomic_load_explicit(&sum->peak_bytes, memory_order_relaxed)))
        atomic_store_explicit(&sum->peak_bytes, bytes, memory_order_relaxed);
}

/* Write a slot of the copy; r == NULL: the slot becomes empty. */
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

/* false: it overlaps a range that is known. */
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

/* Take out the range with exactly these bounds; false: there is none. */
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
