/*
 * mapped_begin.c - how the mapping table is made. The first table comes from the kernel's list, and
 * a forked child's from its parent's. After a siglongjmp out of a change it comes from its own
 * copy.
 *
 * The copy is written leaf by leaf after each change, and map.copying is set meanwhile. If a change
 * is abandoned while it is not set, a new table is made from the copy, which is the state before
 * that change. If it is set, the change was complete, and the table is valid. Ranges that the
 * abandoned call has mapped, or not yet unmapped, are found later by a comparison with the kernel's
 * list, without their caller. If part of the copy had no room, the table is made from the kernel's
 * list again.
 */
#include "map_buffer.h"

#define REGIONS_MOST 65536u /* Linux's default limit of mappings */
#define REGIONS_LEAST 1024u

/* Map storage for the table, and after it the array of the leaves' copies. */
static bool make_room(uint32_t regions)
{
    size_t bytes = align_up(maps_bytes(regions), PAGE_BYTES);
    char *at =
        os_map(bytes + align_up(bytes / sizeof(struct map_leaf) * sizeof map.copy[0], PAGE_BYTES));
    if (os_failed(at))
        return false;
    maps_init(&map.maps, at, bytes);
    map.copy = (struct segment **)(void *)(at + bytes);
    return true;
}

static void clear(void)
{
    maps_init(&map.maps, map.maps.leaf,
              map.maps.room * (sizeof(struct map_leaf) + sizeof(uint32_t)));
    map_buffer_clear();
}

static void begin_first(void)
{
    uint32_t regions = REGIONS_MOST;
    while (!map.copy && !make_room(regions) && regions > REGIONS_LEAST)
        regions /= 8;
    map_copy_none(); /* the array may be a parent's */
    clear();
    map_buffer.copy = NULL;
    map_take_sum(0);
    if (!map_read_all())
        map.sum->flags |= MAP_SUM_KNOWN;
    map.image = image()->image;
    map.partial = false;
    map_copy_changed();
}

static bool is_copy_being_written(void)
{
    return map.copying || (map_buffer.copy &&
                           atomic_load_explicit(&map_buffer.copy->epoch, memory_order_relaxed) % 2);
}

static void put_copied(struct segment *s)
{
    const struct map_region *r = s ? segment_items(s) : NULL;
    for (uint32_t i = 0; r && i < atomic_load_explicit(&s->count, memory_order_relaxed); i++)
        if (r[i].start < r[i].end && r[i].end <= ADDRESSES_END)
            map_put(&r[i]);
}

/* Some ranges of the write buffer may already be in the table. */
static void rebuild(void)
{
    if (!is_copy_being_written()) {
        clear();
        for (uint32_t i = 0; i < map.copies; i++)
            put_copied(map.copy[i]);
        put_copied(map_buffer.copy);
    }
    map_copy_rebuild();
    map_buffer_copy_again();
    map_buffer_flush();
    map.sum->flags &= ~MAP_SUM_COMPARED;
    map_count(&map.sum->rebuilt, 1);
}

/* An image without a run file has the number 0. */
void map_begin(void)
{
    if (map.sum && !map.partial && map.image == image()->image)
        rebuild();
    else
        begin_first();
    map.copied = true;
    atomic_store(&map.begun, true);
    atomic_store(&map.ready, true);
}

void map_begin_again(void)
{
    map.copied = true;
    map_copy_none();
    map_buffer.copy = NULL;
    map_take_sum(map.sum->flags & ~MAP_SUM_COMPARED);
    /* From here on, if this function is abandoned, a rebuild writes nothing of the parent's. */
    map.image = image()->image;
    map_note_bytes();
    map_copy_all();
    map_buffer_copy_again();
}

/* The table was being changed: make it anew. */
static void forget(void)
{
    atomic_store(&map.ready, false);
    map.copied = false;
}

void mapped_abandon(void)
{
    if (lock_is_held(&map.lock))
        forget();
}

void mapped_after_fork(void)
{
    if (atomic_load(&map.lock.word))
        forget(); /* a thread of the parent held it */
    map.copied = false;
    mapped_forget_unmapped();
    lock_reset(&map.lock);
    atomic_store(&map.has_timed_out, false);
}
