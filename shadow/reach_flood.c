/*
 * reach_flood.c - from a word to the block that it points to, and on from there.
 *
 *    words --in the heap--> candidates --open--> counted --> queue ---------> batch --> words are read
 *      ^                    (bits and kind                   | full        (first lines       |
 *      |                     on their way)                   +--> bits -->  on their way)     |
 *      +--------------------------------------------------------------------------------------+
 *
 * Nearly all time goes into waiting for memory.  So what will be needed is asked for early, and
 * something else is done meanwhile, in turns: a batch is taken, and its blocks are asked for; the
 * candidates are seen that the last one gave; then the blocks are read, and of the candidates that they
 * give the bits are asked for.
 *
 * Memory is read fastest in the order in which it lies: while many blocks are to be read, they are bits,
 * taken by address, round and round.  Blocks are read in the order in which they were found only while
 * these are few: a list goes through the queue alone, and no bits are looked through for one block.
 *
 * Hardly a word is a pointer into the heap, and the upper halves of all that are have few values: eight
 * words at a time are compared with them, with the vector instructions that every machine has.
 */
#include "reach_priv.h"

#include <emmintrin.h>

#define LINE_BYTES 64u

/* ---- counted, and not yet read --------------------------------------------------------------------- */

void reach_wait(struct reach_scan *r, uint64_t slot)
{
    bit_set(r->waiting, slot);
    r->waiting_count++;
}

static inline void push(struct reach_scan *r, const struct reach_spot *s, uint64_t bytes)
{
    if (bytes < sizeof(reach_word))
        return;
    if (r->queue_end - r->queue_next <= r->queue_mask && r->waiting_count < r->many)
        r->queue[r->queue_end++ & r->queue_mask] = (struct reach_found){s->start, bytes};
    else
        reach_wait(r, s->slot);
}

void reach_push(struct reach_scan *r, const struct reach_spot *s, uint64_t bytes)
{
    push(r, s, bytes);
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

static inline void take(struct reach_scan *r, struct reach_found f)
{
    ask_for_block(&f);
    r->batch[r->batched++] = f;
}

/* What was found first. */
static bool take_queued(struct reach_scan *r)
{
    while (r->batched < REACH_BATCH && r->queue_next != r->queue_end)
        take(r, r->queue[r->queue_next++ & r->queue_mask]);
    return r->batched;
}

/* What waits next by address, behind the highest again the lowest. */
static bool take_waiting(struct reach_scan *r)
{
    const struct reach_slab *slab = &r->heap.slab[r->slab];
    uint64_t word = r->waiting_from, bits = r->waiting[word], left = r->waiting_count;
    while (r->batched < REACH_BATCH && left) {
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
        uint64_t start = slab->start + (slot - slab->first) * slab->slot_bytes;
        take(r, (struct reach_found){start, reach_look(r, slot, start).request});
    }
    r->waiting[word] = bits;
    r->waiting_from = word;
    r->waiting_count = left;
    return r->batched;
}

/* ---- a pointer into an open block ------------------------------------------------------------------ */

static inline void found(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_trail t = {where, trail_pointer(s->inside, r->root)};
    bit_clear(r->open, s->slot);
    push(r, s, reach_count(r, s, COUNT_FOUND, t));
}

static void found_behind(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_block b = reach_look(r, s->slot, s->start);
    if (!(b.note & NOTE_UNCOUNTED)) {
        r->behind_blocks++;
        r->behind_bytes += b.request;
    }
    bit_clear(r->inside, s->slot);
    found(r, s, where);
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
        bit_clear(r->inside, s->slot);
        push(r, s, reach_look(r, s->slot, s->start).request);
    } else if (s->slot == r->origin && reach_locate_anywhere(r, where, &holder) &&
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
        found_behind(r, s, c->where);
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

void reach_see_all(struct reach_scan *r)
{
    uint32_t count = r->candidates;
    for (uint32_t i = 0; i < count; i++)
        see(r, &r->candidate[i]);
    r->candidates = 0;
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* Its spot is there. */
static inline void enter(struct reach_scan *r, struct reach_candidate *c, uint64_t where)
{
    ask_for(&r->open[c->spot.slot / 64]);
    ask_for(&r->waiting[c->spot.slot / 64]);
    ask_for(&r->kind_of[c->spot.slot]);
    c->where = where;
    if (++r->candidates == REACH_CANDIDATES)
        reach_see_all(r);
}

/* A word that may lie in the heap. */
static inline void enter_candidate(struct reach_scan *r, uint64_t value, uint64_t where)
{
    struct reach_candidate *c = &r->candidate[r->candidates];
    if (reach_locate(r, value, &c->spot))
        enter(r, c, where);
}

void reach_enter(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_candidate *c = &r->candidate[r->candidates];
    c->spot = *s;
    enter(r, c, where);
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

static inline void read_found(struct reach_scan *r, struct reach_found f)
{
    if (__builtin_expect(f.bytes >= r->slow_bytes, 0))
        reach_apart_read_block(r, f);
    else
        read_words(r, reach_memory(f.start), f.bytes / 8, f.start | WITNESS_BLOCK);
}

void reach_read_block(struct reach_scan *r, const struct reach_block *b)
{
    read_found(r, (struct reach_found){b->start, b->request});
}

static void read_batch(struct reach_scan *r)
{
    reach_see_all(r);
    for (uint32_t i = 0; i < r->batched; i++)
        read_found(r, r->batch[i]);
    r->batched = 0;
}

void reach_flood(struct reach_scan *r)
{
    do {
        while (take_queued(r) || r->candidates)
            read_batch(r);
        while (take_waiting(r))
            read_batch(r);
    } while (r->candidates || r->queue_next != r->queue_end);
}
