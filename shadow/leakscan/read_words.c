/*
 * read_words.c - find the words that point into the heap, and the slots that they point to.
 *
 * Few words are pointers, and the upper halves of heap addresses have few values.  So eight words
 * at a time are compared with that range, by vector instructions.
 * Matching words become candidates.  The slots of all candidates are looked up in one loop: the
 * lookups are independent, so the processor overlaps their cache misses.
 */
#include "leakscan_priv.h"
#include "vectors.h"

/* Locate the slots of all candidates, and drop candidates outside of slots. */
void reach_locate_all(struct reach_scan *r)
{
    struct reach_candidate *to = r->candidate;
    for (const struct reach_candidate *c = to, *end = c + r->candidates; c < end; c++) {
        to->where = c->where;
        if (!reach_locate_anywhere(r, c->spot.start, &to->spot))
            continue;
        reach_prefetch(&r->open[to->spot.slot / 64]);
        reach_prefetch(&r->waiting[to->spot.slot / 64]);
        reach_prefetch(&r->kind_of[to->spot.slot]);
        to++;
    }
    r->candidates = (uint32_t)(to - r->candidate);
}

static __attribute__((noinline)) void make_room(struct reach_scan *r)
{
    reach_locate_all(r);
    reach_visit_all(r);
}

/* The caller has checked that there is room. */
static inline void enter(struct reach_scan *r, uint64_t value, uint64_t where)
{
    struct reach_candidate *c = &r->candidate[r->candidates++];
    c->where = where;
    c->spot.start = value; /* until it is located */
}

static inline void read_words(struct reach_scan *r, const struct vector_window *in,
                              const reach_word *words, uint64_t count, uint64_t where)
{
    const reach_word *w = words, *end = words + count;
    where -= (uintptr_t)words;
    for (; end - w >= 8; w += 8) {
        unsigned left = vector_inside(in, w);
        if (!left)
            continue;
        if (r->candidates > REACH_CANDIDATES - 8)
            make_room(r);
        for (; left; left &= left - 1) {
            const reach_word *at = w + __builtin_ctz(left);
            enter(r, *at, where + (uintptr_t)at);
        }
    }
    if (r->candidates > REACH_CANDIDATES - 8)
        make_room(r);
    for (; w < end; w++)
        enter(r, *w, where + (uintptr_t)w);
}

void reach_enter(struct reach_scan *r, uint64_t value, uint64_t where)
{
    if (r->candidates == REACH_CANDIDATES)
        make_room(r);
    enter(r, value, where);
}

void reach_read(struct reach_scan *r, const reach_word *words, uint64_t count, uint64_t where)
{
    const struct vector_window in = vector_window_of(r->heap.base, r->heap.bytes);
    read_words(r, &in, words, count, where);
}

void reach_read_batch(struct reach_scan *r)
{
    const struct vector_window in = vector_window_of(r->heap.base, r->heap.bytes);
    reach_visit_all(r);
    for (uint32_t i = 0; i < r->batched; i++) {
        struct reach_found f = r->batch[i];
        if (__builtin_expect(f.bytes >= r->slow_bytes, 0))
            reach_client_read_block(r, f);
        else
            read_words(r, &in, reach_memory(f.start), f.bytes / 8, f.start | WITNESS_BLOCK);
    }
    r->batched = 0;
    reach_locate_all(r);
}
