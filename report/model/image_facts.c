/*
 * image_facts.c - what the images of a run are, their numbers, and their sums.
 */
#include <stdlib.h>

#include "model.h"

bool image_was_replaced(const struct image *image)
{
    return image->has_exec_successor ||
           (image->state == IMAGE_ENDING && image->end_how == END_EXEC);
}

/* Without a launcher, a program started by exec has a run file of its own. */
bool image_was_lost(const struct report *r, const struct image *image)
{
    return r->view.run->mode == RUN_BY_LAUNCHER && image_was_replaced(image) &&
           !image->has_exec_successor;
}

bool image_is_checked(const struct image *image)
{
    return (image->flags & IMAGE_IN_CONTROL) && !(image->flags & IMAGE_OWN_MALLOC) &&
           !image->refused;
}

struct image *image_main(const struct report *r)
{
    struct image *root = r->images;

    while (root && root->how != IMAGE_ROOT)
        root = root->hh.next;
    for (struct image *later = root ? root->hh.next : NULL; later; later = later->hh.next)
        if (root->has_exec_successor && later->how == IMAGE_EXEC &&
            image_is_of_process(later, root))
            root = later;
    return root ? root : r->images;
}

struct totals totals_of(const struct report *r)
{
    struct totals t = {0};

    for (const struct image *image = r->images; image; image = image->hh.next) {
        t.processes += !image->has_exec_successor;
        t.allocs += image->allocs;
        t.alloc_bytes += image->alloc_bytes;
        t.frees += image->frees;
        if (image_was_replaced(image))
            continue;
        t.blocks += image->live_blocks;
        t.bytes += image->live_bytes;
    }
    return t;
}

/* The tally in the head includes the images that this report reclaimed. */
struct totals totals_elsewhere(const struct report *r)
{
    const struct run_tally *all = &r->view.run->reclaimed, *absorbed = &r->absorbed;
    struct totals t = {0};

    if (all->images <= absorbed->images)
        return t; /* or a damaged header */
    t.processes = all->images - absorbed->images;
    t.allocs = all->allocs - absorbed->allocs;
    t.frees = all->frees - absorbed->frees;
    t.blocks = all->live_blocks - absorbed->live_blocks;
    t.bytes = all->live_bytes - absorbed->live_bytes;
    return t;
}

/* ---- which images ---------------------------------------------------------------------------- */

void image_numbers_add(struct image_numbers *images, uint32_t number)
{
    if (images->count > 0 && images->at[images->count - 1] == number)
        return;
    images->at = grow(images->at, images->count, sizeof images->at[0]);
    images->at[images->count++] = number;
}

static int by_number(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

void image_numbers_sort(struct image_numbers *images)
{
    if (images->count > 0)
        qsort(images->at, images->count, sizeof images->at[0], by_number);
}
