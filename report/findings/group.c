/*
 * group.c - blocks in use of several processes, as records: one for each allocation site.
 */
#include <stdlib.h>

#include "findings.h"

static void record_add(struct record *record, const struct image *image, const struct use *use)
{
    record->site = use->site;
    record->blocks += use->blocks;
    record->bytes += use->bytes;
    image_numbers_add(&record->images, image->number);
}

/* Equal sizes are sorted by site, which is the same in every run of the same program. */
static int by_size(const void *a_, const void *b_)
{
    const struct record *a = a_, *b = b_;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->blocks != b->blocks)
        return a->blocks > b->blocks ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

/* One record for each site; sites without blocks in use are removed. */
static struct record *records_sum(const struct report *r, uint32_t *count)
{
    struct record *records = xalloc(calloc((size_t)r->site_count + 1, sizeof *records));
    uint32_t kept = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        for (uint32_t i = 0; !image_was_replaced(image) && i < image->use_count; i++)
            record_add(&records[image->uses[i].site], image, &image->uses[i]);
    for (uint32_t i = 0; i < r->site_count; i++)
        if (records[i].blocks > 0)
            records[kept++] = records[i];
    *count = kept;
    return records;
}

struct record *records_make(struct report *r, uint32_t named, uint32_t *count)
{
    struct record *records = records_sum(r, count);

    qsort(records, *count, sizeof *records, by_size);
    for (uint32_t i = 0; i < *count; i++)
        if (records[i].site < r->use_disposition_count)
            records[i].disposition = r->use_dispositions[records[i].site];
    progress_begin(&r->progress, PROGRESS_SYMBOLS, named < *count ? named : *count);
    for (uint32_t i = 0; i < *count && i < named; i++) {
        symbolize_site(r, records[i].site);
        id_of_site(r, "biu", records[i].site, records[i].id);
        progress_step(&r->progress);
    }
    progress_end(&r->progress);
    if (named >= *count)
        ids_make_unique(records, *count, sizeof *records);
    return records;
}

void records_free(struct record *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(records[i].images.at);
    free(records);
}
