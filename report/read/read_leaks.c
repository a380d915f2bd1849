/*
 * read_leaks.c - leak groups of an image, from its end or from a leak check in mid-run.
 *
 * Groups refer to roots by number and to stacks through the map. So the areas with groups are only
 * noted at first, and read again when roots and map are known.
 */
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

/* Root numbers count through all chunks in order of their index. Chunks may come in any order. */
struct chunk_root {
    uint64_t chunk;
    uint64_t epoch; /* number of the check */
    uint32_t root_index;
    struct root_record root;
};

/*
 * Note an area with leak groups. Copies of all groups could be as large as all stacks, so the area
 * is read again instead.
 */
void note_leaks(struct reading *rd, const struct segment *s)
{
    uint32_t count = rd->leak_area_count;

    (void)s; /* the whole area is read again */
    if (count > 0 && rd->leak_areas[count - 1] == rd->area)
        return;
    rd->leak_areas = grow(rd->leak_areas, count, sizeof rd->leak_areas[0]);
    rd->leak_areas[rd->leak_area_count++] = rd->area;
}

void read_roots(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count && rd->root_count < LEAKS_MAX; i++) {
        struct chunk_root *root;
        rd->roots = grow(rd->roots, rd->root_count, sizeof *rd->roots);
        root = &rd->roots[rd->root_count++];
        root->chunk = s->index;
        root->epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
        root->root_index = i;
        memcpy(&root->root, segment_item(s, i), sizeof root->root);
    }
}

void read_check(struct reading *rd, const struct segment *s, uint64_t at)
{
    const struct leak_check_record *check = segment_item(s, 0);

    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0 ||
        atomic_load_explicit(&check->reported, memory_order_relaxed) != 0 ||
        (check->flags & LEAK_CHECK_REQUESTED) != rd->requested)
        return;
    memcpy((void *)&rd->check, (const void *)check, sizeof rd->check);
    rd->check_at = at + sizeof *s;
}

static int by_chunk(const void *a_, const void *b_)
{
    const struct chunk_root *a = a_, *b = b_;

    if (a->chunk != b->chunk)
        return a->chunk < b->chunk ? -1 : 1;
    return a->root_index < b->root_index ? -1 : a->root_index > b->root_index;
}

/* Leave out the roots of other checks, which other processes may have requested. */
static void roots_select(struct reading *rd)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rd->root_count; i++)
        if (rd->roots[i].epoch == atomic_load_explicit(&rd->check.number, memory_order_relaxed))
            rd->roots[n++] = rd->roots[i];
    rd->root_count = n;
}

/* Sort the roots: root number n is at index n - 1. */
static struct root_record *roots_in_order(struct reading *rd)
{
    if (rd->what == READ_CHECK)
        roots_select(rd);
    struct root_record *roots = xalloc(calloc((size_t)rd->root_count + 1, sizeof *roots));

    if (rd->root_count > 0)
        qsort(rd->roots, rd->root_count, sizeof *rd->roots, by_chunk);
    for (uint32_t i = 0; i < rd->root_count; i++)
        memcpy(&roots[i], &rd->roots[i].root, sizeof roots[i]);
    return roots;
}

static void take_groups(struct reading *rd, const struct segment *s,
                        const struct root_record *roots)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    bool at_end = rd->what != READ_CHECK || rd->check.flags & LEAK_CHECK_AT_END;
    enum segment_kind wanted = at_end ? SEGMENT_LEAKS : SEGMENT_CHECK_LEAKS;

    if (s->kind != wanted ||
        atomic_load_explicit(&s->state, memory_order_relaxed) != SEGMENT_CURRENT ||
        (!at_end && atomic_load_explicit(&s->epoch, memory_order_relaxed) !=
                        atomic_load_explicit(&rd->check.number, memory_order_relaxed)))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct leak_group *g = segment_item(s, i);
        if (rd->check.flags & LEAK_CHECK_NEW && g->new_blocks == 0)
            continue; /* the check requested only new leaks */
        leak_take(rd->report, rd->image, g, roots, rd->root_count);
    }
}

/*
 * Take the leak groups. If the record of a completed check is missing, the groups were still being
 * written and are ignored.
 */
void take_leaks(struct reading *rd)
{
    struct root_record *roots = roots_in_order(rd);

    for (uint32_t i = 0; leak_check_was_made(rd->image->leak_check) && i < rd->leak_area_count;
         i++) {
        struct area_copy copy;
        const struct segment *s;
        uint64_t off = 0;
        if (!read_good_area(rd->report, rd->image, rd->leak_areas[i], &copy))
            continue;
        while ((s = copy_next_segment(&copy, &off)))
            take_groups(rd, s, roots);
        area_copy_drop(&copy);
    }
    free(roots);
    free(rd->roots);
    free(rd->leak_areas);
}

bool image_read_check(struct report *r, struct image *image, bool requested,
                      struct leak_check_record *check, uint64_t *at)
{
    struct reading rd = {.report = r,
                         .image = image,
                         .what = READ_CHECK,
                         .requested = requested ? LEAK_CHECK_REQUESTED : 0};

    image->map_tried = true; /* a second read would reset it to its header */
    image->thread_count = 0;
    read_areas(&rd);
    memcpy((void *)check, (const void *)&rd.check, sizeof *check);
    *at = rd.check_at;
    take_own(&rd);
    image->leak_check = check->result < LEAKS_CHECK_COUNT ? check->result : LEAKS_CHECK_COUNT;
    image->threads_not_stopped = check->threads_not_stopped;
    image->threads_waiting = check->threads_waiting < check->threads_not_stopped
                                 ? check->threads_waiting
                                 : check->threads_not_stopped;
    take_leaks(&rd); /* does nothing if no check was made */
    return atomic_load_explicit(&check->number, memory_order_relaxed) != 0;
}
