/*
 * mapped_copy.c - the copy of the mapping table in the run file: one segment for each leaf, written
 * after each change, so that it outlives a process that is killed. Each segment is a seqlock: its
 * epoch is odd while it is written.
 */
#include "mapped_priv.h"

#include <string.h>

static struct map_sum unrecorded; /* used if the run file has no room */

/* NULL: the leaf is no longer in use, or there is no room. */
static struct segment *copy_of(uint32_t number, uint32_t *slots_mask)
{
    struct segment *s = map.copy[number];
    if (s || !map.maps.leaf[number].count)
        return s;
    s = segment_take(SEGMENT_MAPPINGS, MAP_LEAF_REGIONS, sizeof(struct map_region), number);
    map.partial |= !s;
    if (!s)
        return NULL;
    /* Many of the slots are empty. */
    atomic_store_explicit(&s->count, MAP_LEAF_REGIONS, memory_order_relaxed);
    *slots_mask = UINT32_MAX;
    return s;
}

static void copy_slots(struct map_region *to, const struct map_leaf *l, uint32_t slots_mask)
{
    static const struct map_region none;
    for (; slots_mask; slots_mask &= slots_mask - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(slots_mask);
        to[i] = l->used >> i & 1 ? l->region[i] : none;
    }
}

static void copy_leaf(uint32_t number, uint32_t slots_mask)
{
    struct segment *s = copy_of(number, &slots_mask);
    if (!s)
        return;
    uint32_t epoch = copy_begin_again(s);
    copy_slots(segment_items(s), &map.maps.leaf[number], slots_mask);
    copy_end(s, epoch);
    if (map.copy[number])
        return;
    if (number >= map.copies)
        map.copies = number + 1;
    map.copy[number] = s;
    segment_publish(s);
}

/* Fences for a signal handler of this thread, which may leave by siglongjmp at any instruction. */
static void set_copying(bool copying)
{
    atomic_signal_fence(memory_order_seq_cst);
    map.copying = copying;
    atomic_signal_fence(memory_order_seq_cst);
}

void map_copy_changed(void)
{
    set_copying(true);
    while (map.maps.changed) {
        uint32_t slots_mask, number = maps_next_changed(&map.maps, &slots_mask);
        copy_leaf(number - 1, slots_mask);
    }
    set_copying(false);
}

void map_copy_none(void)
{
    set_copying(true);
    for (uint32_t i = 0; i < map.copies; i++)
        map.copy[i] = NULL;
    map.copies = 0;
}

void map_copy_all(void)
{
    for (uint32_t i = 0; i < map.maps.made; i++)
        copy_leaf(i, UINT32_MAX);
    set_copying(false);
}

/* Segments that no leaf needs now become empty. */
void map_copy_rebuild(void)
{
    set_copying(true);
    maps_forget_changes(&map.maps); /* a change may have been taken, but not copied */
    for (uint32_t i = 0; i < map.maps.made || i < map.copies; i++) {
        struct segment *s = map.copy[i];
        if (i < map.maps.made)
            copy_leaf(i, UINT32_MAX);
        else if (s) {
            uint32_t epoch = copy_begin_again(s);
            memset(segment_items(s), 0, MAP_LEAF_REGIONS * sizeof(struct map_region));
            copy_end(s, epoch);
        }
        if (s)
            segment_publish(s); /* its publication may have been interrupted */
    }
    set_copying(false);
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
