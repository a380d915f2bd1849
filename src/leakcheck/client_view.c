/*
 * client_view.c - client blocks and hidden regions, as the marking phase sees them.
 *
 * The heap block or mapping that contains a client block may have been freed without notice.
 * Client blocks whose memory is gone are left out.  Outside of the heap, the roots show this: they
 * list all readable mappings.
 */
#include "leakcheck_priv.h"

struct making {
    struct reach_heap *view;
    const struct roots *roots;
    uint32_t root; /* the first root that ends after the last block's start: both are sorted */
};

uint64_t client_view_bytes(void)
{
    uint32_t hidden;
    annotations_hidden(&hidden);
    return client_block_count() * sizeof(struct reach_slab) + hidden * sizeof(struct reach_range);
}

static struct reach_slab *end_of_slabs(const struct reach_heap *view)
{
    return (struct reach_slab *)(uintptr_t)(view->slab + view->slabs);
}

static bool is_there(struct making *m, uint64_t start, uint64_t end)
{
    const struct root_record *r = m->roots->root + m->root,
                             *last = m->roots->root + m->roots->count;
    for (; r < last && (r->kind == ROOT_GIVEN || r->end <= start); r++)
        m->root++;
    for (; r < last && start < end && (r->kind == ROOT_GIVEN || r->start <= start); r++)
        if (r->kind != ROOT_GIVEN && r->end > start)
            start = r->end;
    return start >= end;
}

static void add(void *about, const struct client_block *n)
{
    struct making *m = about;
    struct reach_heap *view = m->view;
    if (!n->life && !is_there(m, client_block_start(n), client_block_start(n) + n->bytes))
        return;
    *end_of_slabs(view) = (struct reach_slab){.start = client_block_start(n),
                                              .records = &n->block,
                                              .request = n->bytes,
                                              .stride = sizeof *n,
                                              .slots = 1,
                                              .first = view->slots,
                                              .inherited = client_block_is_inherited(n)};
    view->slabs++;
    view->slots++;
    view->client_slabs++;
}

static void add_hidden(struct reach_heap *view)
{
    uint32_t count;
    const struct root_region *region = annotations_hidden(&count);
    struct reach_range *hidden = (struct reach_range *)end_of_slabs(view);
    view->hidden = hidden;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t life;
        if (client_block_life(region[i].start, region[i].bytes, 0, &life) && life == region[i].life)
            hidden[view->hidden_count++] =
                (struct reach_range){region[i].start, region[i].start + region[i].bytes};
    }
}

void client_view_add(struct reach_heap *view, const struct roots *roots)
{
    struct making m = {.view = view, .roots = roots};
    client_block_visit(add, &m);
    add_hidden(view);
}
