/*
 * map_buffer.c - write buffer of the mapping table: flushes into the table, and the buffer's copy
 * in the run file. Called with map.lock held.
 */
#include "map_buffer.h"

#define MAP_BUFFER_INDEX UINT32_MAX /* not a leaf's number */

struct map_buffer map_buffer;

/*
 * Until the end the copy holds the ranges twice, and readers drop one: better than a time without
 * them.
 */
COLD void map_buffer_flush(void)
{
    uint32_t were = map_buffer.present;
    for (uint32_t i = 0; i < MAP_BUFFER_REGIONS; i++)
        if (were >> i & 1)
            map_put(&map_buffer.region[i]);
    map_copy_changed();
    for (uint32_t i = 0; i < MAP_BUFFER_REGIONS; i++)
        if (were >> i & 1) {
            map_buffer_drop(i);
            map_buffer_write(i, NULL);
        }
    map_buffer.bytes = 0;
}

/* Take a segment for the copy. Its slots start empty. */
COLD struct segment *map_buffer_take_copy(void)
{
    struct segment *s = segment_take(SEGMENT_MAPPINGS, MAP_BUFFER_REGIONS,
                                     sizeof(struct map_region), MAP_BUFFER_INDEX);
    map.partial |= !s;
    if (!s)
        return NULL;
    atomic_store_explicit(&s->count, MAP_BUFFER_REGIONS, memory_order_relaxed);
    map_buffer.copy = s;
    segment_publish(s);
    return s;
}

void map_buffer_copy_again(void)
{
    static const struct map_region none;
    struct segment *s =
        map_buffer.copy || !map_buffer.present ? map_buffer.copy : map_buffer_take_copy();
    if (!s)
        return;
    uint32_t epoch = copy_begin_again(s);
    for (uint32_t i = 0; i < MAP_BUFFER_REGIONS; i++)
        ((struct map_region *)segment_items(s))[i] =
            map_buffer.present >> i & 1 ? map_buffer.region[i] : none;
    copy_end(s, epoch);
    segment_publish(s); /* its publication may have been interrupted */
}

void map_buffer_clear(void)
{
    for (uint32_t i = 0; i < MAP_BUFFER_REGIONS; i++)
        map_buffer_drop(i);
    map_buffer.bytes = 0;
}
