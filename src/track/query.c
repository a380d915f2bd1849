/*
 * query.c - queries by the program about a pointer: the size of its block, the stack that allocated
 * it.
 */
#include "track_priv.h"

static uint64_t word_of(const struct found *f, uint32_t write_epoch)
{
    return record_word(pool_look(f, write_epoch));
}

static bool is_live(uint64_t word)
{
    return word_state(word) == BLOCK_LIVE || word_state(word) == BLOCK_INHERITED;
}

static size_t usable_of(const struct found *f, uint32_t write_epoch)
{
    if (f->verdict != PTR_START)
        return 0;
    if (slab_is_unrecorded(f))
        return pool_room(f);
    uint64_t word = word_of(f, write_epoch);
    return is_live(word) ? pool_request(f, pool_look(f, write_epoch), word) : 0;
}

size_t track_usable(const void *p)
{
    if (!p)
        return 0;
    if (bootstrap_owns(p))
        return bootstrap_request(p);
    struct section s;
    bool inside = section_begin(&s);
    struct found f = pool_find(p);
    size_t bytes = usable_of(&f, inside ? s.write_epoch : 0);
    if (inside)
        section_end(&s);
    if (f.verdict == PTR_FOREIGN && next.malloc_usable_size && region_is_libcs(p))
        return next.malloc_usable_size((void *)(uintptr_t)p);
    return bytes;
}

bool query_is_block(const struct found *f, uint32_t write_epoch)
{
    if (f->verdict != PTR_START || slab_is_unrecorded(f))
        return f->verdict == PTR_START;
    return is_live(word_of(f, write_epoch));
}

bool query_holds(const void *p)
{
    struct section s;
    bool inside = section_begin(&s);
    struct found f = pool_find(p);
    bool holds = query_is_block(&f, inside ? s.write_epoch : 0);
    if (inside)
        section_end(&s);
    return holds;
}

size_t track_query(const void *p, uint32_t op, const struct entry *at)
{
    struct section s;
    if (!p || bootstrap_owns(p) || !section_begin(&s))
        return track_usable(p);
    struct found f = pool_find(p);
    struct error_call call = {s.t, s.write_epoch, op, 0};
    size_t bytes = usable_of(&f, s.write_epoch);
    bool libcs = false;
    if (unlikely(!query_is_block(&f, s.write_epoch)) && run_notice_cut())
        bytes = usable_of(&f, s.write_epoch); /* the record was lost, and has been replaced */
    if (unlikely(!query_is_block(&f, s.write_epoch))) {
        call.stack = stack_put(s.t, at);
        libcs = error_query(&call, p, &f);
    }
    section_end(&s);
    return libcs && next.malloc_usable_size ? next.malloc_usable_size((void *)(uintptr_t)p) : bytes;
}

uint32_t track_stack(const void *p)
{
    struct section s;
    uint64_t word, stacks = 0;
    if (!section_begin(&s))
        return 0;
    struct found f = pool_find(p);
    bool found = (f.verdict == PTR_START || f.verdict == PTR_INSIDE) && !slab_is_unrecorded(&f) &&
                 block_read(pool_look(&f, s.write_epoch), &word, &stacks) &&
                 word_state(word) == BLOCK_LIVE;
    section_end(&s);
    return found ? (uint32_t)(stacks >> 32) : 0;
}
