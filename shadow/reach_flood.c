/*
 * reach_flood.c - from a word to the block that it points to, and on from there.
 *
 *    words --in the heap--> candidates --open--> counted --> queue ------------> its words are read
 *      ^                    (bits and note                   | full    (first lines on        |
 *      |                     on their way)                   |          their way)            |
 *      |                                                     +--> bits --> batch -------------+
 *      +--------------------------------------------------------------------------------------+
 *
 * Nearly all time goes into waiting for memory.  So what a step needs is asked for when a pointer or
 * a block enters its queue, and looked at when it leaves.  And memory is read fastest in the order
 * in which it lies: while many blocks are to be read, they are bits, taken by address, round and round.
 * Blocks are read in the order in which they were found only while these are few: a list goes
 * through the queue alone, and no bits are looked through for one block.
 *
 * Hardly a word is a pointer into the heap, and the upper halves of all that are have few values: eight
 * words at a time are compared with them, with the vector instructions that every machine has.
 */
#include "reach_priv.h"

#include <emmintrin.h>

#define LINE_BYTES 64u
#define REFILL 8u /* so many at once are found among the bits */

/* ---- counted, and not yet read --------------------------------------------------------------------- */

void reach_wait(struct reach_scan *r, uint64_t slot)
{
    bit_set(r->waiting, slot);
    r->waiting_count++;
}

static inline void enter_queue(struct reach_scan *r, struct reach_found f)
{
    r->queue[r->queue_end++ & r->queue_mask] = f;
}

static inline void push(struct reach_scan *r, const struct reach_block *b)
{
    if (b->request < sizeof(reach_word))
        return;
    if (r->queue_end - r->queue_next <= r->queue_mask && r->waiting_count < r->many)
        enter_queue(r, (struct reach_found){b->start, b->request});
    else
        reach_wait(r, b->slot);
}

void reach_push(struct reach_scan *r, const struct reach_block *b)
{
    push(r, b);
}

/*
 * Into the second cache: the first has few places for what is on its way, and while they are all
 * taken the processor waits, which doubled the time of everything.
 */
static inline void ask_for(const void *address)
{
    __builtin_prefetch(address, 0, 2);
}

/* Its first lines: behind them the processor sees by itself where this goes. */
static inline void ask_for_block(const struct reach_found *f)
{
    ask_for(reach_memory(f->start));
    ask_for(reach_memory(f->start + LINE_BYTES));
}

/* Takes what waits next by address, behind the highest again the lowest, and asks for it. */
static void gather(struct reach_scan *r)
{
    const struct reach_slab *slab = &r->heap.slab[r->slab];
    uint64_t word = r->waiting_from, bits = r->waiting[word];
    uint32_t end = r->batch_end;
    uint64_t left = r->waiting_count;
    while (end - r->batch_next < REACH_AHEAD && left) {
        if (!bits) {
            r->waiting[word] = 0;
            word = word + 1 < r->bits / 64 ? word + 1 : 0;
            bits = r->waiting[word];
            continue;
        }
        uint64_t slot = word * 64 + (uint64_t)__builtin_ctzll(bits);
        bits &= bits - 1;
        left--;
        if (slot - slab->first >= slab->slots)
            slab = reach_slab_of(r, slot);
        uint64_t bytes = slab->slot_bytes ? note_bytes(r->note[slot]) : slab->request;
        struct reach_found f = {slab->start + (slot - slab->first) * slab->slot_bytes, bytes};
        ask_for_block(&f);
        r->batch[end++ % REACH_AHEAD] = f;
    }
    r->waiting[word] = bits;
    r->waiting_from = word;
    r->waiting_count = left;
    r->batch_end = end;
}

/* ---- a pointer into an open block ------------------------------------------------------------------ */

static inline void found(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_block b = reach_look(r, s->slot, s->start);
    bit_clear(r->open, s->slot);
    reach_count(r, &b, r->as, (struct reach_trail){where, trail_pointer(s->inside, r->root)});
    push(r, &b);
}

static void remember(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    if (bit_is_set(r->inside, s->slot))
        return;
    bit_set(r->inside, s->slot);
    r->trail[s->slot] = (struct reach_trail){where, trail_pointer(s->inside, r->root)};
}

static void see_circle(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_spot holder;
    if (bit_is_set(r->inside, s->slot)) {
        struct reach_block b = reach_look(r, s->slot, s->start);
        bit_clear(r->inside, s->slot);
        reach_push(r, &b);
    } else if (s->slot == r->origin && reach_locate(r, where, &holder) &&
               holder.slot != r->origin) {
        r->trail[s->slot] = (struct reach_trail){where, trail_pointer(s->inside, 0)};
    }
}

bool reach_is_into(const struct reach_scan *r, const struct reach_spot *s)
{
    if (!s->inside) /* a block of no bytes has a start, too */
        return true;
    struct reach_block b = reach_look(r, s->slot, s->start);
    return s->inside < b.request || reach_is_empty_array(r, &b, s->inside);
}

static bool holds_start(const struct reach_scan *r, const struct reach_spot *s)
{
    if (!s->inside)
        return true;
    struct reach_block b = reach_look(r, s->slot, s->start);
    return reach_like_start(r, &b, s->inside);
}

static inline void see(struct reach_scan *r, const struct reach_candidate *c)
{
    const struct reach_spot *s = &c->spot;
    if (!bit_is_set(r->open, s->slot) || !reach_is_into(r, s))
        return;
    switch (r->step) {
    case STEP_HELD:
        if (holds_start(r, s))
            found(r, s, c->where);
        else
            remember(r, s, c->where);
        break;
    case STEP_BEHIND:
        bit_clear(r->inside, s->slot);
        found(r, s, c->where);
        break;
    case STEP_COUNT:
        if (s->slot != r->origin)
            bit_set(r->inside, s->slot);
        break;
    case STEP_CIRCLE:
        see_circle(r, s, c->where);
        break;
    }
}

static inline void see_next(struct reach_scan *r)
{
    r->candidates--;
    see(r, &r->candidate[r->candidate_next++ % REACH_AHEAD]);
}

void reach_see_all(struct reach_scan *r)
{
    while (r->candidates)
        see_next(r);
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* A word that may lie in the heap. */
static inline void enter_candidate(struct reach_scan *r, uint64_t value, uint64_t where)
{
    struct reach_candidate *c = &r->candidate[(r->candidate_next + r->candidates) % REACH_AHEAD];
    if (!reach_locate(r, value, &c->spot))
        return;
    ask_for(&r->open[c->spot.slot / 64]);
    ask_for(&r->waiting[c->spot.slot / 64]);
    ask_for(&r->note[c->spot.slot]);
    c->where = where;
    if (++r->candidates == REACH_AHEAD)
        see_next(r);
}

/* The upper halves of four words. */
static inline __m128i upper_halves(const reach_word *w)
{
    __m128 two = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)w));
    __m128 more = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(w + 2)));
    return _mm_castps_si128(_mm_shuffle_ps(two, more, 0xdd));
}

static inline void read_words(struct reach_scan *r, const reach_word *words, uint64_t count,
                              uint64_t where)
{
    /* Moved so that the heap's first is the least number with a sign: there is no comparison of others. */
    const __m128i first = _mm_set1_epi32((int)((uint32_t)(r->heap.base >> 32) ^ 1u << 31));
    const __m128i last = _mm_set1_epi32((int)((uint32_t)((r->heap.base + r->heap.bytes - 1) >> 32) -
                                              (uint32_t)(r->heap.base >> 32) - (1u << 31)));
    const reach_word *w = words, *end = words + count;
    where -= (uintptr_t)words;
    for (; end - w >= 8; w += 8) {
        __m128i low = _mm_cmpgt_epi32(_mm_sub_epi32(upper_halves(w), first), last);
        __m128i high = _mm_cmpgt_epi32(_mm_sub_epi32(upper_halves(w + 4), first), last);
        __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), low); /* one for each word, and 8 more */
        unsigned in = ~(unsigned)_mm_movemask_epi8(bytes) & 0xff;
        for (; in; in &= in - 1) {
            const reach_word *at = w + __builtin_ctz(in);
            enter_candidate(r, *at, where + (uintptr_t)at);
        }
    }
    for (; w < end; w++)
        enter_candidate(r, *w, where + (uintptr_t)w);
}

void reach_read(struct reach_scan *r, const reach_word *words, uint64_t count, uint64_t where)
{
    read_words(r, words, count, where);
}

static __attribute__((noinline)) void read_sparse(struct reach_scan *r, struct reach_found f)
{
    uint64_t at = f.start, end = f.start + f.bytes / 8 * 8, piece_end;
    for (; r->rules.next_piece(r->rules.about, &at, end, &piece_end); at = piece_end)
        read_words(r, reach_memory(at), (piece_end - at) / 8, at | WITNESS_BLOCK);
}

static inline void read_found(struct reach_scan *r, struct reach_found f)
{
    if (__builtin_expect(f.bytes >= REACH_SPARSE_BYTES && r->rules.next_piece, 0))
        read_sparse(r, f);
    else
        read_words(r, reach_memory(f.start), f.bytes / 8, f.start | WITNESS_BLOCK);
}

void reach_read_block(struct reach_scan *r, const struct reach_block *b)
{
    read_found(r, (struct reach_found){b->start, b->request});
}

/* All that waits, and that comes to wait meanwhile; while some are read others are on their way. */
static void read_waiting(struct reach_scan *r)
{
    for (;;) {
        if (r->batch_end - r->batch_next <= REACH_AHEAD - REFILL)
            gather(r);
        if (r->batch_end == r->batch_next)
            break;
        read_found(r, r->batch[r->batch_next++ % REACH_AHEAD]);
    }
}

static void read_queue(struct reach_scan *r)
{
    for (;;) {
        while (r->candidates && r->queue_end - r->queue_next < REACH_AHEAD / 4)
            see_next(r);
        if (r->queue_next == r->queue_end)
            return;
        while (r->queue_asked != r->queue_end && r->queue_asked - r->queue_next < REACH_AHEAD)
            ask_for_block(&r->queue[r->queue_asked++ & r->queue_mask]);
        read_found(r, r->queue[r->queue_next++ & r->queue_mask]);
    }
}

void reach_flood(struct reach_scan *r)
{
    do {
        read_queue(r);
        read_waiting(r);
    } while (r->candidates || r->queue_next != r->queue_end || r->waiting_count);
}
