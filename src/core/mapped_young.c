/*
 * mapped_young.c - the ranges that were mapped last: how they go into the map, and what becomes of their
 * copy.
 */
#include "mapped_young.h"

#define YOUNG_INDEX UINT32_MAX /* no leaf's */

struct young young;

/* In the copy they are twice for a while, and readers leave out one: better than not at all. */
COLD void young_settle(void)
{
    uint32_t were = young.present;
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        if (were >> i & 1)
            map_put(&young.region[i]);
    map_copy_changed();
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        if (were >> i & 1) {
            young_drop(i);
            young_write(i, NULL);
        }
    young.bytes = 0;
}

/* The places that the map's ranges have come from are empty behind it. */
COLD struct segment *young_take_copy(void)
{
    struct segment *s = segment_take(SEGMENT_MAPPINGS, MAP_YOUNG, sizeof(struct map_region), YOUNG_INDEX);
    map.partial |= !s;
    if (!s)
        return NULL;
    atomic_store_explicit(&s->count, MAP_YOUNG, memory_order_relaxed);
    young.copy = s;
    segment_publish(s);
    return s;
}

void young_copy_again(void)
{
    static const struct map_region none;
    struct segment *s = young.copy || !young.present ? young.copy : young_take_copy();
    if (!s)
        return;
    uint32_t epoch = copy_begin_anew(s);
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        ((struct map_region *)segment_items(s))[i] = young.present >> i & 1 ? young.region[i] : none;
    copy_end(s, epoch);
    segment_publish(s); /* it may have been on its way */
}

void young_clear(void)
{
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        young_drop(i);
    young.bytes = 0;
}
