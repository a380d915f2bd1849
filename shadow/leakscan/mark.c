/*
 * mark.c - propagate marks: from a word to the block that it points to, transitively.
 *
 *   words --in the heap--> candidates --open--> counted --> queue -------> batch --> read words
 *     ^                    (prefetch bits                  | full       (prefetch         |
 *     |                     and kind)                      +--> bits ->  first lines)     |
 *     +-----------------------------------------------------------------------------------+
 *
 * Nearly all time is spent waiting for memory.  So data is prefetched, and other work is done
 * meanwhile.  One round takes a batch and prefetches its blocks; visits the candidates of the
 * previous batch; then reads the blocks, and prefetches the bits of their candidates.
 *
 * Memory is read fastest in address order.  While many blocks are waiting, they are bits, taken in
 * address order, cyclically.  While few blocks are waiting, they are read in the order in which
 * they were found: a linked list passes through the queue alone, without a search through bits.
 */
#include "leakscan_priv.h"

#define LINE_BYTES 64u

/* ---- blocks that are counted and not yet read ------------------------------------------------ */

void reach_wait(struct reach_scan *r, uint64_t slot)
{
    bit_set(r->waiting, slot);
    r->waiting_count++;
}

/* Free entries of the queue; 0 if so many blocks wait that bits are used. */
static uint64_t queue_left(const struct reach_scan *r)
{
    return r->waiting_count < r->many ? r->queue_mask + 1 - (r->queue_end - r->queue_next) : 0;
}

static inline void push(struct reach_scan *r, const struct reach_spot *s, uint64_t bytes)
{
    if (bytes < sizeof(reach_word))
        return;
    if (r->queue_left) {
        r->queue_left--;
        r->queue[r->queue_end++ & r->queue_mask] = (struct reach_found){s->start, bytes};
    } else {
        reach_wait(r, s->slot);
    }
}

void reach_push(struct reach_scan *r, const struct reach_spot *s, uint64_t bytes)
{
    r->queue_left = queue_left(r);
    push(r, s, bytes);
}

/* Prefetch the first lines; the hardware prefetcher then detects the stream. */
static inline void prefetch_block(const struct reach_found *f)
{
    reach_prefetch(reach_memory(f->start));
    reach_prefetch(reach_memory(f->start + LINE_BYTES));
}

static inline void take(struct reach_scan *r, struct reach_found f)
{
    prefetch_block(&f);
    r->batch[r->batched++] = f;
}

/* Take the oldest entries of the queue. */
static bool take_queued(struct reach_scan *r)
{
    while (r->batched < REACH_BATCH && r->queue_next != r->queue_end)
        take(r, r->queue[r->queue_next++ & r->queue_mask]);
    return r->batched;
}

/* Take the next waiting blocks by address; after the highest, continue with the lowest. */
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

/* ---- a pointer into an open block ------------------------------------------------------------ */

static inline void found(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_trail t = {where, trail_pointer(s->inside, r->root)};
    bit_clear(r->open, s->slot);
    push(r, s, reach_count(r, s, COUNT_FOUND, t));
}

static void found_indirect(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_block b = reach_look(r, s->slot, s->start);
    if (!(b.note & NOTE_UNCOUNTED)) {
        r->indirect_blocks++;
        r->indirect_bytes += b.request;
    }
    bit_clear(r->inside, s->slot);
    found(r, s, where);
}

static void set_trail(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    if (bit_is_set(r->inside, s->slot))
        return;
    bit_set(r->inside, s->slot);
    r->trail[s->slot] = (struct reach_trail){where, trail_pointer(s->inside, r->root)};
}

/* Does a pointer to this block lie in another block? */
static bool is_of_another(const struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_spot holder;
    return reach_locate_anywhere(r, where, &holder) && holder.slot != s->slot;
}

static void visit_cycle(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    if (bit_is_set(r->inside, s->slot)) {
        bit_clear(r->inside, s->slot);
        push(r, s, reach_look(r, s->slot, s->start).request);
    } else if (s->slot == r->origin && is_of_another(r, s, where)) {
        r->trail[s->slot] = (struct reach_trail){where, trail_pointer(s->inside, 0)};
    }
}

bool reach_is_into(const struct reach_scan *r, const struct reach_spot *s)
{
    if (!s->inside) /* a block of zero bytes has a start, too */
        return true;
    struct reach_block b = reach_look(r, s->slot, s->start);
    return s->inside < b.request || reach_is_empty_array(r, &b, s->inside);
}

static __attribute__((noinline)) void visit_interior(struct reach_scan *r,
                                                     const struct reach_spot *s, uint64_t where)
{
    if (!reach_is_into(r, s))
        return;
    struct reach_block b = reach_look(r, s->slot, s->start);
    if (reach_like_start(r, &b, s->inside))
        found(r, s, where);
    else
        set_trail(r, s, where);
}

static inline void visit_reachable(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    if (__builtin_expect(s->inside != 0, 0))
        visit_interior(r, s, where);
    else
        found(r, s, where);
}

static void visit_other(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    if (!reach_is_into(r, s))
        return;
    if (r->step == STEP_INDIRECT)
        found_indirect(r, s, where);
    else if (r->step == STEP_CYCLE)
        visit_cycle(r, s, where);
    else if (is_of_another(r, s, where))
        bit_set(r->inside, s->slot);
}

void reach_visit_all(struct reach_scan *r)
{
    const bool is_reachable_step = r->step == STEP_REACHABLE;
    r->queue_left = queue_left(r);
    for (const struct reach_candidate *c = r->candidate, *end = c + r->candidates; c < end; c++) {
        if (!bit_is_set(r->open, c->spot.slot))
            continue;
        if (is_reachable_step)
            visit_reachable(r, &c->spot, c->where);
        else
            visit_other(r, &c->spot, c->where);
    }
    r->candidates = 0;
}

void reach_read_block(struct reach_scan *r, const struct reach_block *b)
{
    take(r, (struct reach_found){b->start, b->request});
    if (r->batched == REACH_BATCH)
        reach_read_batch(r);
}

void reach_flood(struct reach_scan *r)
{
    do {
        while (take_queued(r) || r->candidates)
            reach_read_batch(r);
        while (take_waiting(r))
            reach_read_batch(r);
    } while (r->candidates || r->queue_next != r->queue_end);
}
