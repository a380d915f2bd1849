/*
 * read.c - read the areas of one image: blocks in use by site, errors, and texts.
 *
 * Areas are read one at a time. Each is verified in a private copy that is dropped afterwards, so
 * the records of a large program need not fit in memory twice. read_blocks.c, read_leaks.c and
 * read_maps.c read their own kinds of segments; errors, costs and texts are read here.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

#define READ_TRIES 3 /* a running image may change an area while it is read */

/* ---- errors, costs, texts -------------------------------------------------------------------- */

/*
 * Copy the error records. Their stacks and threads may be in later areas, so they are resolved
 * after all areas are read.
 */
static void read_errors(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct error_record *e = segment_item(s, i);
        if (atomic_load_explicit(&e->kind, memory_order_relaxed) == ERROR_NONE)
            continue;
        rd->errors = grow(rd->errors, rd->error_count, sizeof *rd->errors);
        memcpy(&rd->errors[rd->error_count++], e, sizeof *e);
    }
}

static void read_crashes(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        rd->crashes = grow(rd->crashes, rd->crash_count, sizeof *rd->crashes);
        memcpy(&rd->crashes[rd->crash_count++], segment_item(s, i), sizeof *rd->crashes);
    }
}

/* Store one piece of the program's own suppressions. Pieces may come in any order. */
static void read_own(struct reading *rd, const struct text_record *text)
{
    if (text->piece >= TEXT_PIECES_MAX)
        return;
    for (; rd->own_count <= text->piece; rd->own_count++) {
        rd->own = grow(rd->own, rd->own_count, sizeof *rd->own);
        rd->own[rd->own_count] = NULL;
    }
    free(rd->own[text->piece]);
    rd->own[text->piece] = xalloc(strdup(text->text));
}

void take_own(struct reading *rd)
{
    if (rd->own_count > 0)
        own_text_take(rd->report, rd->image, rd->own, rd->own_count);
    for (uint32_t i = 0; i < rd->own_count; i++)
        free(rd->own[i]);
    free(rd->own);
}

static void read_texts(struct reading *rd, const struct segment *s)
{
    struct image *image = rd->image;
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct text_record *text = segment_item(s, i);
        if (text->kind == TEXT_SUPPRESSIONS)
            read_own(rd, text);
        if (text->kind != TEXT_UNKNOWN_SETTING || rd->what != READ_ALL)
            continue;
        image->unknown_settings =
            grow(image->unknown_settings, image->unknown_count, sizeof(char *));
        image->unknown_settings[image->unknown_count++] = xalloc(strdup(text->text));
    }
}

static void read_costs(struct reading *rd, const struct segment *s)
{
    if (atomic_load_explicit(&s->count, memory_order_relaxed) > 0)
        memcpy((void *)&rd->costs, segment_item(s, 0), sizeof rd->costs);
}

/* ---- areas ----------------------------------------------------------------------------------- */

/* Readers of each kind of segment for READ_ALL. */
static void (*const readers[])(struct reading *, const struct segment *) = {
    [SEGMENT_SLAB] = read_slab,
    [SEGMENT_LARGE] = read_large,
    [SEGMENT_CLIENT_BLOCKS] = read_client_blocks,
    [SEGMENT_THREADS] = read_threads,
    [SEGMENT_ERRORS] = read_errors,
    [SEGMENT_LEAKS] = note_leaks,
    [SEGMENT_ROOTS] = read_roots,
    [SEGMENT_MAPPINGS] = read_mappings,
    [SEGMENT_MAP_SUM] = read_map_sum,
    [SEGMENT_MARKS] = read_marks,
    [SEGMENT_DISPATCHED] = read_dispatched,
    [SEGMENT_COSTS] = read_costs,
    [SEGMENT_CRASHES] = read_crashes,
    [SEGMENT_OBJECTS] = read_objects,
};

/* Read the segments of a check in mid-run. `at`: the segment's offset in the file. */
static void read_of_check(struct reading *rd, const struct segment *s, uint64_t at)
{
    if (s->kind == SEGMENT_LEAK_CHECKS)
        read_check(rd, s, at);
    else if (s->kind == SEGMENT_CHECK_LEAKS || s->kind == SEGMENT_LEAKS)
        note_leaks(rd, s);
    else if (s->kind == SEGMENT_CHECK_ROOTS)
        read_roots(rd, s);
}

static void read_segment(struct reading *rd, const struct segment *s, uint64_t at)
{
    if (atomic_load_explicit(&s->state, memory_order_relaxed) != SEGMENT_CURRENT)
        return;
    if (s->kind == SEGMENT_TEXTS)
        read_texts(rd, s);
    if (map_read_segment(rd->report, rd->image, s) || rd->what == READ_MAP)
        return;
    if (rd->what == READ_CHECK)
        read_of_check(rd, s, at);
    else if (s->kind < countof(readers) && readers[s->kind])
        readers[s->kind](rd, s);
}

static void note_bad(struct report *r, uint32_t area, uint32_t image, struct verify_error wrong)
{
    for (uint32_t i = 0; i < r->bad_count; i++)
        if (r->bad[i].area == area && r->bad[i].image == image)
            return;
    r->bad = grow(r->bad, r->bad_count, sizeof r->bad[0]);
    r->bad[r->bad_count++] = (struct bad_area){area, image, wrong.what, wrong.offset};
}

bool read_good_area(struct report *r, const struct image *image, uint32_t area,
                    struct area_copy *copy)
{
    struct verify_error wrong = {"area cannot be read", area_offset(r->view.run, area)};

    for (int tries = 0; tries < READ_TRIES; tries++) {
        if (view_read_area(&r->view, area, copy))
            break;
        if (view_verify_area(&r->view, area, copy, &wrong))
            return true;
        area_copy_drop(copy);
        if (image->gone)
            break;
    }
    note_bad(r, area, image->number, wrong);
    return false;
}

bool area_is_of(const struct report *r, uint32_t area, uint32_t number)
{
    uint64_t owner =
        atomic_load_explicit(&view_area_entry(&r->view, area)->owner, memory_order_relaxed);
    return owner == area_owner(AREA_CLAIMED, number);
}

/*
 * Read an area of the image. If its first area, which has the image's header, is damaged, the image
 * is refused.
 */
static bool read_own_area(struct reading *rd, uint32_t area, struct area_copy *copy)
{
    bool good = read_good_area(rd->report, rd->image, area, copy);

    if (!good && rd->what == READ_ALL && area == rd->image->first_area)
        rd->image->refused = true;
    return good;
}

void read_areas(struct reading *rd)
{
    struct report *r = rd->report;

    for (uint32_t area = 1; area < view_area_end(&r->view); area++) {
        struct area_copy copy;
        const struct segment *s;
        uint64_t off = 0;
        if (!area_is_of(r, area, rd->image->number) || !read_own_area(rd, area, &copy))
            continue;
        rd->area = area;
        if (copy_image(&copy))
            image_update(rd->image, copy_image(&copy));
        while ((s = copy_next_segment(&copy, &off)))
            read_segment(rd, s,
                         area_offset(r->view.run, area) + (uint64_t)((const char *)s - copy.at));
        area_copy_drop(&copy);
    }
}

void orphans_check(struct report *r)
{
    for (uint32_t area = 1; area < view_area_end(&r->view); area++) {
        uint64_t owner =
            atomic_load_explicit(&view_area_entry(&r->view, area)->owner, memory_order_relaxed);
        struct image unread = {.number = area_owner_image(owner)};
        struct area_copy copy;
        if (area_owner_state(owner) == AREA_CLAIMED && !image_of(r, unread.number) &&
            read_good_area(r, &unread, area, &copy))
            area_copy_drop(&copy);
    }
}

/*
 * Read the map of an image. A running image may add to its map later, but reading it once per round
 * is enough.
 */
void image_read_map(struct report *r, struct image *image)
{
    struct reading rd = {.report = r, .image = image, .what = READ_MAP};

    if (image->absorbed || image->map_tried)
        return;
    image->map_tried = true;
    image->thread_count = 0;
    read_areas(&rd);
    take_own(&rd);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Add the image's costs. A realloc was counted both as an allocation and as a free. */
static void take_costs(struct reading *rd)
{
    uint64_t allocs = rd->image->allocs, frees = rd->image->frees, both = rd->reallocs;
    const uint64_t calls[COST_OPERATION_COUNT] = {[COST_ALLOCATE] =
                                                      allocs > both ? allocs - both : 0,
                                                  [COST_FREE] = frees > both ? frees - both : 0,
                                                  [COST_RESIZE] = both};

    own_cost_add(&rd->report->own_cost, &rd->costs, calls);
}

void image_collect(struct report *r, struct image *image)
{
    struct reading rd = {.report = r, .image = image};

    if (image->collected)
        return;
    image->collected = true;
    image->map_tried = true;
    image->thread_count = 0;
    read_areas(&rd);
    take_blocks(&rd);
    take_costs(&rd);
    image->error_sites = rd.error_count;
    errors_take(r, &rd);
    take_own(&rd);
    take_leaks(&rd);
    take_regions(&rd);
    take_mapped(&rd);
    take_objects(&rd);
    free(rd.errors);
    free(rd.crashes);
    free(rd.objects);
}
