/*
 * close.c - the end of a report: frees what the rooms below have attached to it.
 */
#include <stdlib.h>

#include "text.h"

void report_close(struct report *r)
{
    struct image *image, *next;

    if (!r)
        return;
    images_join(r);
    HASH_ITER (hh, r->images, image, next) {
        HASH_DEL(r->images, image);
        image_free(image);
    }
    helper_end(r);
    symbols_free(r);
    packed_free(r);
    leaks_free(r);
    sites_free(r);
    for (uint32_t i = 0; i < r->own_count; i++)
        own_text_free(&r->own[i]);
    free(r->own);
    rules_free(r->own_rules);
    free(r->bad);
    free(r->exits);
    free(r->counters);
    free(r->launcher);
    view_close(&r->view);
    free(r);
}
