/*
 * mapped_copy.c - the copy of the map of what is mapped, in the run file: each leaf a segment, written behind
 * each change, so that it outlives a process that is killed.
 */
#include "mapped_priv.h"

#include <string.h>

static struct map_sum unrecorded; /* where the run file has no room */

#define YOUNG_INDEX UINT32_MAX /* no leaf's */

/* Odd while it is changed: for a reader who looks meanwhile. */
static uint32_t begin_copy(struct segment *s)
{
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, epoch + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    return epoch;
}

static void end_copy(struct segment *s, uint32_t epoch)
{
    atomic_store_explicit(&s->epoch, epoch + 2, memory_order_release);
}

/* NULL: it is in use no more, or there is no room. */
static struct segment *copy_of(uint32_t number, uint32_t *places)
{
    struct segment *s = map.copy[number];
    if (s || !map.maps.leaf[number].count)
        return s;
    s = segment_take(SEGMENT_MAPPINGS, MAP_LEAF_REGIONS, sizeof(struct map_region), number);
    if (!s)
        return NULL;
    atomic_store_explicit(&s->count, MAP_LEAF_REGIONS, memory_order_relaxed); /* of which many are empty */
    *places = UINT32_MAX;
    return s;
}

static void copy_places(struct map_region *to, const struct map_leaf *l, uint32_t places)
{
    static const struct map_region none;
    for (; places; places &= places - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(places);
        to[i] = l->used >> i & 1 ? l->region[i] : none;
    }
}

static void copy_leaf(uint32_t number, uint32_t places)
{
    struct segment *s = copy_of(number, &places);
    if (!s)
        return;
    uint32_t epoch = begin_copy(s);
    copy_places(segment_items(s), &map.maps.leaf[number], places);
    end_copy(s, epoch);
    if (!map.copy[number])
        segment_publish(s);
    map.copy[number] = s;
}

/* The places that the map's ranges have come from are empty behind it. */
static struct segment *take_young(void)
{
    struct segment *s = segment_take(SEGMENT_MAPPINGS, MAP_YOUNG, sizeof(struct map_region), YOUNG_INDEX);
    if (!s)
        return NULL;
    atomic_store_explicit(&s->count, MAP_YOUNG, memory_order_relaxed);
    segment_publish(s);
    return map.young_copy = s;
}

void map_copy_young(uint32_t place, const struct map_region *r)
{
    struct segment *s = likely(map.young_copy) ? map.young_copy : take_young();
    if (unlikely(!s))
        return;
    struct map_region *to = (struct map_region *)segment_items(s) + place;
    uint32_t epoch = begin_copy(s);
    if (r)
        *to = *r;
    else
        to->start = to->end = 0;
    end_copy(s, epoch);
}

void map_copy_changed(void)
{
    while (map.maps.changed) {
        uint32_t places, number = maps_next_changed(&map.maps, &places);
        copy_leaf(number - 1, places);
    }
}

/* The present one is another image's. */
void map_copy_all(void)
{
    if (map.copy)
        memset(map.copy, 0, map.maps.made * sizeof map.copy[0]);
    for (uint32_t i = 0; i < map.maps.made; i++)
        copy_leaf(i, UINT32_MAX);
}

void map_take_sum(uint32_t flags)
{
    struct segment *s = segment_take(SEGMENT_MAP_SUM, 1, sizeof *map.sum, 0);
    memset((void *)&unrecorded, 0, sizeof unrecorded);
    map.sum = s ? segment_items(s) : &unrecorded;
    map.sum->flags = flags;
    map.sum->first_call = map.calls + 1;
    if (!s)
        return;
    atomic_store_explicit(&s->count, 1, memory_order_relaxed);
    segment_publish(s);
}
