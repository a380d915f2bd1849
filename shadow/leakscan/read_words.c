/*
 * read_words.c - find the words that point into the heap, and the slots that they point to.
 *
 * Few words are pointers, and the upper halves of heap addresses have few values.  So eight words
 * at a time are compared with that range, with SSE2 instructions, which every x86-64 machine has.
 * Matching words become candidates.  The slots of all candidates are looked up in one loop: the
 * lookups are independent, so the processor overlaps their cache misses.
 */
#include "leakscan_priv.h"

#include <emmintrin.h>

/*
 * The range of the upper halves of heap addresses, offset so that `first` maps to the least signed
 * number.
 */
struct window {
    __m128i first, last;
};

static inline struct window window_of(const struct reach_heap *h)
{
    uint32_t first = (uint32_t)(h->base >> 32), last = (uint32_t)((h->base + h->bytes - 1) >> 32);
    return (struct window){_mm_set1_epi32((int)(first ^ 1u << 31)),
                           _mm_set1_epi32((int)(last - first - (1u << 31)))};
}

/* For each of four words: all bits set if it is outside of the heap. */
static inline __m128i outside(const struct window *in, const reach_word *w)
{
    __m128 two = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)w));
    __m128 more = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(w + 2)));
    __m128i upper = _mm_castps_si128(_mm_shuffle_ps(two, more, 0xdd));
    return _mm_cmpgt_epi32(_mm_sub_epi32(upper, in->first), in->last);
}

/* For each of eight words: one bit, set if it is inside of the heap. */
static inline unsigned inside(const struct window *in, const reach_word *w)
{
    __m128i words = _mm_packs_epi32(outside(in, w), outside(in, w + 4));
    return ~(unsigned)_mm_movemask_epi8(_mm_packs_epi16(words, words)) & 0xff;
}

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

static inline void read_words(struct reach_scan *r, const struct window *in,
                              const reach_word *words, uint64_t count, uint64_t where)
{
    const reach_word *w = words, *end = words + count;
    where -= (uintptr_t)words;
    for (; end - w >= 8; w += 8) {
        unsigned left = inside(in, w);
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
    const struct window in = window_of(&r->heap);
    read_words(r, &in, words, count, where);
}

void reach_read_batch(struct reach_scan *r)
{
    const struct window in = window_of(&r->heap);
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
