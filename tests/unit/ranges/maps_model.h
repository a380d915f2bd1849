/*
 * maps_model.h - a `struct maps` beside a simple reference model: one entry for each page.
 *
 * Changes are derived from numbers, of a random source or of a fuzzer.
 */
#ifndef MAPS_MODEL_H
#define MAPS_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "maps.h"

#define MODEL_PAGES 600u
#define MODEL_BASE 0x7000000000ull
#define MODEL_PAGE 4096ull

struct model {
    struct maps maps;
    void *storage;
    struct model_page {
        bool mapped, shared;
        uint8_t protection;
        uint64_t inode, device, offset;
    } page[MODEL_PAGES];
};

static inline bool model_init(struct model *m, uint32_t regions)
{
    memset(m, 0, sizeof *m);
    m->storage = malloc(maps_bytes(regions));
    if (m->storage)
        maps_init(&m->maps, m->storage, maps_bytes(regions));
    return m->storage != NULL;
}

static inline uint64_t model_address(uint64_t page)
{
    return MODEL_BASE + page * MODEL_PAGE;
}

static inline bool model_put(struct model *m, uint64_t first, uint64_t count, uint64_t kind)
{
    bool file = kind & 1;
    struct map_region r = {
        .start = model_address(first),
        .end = model_address(first + count),
        .inode = file ? 1 + (kind >> 1 & 1) : 0,
        .device = file ? 7 : 0,
        .offset = file ? (kind & 4 ? first : kind >> 3 & 3) * MODEL_PAGE : 0,
        .protection = kind >> 5 & 1,
        .shared = kind >> 6 & 1,
    };
    if (!maps_put(&m->maps, &r))
        return false;
    for (uint64_t i = 0; i < count; i++)
        m->page[first + i] = (struct model_page){
            true, r.shared, r.protection, r.inode, r.device, file ? r.offset + i * MODEL_PAGE : 0};
    return true;
}

static inline bool model_remove(struct model *m, uint64_t first, uint64_t count)
{
    if (!maps_remove(&m->maps, model_address(first), model_address(first + count)))
        return false;
    memset(m->page + first, 0, count * sizeof m->page[0]);
    return true;
}

static inline bool model_protect(struct model *m, uint64_t first, uint64_t count,
                                 uint8_t protection)
{
    if (!maps_protect(&m->maps, model_address(first), model_address(first + count), protection))
        return false;
    for (uint64_t i = first; i < first + count; i++)
        m->page[i].protection = m->page[i].mapped ? protection : 0;
    return true;
}

/* Apply one change, derived from one number. */
static inline bool model_change(struct model *m, uint64_t n)
{
    uint64_t first = (n >> 8) % MODEL_PAGES, count = (n >> 20) % (n >> 4 & 15 ? 4 : 60);
    count = count < MODEL_PAGES - first ? count : MODEL_PAGES - first;
    switch (n & 3) {
    case 0:
        return model_remove(m, first, count);
    case 1:
        return model_protect(m, first, count, n >> 32 & 1);
    default:
        return model_put(m, first, count, n >> 32);
    }
}

static inline bool model_same_page(const struct model_page *p, const struct map_region *r,
                                   uint64_t at)
{
    return p->mapped && p->shared == r->shared && p->protection == r->protection &&
           p->inode == r->inode && p->device == r->device &&
           p->offset == (r->inode ? r->offset + (at - r->start) : 0);
}

static inline bool model_is_free(const struct model *m, uint64_t first, uint64_t count)
{
    bool mapped = false;
    for (uint64_t i = first; i < first + count && i < MODEL_PAGES; i++)
        mapped |= m->page[i].mapped;
    return !mapped;
}

/* Do both agree about every page and about ranges from there, and is the map valid? */
static inline bool model_agrees(struct model *m)
{
    for (uint64_t i = 0; i < MODEL_PAGES; i++) {
        uint64_t at = model_address(i), count = 1 + i % 7;
        if (maps_is_free(&m->maps, at, at + count * MODEL_PAGE) != model_is_free(m, i, count))
            return false;
        const struct map_region *r = maps_find(&m->maps, at);
        if (r && r->start <= at ? !model_same_page(&m->page[i], r, at) : m->page[i].mapped)
            return false;
    }
    return maps_is_valid(&m->maps);
}

#endif
