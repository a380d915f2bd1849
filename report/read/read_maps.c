/*
 * read_maps.c - mappings of an image and their callers, marks, and results of events=all.
 */
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

/* Ranges that were being written when the process was killed are invalid and skipped. */
void read_mappings(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    rd->torn |= atomic_load_explicit(&s->epoch, memory_order_relaxed) % 2 != 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct map_region *m = segment_item(s, i);
        if (m->start >= m->end || m->origin == MAP_NOT_RECORDED || m->origin >= MAP_ORIGIN_COUNT)
            continue;
        rd->regions = grow(rd->regions, rd->region_count, sizeof *rd->regions);
        memcpy(&rd->regions[rd->region_count++], m, sizeof *m);
    }
}

void read_map_sum(struct reading *rd, const struct segment *s)
{
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0)
        return;
    memcpy((void *)&rd->image->maps, segment_item(s, 0), sizeof rd->image->maps);
    rd->image->has_maps = true;
}

void read_dispatched(struct reading *rd, const struct segment *s)
{
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0)
        return;
    memcpy((void *)&rd->image->dispatched, segment_item(s, 0), sizeof rd->image->dispatched);
    rd->image->has_dispatched = true;
}

void read_marks(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);
    struct image *image = rd->image;

    for (uint32_t i = 0; i < count; i++) {
        image->mark_records =
            grow(image->mark_records, image->mark_count, sizeof *image->mark_records);
        memcpy(&image->mark_records[image->mark_count++], segment_item(s, i),
               sizeof *image->mark_records);
    }
}

static int by_start(const void *a_, const void *b_)
{
    const struct map_region *a = a_, *b = b_;

    return a->start < b->start ? -1 : a->start > b->start;
}

/* Bytes mapped by calls of this image, without those inherited from ancestors. */
static uint64_t own_bytes(const struct image *image)
{
    uint64_t inherited = 0;

    for (uint32_t i = 0; i < image->region_count; i++)
        if (region_is_inherited(image, &image->regions[i]))
            inherited += image->regions[i].end - image->regions[i].start;
    return image->maps.bytes > inherited ? image->maps.bytes - inherited : 0;
}

/* Sort the ranges. Of overlapping ranges, which a kill can leave, the first is kept. */
void take_regions(struct reading *rd)
{
    struct image *image = rd->image;
    uint64_t end = 0;

    if (rd->region_count > 0)
        qsort(rd->regions, rd->region_count, sizeof *rd->regions, by_start);
    for (uint32_t i = 0; i < rd->region_count; i++) {
        if (rd->regions[i].start < end)
            continue;
        end = rd->regions[i].end;
        rd->regions[image->region_count++] = rd->regions[i];
    }
    image->regions = rd->regions;
    image->regions_torn = rd->torn;
    image->mapped_bytes = own_bytes(image);
    if (!rd->report->wants_regions)
        return;
    image->region_sites =
        xalloc(calloc((size_t)image->region_count + 1, sizeof *image->region_sites));
    for (uint32_t i = 0; i < image->region_count; i++) {
        uint32_t stack = image->regions[i].stack;
        image->region_sites[i] = stack ? site_of_stack(rd->report, image, stack) : NO_SITE;
    }
}

static int by_call(const void *a_, const void *b_)
{
    const struct map_region *a = *(const struct map_region *const *)a_,
                            *b = *(const struct map_region *const *)b_;

    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

/*
 * Take the image's own mappings, if its map was compared with the kernel's at the end: then none is
 * missing.
 */
void take_mapped(struct reading *rd)
{
    struct image *image = rd->image;
    const struct map_region **list;
    uint32_t count = 0;

    if (!rd->report->wants_mapped || !(image->maps.flags & MAP_SUM_COMPARED) ||
        image_was_replaced(image))
        return;
    list = xalloc(calloc((size_t)image->region_count + 1, sizeof *list));
    for (uint32_t i = 0; i < image->region_count; i++) {
        const struct map_region *m = &image->regions[i];
        if (m->origin == MAP_CALLED && !region_is_inherited(image, m))
            list[count++] = m;
    }
    qsort(list, count, sizeof *list, by_call);
    for (uint32_t i = 0; i < count; i++)
        mapping_take(rd->report, image, list[i],
                     i == 0 || list[i]->call == 0 || list[i]->call != list[i - 1]->call);
    free(list);
}
