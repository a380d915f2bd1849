/*
 * reach_flood.c - from a word to the block that it points to, and on from there.
 *
 *    words --in the heap--> candidates --open--> stack --> ring --> its record and words are read
 *      ^                    (bits and slab        | full   (record and first lines               |
 *      |                     on their way)        |         on their way)                        |
 *      |                                          +--> waiting (bits) --> ring                   |
 *      +-----------------------------------------------------------------------------------------+
 *
 * Nearly all time goes into waiting for memory.  So what a step needs is asked for when a pointer or
 * a block enters its queue, and looked at when it leaves.  The ring is filled when most of it is
 * read: asking for a line waits for the page tables, and many that ask at once wait together.
 *
 * A long block is read in pieces, its rest going to the stack below what the piece finds, so that a
 * table of ten million pointers does not fill it.  When the stack is full a block is counted at once
 * - who points there is known only now - and its bit says that it is still to be read.  Bits are
 * taken when nothing else is left to do, so any stack will do, even none.
 */
#include "reach_priv.h"

#define LINE_BYTES 64u
#define AHEAD_WORDS 128u /* of a block are asked for before they are read */
#define AHEAD_BYTES (AHEAD_WORDS * 8)
#define PIECE_WORDS 512u

/* ---- found, and not yet read --------------------------------------------------------------------- */

void reach_wait(struct reach_scan *r, uint64_t bit)
{
    bit_set(r->waiting, bit);
    r->waiting_count++;
    if (bit < r->waiting_from)
        r->waiting_from = bit;
}

/* There is no room on the stack. */
__attribute__((noinline)) static void push_beside(struct reach_scan *r, struct reach_found f)
{
    if (f.where & WHERE_KIND) {
        struct reach_block b = reach_look(r, f.slab, f.slot);
        reach_count(r, &b, r->as, (struct reach_trail){f.where, TRAIL_READ});
    }
    const struct reach_slab *slab = &r->heap.slab[f.slab];
    reach_wait(r, (slab->start + (uint64_t)f.slot * slab->slot_bytes - r->heap.base) >> 4);
}

static inline void push(struct reach_scan *r, struct reach_found f)
{
    if (r->depth < r->depth_max)
        r->stack[r->depth++] = f;
    else
        push_beside(r, f);
}

void reach_push(struct reach_scan *r, struct reach_found f)
{
    push(r, f);
}

static struct reach_found take_waiting(struct reach_scan *r)
{
    uint64_t word = r->waiting_from / 64;
    struct reach_spot s = {0};
    while (!r->waiting[word])
        word++;
    uint64_t bit = word * 64 + (uint64_t)__builtin_ctzll(r->waiting[word]);
    bit_clear(r->waiting, bit);
    r->waiting_count--;
    r->waiting_from = bit;
    (void)reach_locate(&r->heap, r->heap.base + (bit << 4), &s);
    return (struct reach_found){0, s.slab, s.slot};
}

/*
 * Into the second cache: the first has few places for what is on its way, and while they are all
 * taken the processor waits, which doubled the time of everything.
 */
static inline void ask_for(const void *address)
{
    __builtin_prefetch(address, 0, 2);
}

static void enter_ring(struct reach_scan *r, struct reach_found f)
{
    const struct reach_slab *slab = &r->heap.slab[f.slab];
    uint64_t start = slab->start + (uint64_t)f.slot * slab->slot_bytes;
    uint64_t bytes =
        slab->slot_bytes && slab->slot_bytes < AHEAD_BYTES ? slab->slot_bytes : AHEAD_BYTES;
    if (!(f.where & WHERE_KIND))
        start += f.where;
    ask_for(reach_record(slab, f.slot));
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES)
        ask_for(reach_memory(start + at));
    r->ring[(r->ring_next + r->ring_count++) % REACH_AHEAD] = f;
}

static void fill_ring(struct reach_scan *r)
{
    if (r->depth < REACH_AHEAD && r->candidates)
        reach_see_all(r);
    while (r->ring_count < REACH_AHEAD && r->depth)
        enter_ring(r, r->stack[--r->depth]);
    while (r->ring_count < REACH_AHEAD && r->waiting_count)
        enter_ring(r, take_waiting(r));
}

static bool take(struct reach_scan *r, struct reach_found *f)
{
    if (r->ring_count <= REACH_AHEAD / 4)
        fill_ring(r);
    if (!r->ring_count)
        return false;
    *f = r->ring[r->ring_next++ % REACH_AHEAD];
    r->ring_count--;
    return true;
}

/* ---- a pointer into an open block ------------------------------------------------------------------ */

static void found(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    bit_clear(r->open, s->bit);
    push(r, (struct reach_found){where, s->slab, s->slot});
}

static void remember(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    if (bit_is_set(r->inside, s->bit))
        return;
    bit_set(r->inside, s->bit);
    *reach_trail_of(r, s->slab, s->slot) =
        (struct reach_trail){where, trail_pointer(s->inside, r->root)};
}

static void see_circle(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    struct reach_spot holder;
    if (bit_is_set(r->inside, s->bit)) {
        bit_clear(r->inside, s->bit);
        push(r, (struct reach_found){0, s->slab, s->slot});
    } else if (s->bit == r->origin && reach_locate(&r->heap, where, &holder) &&
               holder.bit != r->origin) {
        *reach_trail_of(r, s->slab, s->slot) =
            (struct reach_trail){where, trail_pointer(s->inside, 0)};
    }
}

bool reach_is_into(const struct reach_scan *r, const struct reach_spot *s)
{
    if (!s->inside) /* a block of no bytes has a start, too */
        return true;
    struct reach_block b = reach_look(r, s->slab, s->slot);
    return s->inside < b.request || reach_is_empty_array(&b, s->inside);
}

static bool holds_start(const struct reach_scan *r, const struct reach_spot *s)
{
    if (!s->inside)
        return true;
    struct reach_block b = reach_look(r, s->slab, s->slot);
    return reach_like_start(&r->rules, &b, s->inside);
}

static void see(struct reach_scan *r, const struct reach_spot *s, uint64_t where)
{
    switch (r->step) {
    case STEP_HELD:
        if (holds_start(r, s))
            found(r, s, where);
        else
            remember(r, s, where);
        break;
    case STEP_BEHIND:
        bit_clear(r->inside, s->bit);
        found(r, s, where);
        break;
    case STEP_COUNT:
        if (s->bit != r->origin)
            bit_set(r->inside, s->bit);
        break;
    case STEP_CIRCLE:
        see_circle(r, s, where);
        break;
    }
}

static inline void look_at(struct reach_scan *r, const struct reach_candidate *c)
{
    struct reach_spot s;
    if (reach_locate(&r->heap, c->value, &s) && bit_is_set(r->open, s.bit) && reach_is_into(r, &s))
        see(r, &s, c->where);
}

void reach_see_all(struct reach_scan *r)
{
    for (uint32_t i = 0; i < r->candidates; i++)
        look_at(r, &r->candidate[i]);
    r->candidates = 0;
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* A word that lies in the heap. */
static void enter_candidates(struct reach_scan *r, uint64_t value, uint64_t where)
{
    uint64_t offset = value - r->heap.base;
    uint32_t number = r->heap.slab_of_unit[offset >> RTC_UNIT_SHIFT];
    if (!number)
        return;
    ask_for(&r->heap.slab[number - 1]);
    ask_for(&r->open[offset >> 10]);
    if (r->candidates == REACH_AHEAD)
        reach_see_all(r);
    r->candidate[r->candidates++] = (struct reach_candidate){value, where};
}

__attribute__((noinline)) static void read_each(struct reach_scan *r, const reach_word *words,
                                                uint64_t count, uint64_t where)
{
    for (uint64_t i = 0; i < count; i++) {
        if (words[i] - r->heap.base < r->heap.bytes)
            enter_candidates(r, words[i], where + i * 8);
    }
}

/* Four at a time: hardly a word is a pointer into the heap. */
void reach_read(struct reach_scan *r, const reach_word *words, uint64_t count, uint64_t where)
{
    const uint64_t base = r->heap.base, bytes = r->heap.bytes;
    const reach_word *w = words, *end = words + (count & ~3ull);
    where -= (uintptr_t)words;
    for (; w != end; w += 4) {
        if (end - w > AHEAD_WORDS)
            ask_for(w + AHEAD_WORDS);
        if (w[0] - base < bytes || w[1] - base < bytes || w[2] - base < bytes ||
            w[3] - base < bytes)
            read_each(r, w, 4, where + (uintptr_t)w);
    }
    read_each(r, w, count % 4, where + (uintptr_t)w);
}

static void visit(struct reach_scan *r, struct reach_found f)
{
    struct reach_block b = reach_look(r, f.slab, f.slot);
    uint64_t from = 0;
    if (f.where & WHERE_KIND)
        reach_count(r, &b, r->as, (struct reach_trail){f.where, TRAIL_READ});
    else
        from = f.where;
    uint64_t count = (b.request - from) / 8;
    if (count > PIECE_WORDS && r->depth < r->depth_max) {
        count = PIECE_WORDS;
        push(r, (struct reach_found){from + PIECE_WORDS * 8, f.slab, f.slot});
    }
    reach_read(r, reach_memory(b.start + from), count, (b.start + from) | WITNESS_BLOCK);
}

void reach_flood(struct reach_scan *r)
{
    struct reach_found f;
    reach_see_all(r);
    while (take(r, &f))
        visit(r, f);
}
