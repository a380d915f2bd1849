/*
 * mapped_young.c - what was mapped last, before it goes into the map.
 *
 * Much of what is mapped is unmapped soon: then it never goes there.  The few last ones lie side by side, and
 * have a segment of their own in the run file, a place for each; they go on into the map together, when there
 * is one too many, or when somebody wants to know more than whether one of them is just this range.
 *
 * Each lies where nothing else does, neither in the map nor among them, so the order in which they go on
 * does not matter, and nothing of the map comes to light when one is unmapped.  (What the map has there has gone, and
 * nobody knew: of several mappings that mremap was to move, say, and did not all.)
 */
#include "mapped_priv.h"

static struct map_region region[MAP_YOUNG]; /* those of map.young */

#define ALL_PLACES ((1u << MAP_YOUNG) - 1)

bool young_add(const struct map_region *r)
{
    if (map.young == ALL_PLACES)
        young_settle();
    const struct map_region *there = maps_find(&map.maps, r->start);
    if (unlikely(there && there->start < r->end))
        return false;
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        if (unlikely(region[i].start < r->end && region[i].end > r->start))
            return false;
    uint32_t place = (uint32_t)__builtin_ctz(~map.young);
    region[place] = *r;
    map.young |= 1u << place;
    map.young_bytes += r->end - r->start;
    map_copy_young(place, r);
    return true;
}

static void drop(uint32_t place)
{
    map.young &= ~(1u << place);
    region[place].start = region[place].end = 0;
}

bool young_take(uint64_t start, uint64_t end, struct map_region *out)
{
    for (uint32_t i = 0; i < MAP_YOUNG; i++) {
        if (region[i].start != start || region[i].end != end)
            continue;
        *out = region[i];
        map.young_bytes -= end - start;
        drop(i);
        map_copy_young(i, NULL);
        return true;
    }
    return false;
}

/* In the copy they are twice for a while, and readers leave out one: better than not at all. */
COLD void young_settle(void)
{
    uint32_t were = map.young;
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        if (were >> i & 1)
            map_put(&region[i]);
    map_copy_changed();
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        if (were >> i & 1) {
            drop(i);
            map_copy_young(i, NULL);
        }
    map.young_bytes = 0;
}

void young_copy_again(void)
{
    map.young_copy = NULL;
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        if (map.young >> i & 1)
            map_copy_young(i, &region[i]);
}

void young_forget(void)
{
    for (uint32_t i = 0; i < MAP_YOUNG; i++)
        drop(i);
    map.young_bytes = 0;
    map.young_copy = NULL;
}
