/*
 * client.c - client blocks, and hidden memory that is not scanned.
 *
 * A program may register blocks that it makes itself, in memory from malloc or mmap.  It may also
 * hide memory, for example an allocator's free lists with stale pointers.
 *
 *    root or heap block   | word | word | client block              | word | hidden ... | word |
 *                           read   read   read only if reachable      read   not read     read
 *
 * A client block has an entry in the list of slabs like a large block, after all others.  A pointer
 * into it refers only to the client block.  Therefore nothing shows whether the heap block around
 * it is needed: that block is REACHABLE as long as it contains client blocks.  A heap block that is
 * one client block as a whole is reported as that client block.  A heap block hidden as a whole is
 * not reported.
 *
 * Without client blocks and hidden memory a scan has no extra cost.  Pointers to client blocks in
 * the heap are found where large blocks are found.  All memory is read here, piece by piece, as
 * soon as there is one such block or range.
 */
#include "leakscan_priv.h"

static const struct reach_slab *list_of(const struct reach_heap *h)
{
    return h->slab + (h->slabs - h->client_slabs);
}

/* The number of client blocks that begin at this address or below. */
static uint32_t begun(const struct reach_heap *h, uint64_t address)
{
    const struct reach_slab *list = list_of(h);
    uint32_t low = 0, high = h->client_slabs;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool reach_client_at(const struct reach_heap *h, uint64_t address, struct reach_spot *s)
{
    uint32_t n = begun(h, address);
    const struct reach_slab *slab = list_of(h) + n - 1;
    if (!n || (address != slab->start && address - slab->start >= slab->request))
        return false;
    *s = (struct reach_spot){slab->first, slab->start, address - slab->start};
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct hole {
    uint64_t start, end;
};

static void take_nearer(struct hole *nearest, uint64_t at, uint64_t start, uint64_t end)
{
    if (end <= at || start >= nearest->start)
        return;
    *nearest = (struct hole){start > at ? start : at, end};
}

/* The first range in [at, end) that is not part of the surrounding memory; start == `end`: none. */
static struct hole next_hole(const struct reach_heap *h, uint64_t at, uint64_t end)
{
    struct hole nearest = {end, end};
    const struct reach_slab *list = list_of(h);
    uint32_t n = begun(h, at);
    if (n)
        take_nearer(&nearest, at, list[n - 1].start, list[n - 1].start + list[n - 1].request);
    if (n < h->client_slabs)
        take_nearer(&nearest, at, list[n].start, list[n].start + list[n].request);
    for (uint32_t i = 0; i < h->hidden_count; i++)
        take_nearer(&nearest, at, h->hidden[i].start, h->hidden[i].end);
    return nearest;
}

/* Read pointers into the heap, and then pointers to client blocks elsewhere. */
static void read_run(struct reach_scan *r, const reach_word *words, uint64_t count, uint64_t where)
{
    reach_read(r, words, count, where);
    for (uint64_t i = 0; i < count && r->client_high; i++)
        if (words[i] - r->client_low < r->client_high - r->client_low &&
            words[i] - r->heap.base >= r->heap.bytes)
            reach_enter(r, words[i], where + i * sizeof *words);
}

void reach_client_read(struct reach_scan *r, const reach_word *words, uint64_t count,
                       uint64_t where)
{
    uint64_t begin = where & ~WHERE_KIND, at = begin, end = at + count * sizeof *words;
    while (at < end) {
        struct hole hole = next_hole(&r->heap, at, end);
        if (hole.start > at)
            read_run(r, words + (at - begin) / 8, (hole.start - at) / 8, where + (at - begin));
        at = align_up(hole.end, sizeof *words);
    }
}

/* Is it a client block, and not the heap block around it, which may have the same start? */
static bool is_client(const struct reach_heap *h, const struct reach_found *f)
{
    uint32_t n = begun(h, f->start);
    const struct reach_slab *slab = list_of(h) + n - 1;
    return n && slab->start == f->start && slab->request == f->bytes;
}

/* Outside of the heap, some addresses of a block may not be mapped. */
static bool is_doubtful(const struct reach_scan *r, const struct reach_found *f)
{
    return r->rules.next_piece && (f->bytes >= REACH_SPARSE_BYTES || r->rules.has_gaps ||
                                   f->start - r->heap.base >= r->heap.bytes);
}

void reach_client_read_block(struct reach_scan *r, struct reach_found f)
{
    uint64_t at = align_up(f.start, sizeof(reach_word)), piece_end;
    uint64_t end = align_down(f.start + f.bytes, sizeof(reach_word));
    bool doubtful = is_doubtful(r, &f), whole = is_client(&r->heap, &f);
    for (; at < end; at = piece_end) {
        piece_end = end;
        if (doubtful && !r->rules.next_piece(r->rules.about, &at, end, &piece_end))
            return;
        if (whole)
            read_run(r, reach_memory(at), (piece_end - at) / 8, at | WITNESS_BLOCK);
        else
            reach_client_read(r, reach_memory(at), (piece_end - at) / 8, at | WITNESS_BLOCK);
    }
}

/* ---- start of a scan ------------------------------------------------------------------------- */

/* Heap blocks that are completely hidden are not reported. */
static void hide_in_slab(struct reach_scan *r, const struct reach_slab *slab,
                         const struct reach_range *hidden)
{
    for (uint32_t i = 0; i < slab->slots; i++) {
        uint64_t slot = slab->first + i, at = slab->start + (uint64_t)i * slab->slot_bytes;
        if (bit_is_set(r->open, slot) && at >= hidden->start &&
            at + reach_look(r, slot, at).request <= hidden->end)
            bit_clear(r->open, slot);
    }
}

static void hide_blocks(struct reach_scan *r, const struct reach_range *hidden)
{
    const struct reach_heap *h = &r->heap;
    uint64_t from = hidden->start > h->base ? hidden->start : h->base, last = 0;
    uint64_t end = hidden->end < h->base + h->bytes ? hidden->end : h->base + h->bytes;
    for (uint64_t at = from; at < end;
         at = align_down(at, 1u << RTC_UNIT_SHIFT) + (1u << RTC_UNIT_SHIFT)) {
        uint32_t number = h->slab_of_unit[(at - h->base) >> RTC_UNIT_SHIFT];
        if (number && number != last)
            hide_in_slab(r, &h->slab[number - 1], hidden);
        last = number;
    }
}

/* Mark the heap block that contains the client block. */
static void mark_around(struct reach_scan *r, const struct reach_slab *slab)
{
    struct reach_spot s;
    if (!reach_locate_by_unit(&r->heap, slab->start, &s) || !bit_is_set(r->open, s.slot))
        return;
    struct reach_block around = reach_look(r, s.slot, s.start);
    bit_clear(r->open, s.slot);
    if (s.inside || slab->request < around.request)
        reach_mark_reachable(r, s.slot, s.start);
}

static void begin_in_heap(struct reach_scan *r, const struct reach_slab *slab)
{
    uint64_t last = slab->start - r->heap.base + (slab->request ? slab->request - 1 : 0);
    for (uint64_t i = (slab->start - r->heap.base) >> RTC_UNIT_SHIFT; i <= last >> RTC_UNIT_SHIFT;
         i++)
        r->unit[i] = (struct reach_unit){0}; /* the slow path locates pointers into it */
    mark_around(r, slab);
}

void reach_client_begin(struct reach_scan *r)
{
    const struct reach_heap *h = &r->heap;
    for (uint32_t i = 0; i < h->hidden_count; i++)
        hide_blocks(r, &h->hidden[i]);
    for (const struct reach_slab *slab = list_of(h), *end = slab + h->client_slabs; slab < end;
         slab++) {
        uint64_t block_end = slab->start + (slab->request ? slab->request : 1);
        if (slab->start - h->base < h->bytes) {
            begin_in_heap(r, slab);
            continue;
        }
        if (!r->client_high)
            r->client_low = slab->start;
        r->client_high = block_end;
    }
}
