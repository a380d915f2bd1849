/*
 * mapped_begin.c - where the map of what is mapped comes from: at first from the kernel, in a forked child from its
 * parent.  And the end of one that was being changed when that was left.
 */
#include "mapped_young.h"

#include <string.h>

#define REGIONS_MOST 65536u /* as many as Linux allows, if nobody tells it otherwise */
#define REGIONS_LEAST 1024u

/* Storage, and behind it room for what becomes of the leaves' copies. */
static bool make_room(uint32_t regions)
{
    size_t bytes = align_up(maps_bytes(regions), PAGE_BYTES);
    char *at = os_map(bytes + align_up(bytes / sizeof(struct map_leaf) * sizeof map.copy[0], PAGE_BYTES));
    if (os_failed(at))
        return false;
    maps_init(&map.maps, at, bytes);
    map.copy = (struct segment **)(void *)(at + bytes);
    return true;
}

void map_begin(void)
{
    uint32_t regions = REGIONS_MOST;
    while (!map.copy && !make_room(regions) && regions > REGIONS_LEAST)
        regions /= 8;
    if (!map.copy)
        maps_init(&map.maps, NULL, 0); /* there is room for nothing */
    else
        memset(map.copy, 0, map.maps.room * sizeof map.copy[0]); /* it was made before: a parent's */
    young_forget();
    map_take_sum(0);
    if (!map_read_all())
        map.sum->flags |= MAP_SUM_KNOWN;
    map.copied = true;
    atomic_store(&map.begun, true);
    atomic_store(&map.ready, true);
}

void map_begin_again(void)
{
    map.copied = true;
    map_take_sum(map.sum->flags & ~MAP_SUM_COMPARED);
    map_note_bytes();
    map_copy_all();
    young_copy_again();
}

/* It was being changed, and is made anew. */
static void forget(void)
{
    maps_init(&map.maps, map.maps.leaf, map.maps.room * (sizeof(struct map_leaf) + sizeof(uint32_t)));
    atomic_store(&map.ready, false);
    map.copied = false;
}

void mapped_abandon(void)
{
    if (lock_is_mine(&map.lock))
        forget();
}

void mapped_after_fork(void)
{
    if (atomic_load(&map.lock.word))
        forget(); /* by somebody of the parent's */
    map.copied = false;
    lock_reset(&map.lock);
    atomic_store(&map.held_up, false);
}
