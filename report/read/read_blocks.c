/*
 * read_blocks.c - blocks that an image had in use: numbers and bytes by stack.
 *
 * A part holds the counts per stack of one slab, large block or chunk of threads. If a process is
 * killed while it copies a slab after a fork, two current copies of the slab remain. Parts have the
 * slab's index as key, so the copy with the higher epoch replaces the other.
 */
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

/* ---- parts: what one slab, large block or chunk of threads adds ------------------------------ */

struct part_key {
    uint64_t kind;
    uint64_t index;
};

/* Counts of a slab. The struct is small because a large heap may have as many as blocks. */
struct part_count {
    uint32_t stack;
    uint32_t blocks;
    uint32_t bytes;
};

struct part {
    struct part_key key;
    uint64_t epoch;
    struct part_count *counts;
    uint32_t count;
    struct count large; /* for the part of a large block: its one block */
    uint64_t allocs, alloc_bytes, frees, reallocs;
    /*
     * for the part of a slab: blocks in use, and the bytes of their slots beyond the requested size
     */
    uint64_t blocks, around_bytes;
    uint32_t record_bytes;
    UT_hash_handle hh;
};

/* Return the emptied part of this key for filling. NULL: a copy with a later epoch was read. */
static struct part *part_for(struct reading *rd, uint64_t kind, uint64_t index, uint64_t epoch)
{
    struct part_key key = {kind, index};
    struct part *part;

    HASH_FIND(hh, rd->parts, &key, sizeof key, part);
    if (part && part->epoch > epoch)
        return NULL;
    if (!part) {
        part = xalloc(calloc(1, sizeof *part));
        part->key = key;
        HASH_ADD(hh, rd->parts, key, sizeof key, part);
    }
    free(part->counts);
    part->counts = NULL;
    part->count = 0;
    part->large = (struct count){0};
    part->allocs = part->alloc_bytes = part->frees = part->reallocs = part->blocks =
        part->around_bytes = 0;
    part->epoch = epoch;
    return part;
}

static void part_take_counts(struct part *part, const struct counts *c)
{
    if (c->count == 0)
        return;
    part->counts = xalloc(malloc(c->count * sizeof part->counts[0]));
    for (uint32_t i = 0; i < c->count; i++)
        part->counts[i] = (struct part_count){c->items[i].stack, (uint32_t)c->items[i].blocks,
                                              (uint32_t)c->items[i].bytes};
    part->count = c->count;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Is it a live block of this image? Inherited blocks are reported by the parent. */
static bool is_own_live(uint64_t word)
{
    return word_state(word) == BLOCK_LIVE && word_mark(word) != MARK_INHERITED;
}

static uint32_t alloc_stack(const struct block_record *b)
{
    return (uint32_t)(atomic_load_explicit(&b->stacks, memory_order_relaxed) >> 32);
}

void read_slab(struct reading *rd, const struct segment *s)
{
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    struct part *part = part_for(rd, SEGMENT_SLAB, s->index, epoch);

    if (!part)
        return;
    counts_clear(&rd->scratch);
    for (uint32_t i = 0; i < s->capacity; i++) {
        const struct block_record *b = segment_item(s, i);
        uint64_t word = atomic_load_explicit(&b->word, memory_order_relaxed);
        if (!is_own_live(word))
            continue;
        counts_add(&rd->scratch, alloc_stack(b), 1, word_size(word));
        part->blocks++;
        part->around_bytes += s->slot_bytes > word_size(word) ? s->slot_bytes - word_size(word) : 0;
    }
    part->record_bytes = s->item_bytes;
    part_take_counts(part, &rd->scratch);
}

static bool large_is_over(uint64_t word)
{
    return word_state(word) == BLOCK_NEVER || word_state(word) == BLOCK_FREE;
}

/*
 * Items are table slots that are reused: a freed item is ignored, as its unit may have a new owner.
 */
void read_large(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct large_record *l = segment_item(s, i);
        uint64_t word = atomic_load_explicit(&l->block.word, memory_order_relaxed);
        uint64_t request = atomic_load_explicit(&l->request, memory_order_relaxed);
        struct part *part;
        if (large_is_over(word) || atomic_load_explicit(&l->superseded, memory_order_relaxed))
            continue;
        part = part_for(rd, SEGMENT_LARGE, l->unit, l->epoch);
        if (!part || !is_own_live(word))
            continue;
        part->large = (struct count){alloc_stack(&l->block), 1, request};
    }
}

/* Client blocks have only one copy in the file, so they need no parts. */
void read_client_blocks(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct client_block_record *r = segment_item(s, i);
        if (is_own_live(atomic_load_explicit(&r->block.word, memory_order_relaxed)))
            counts_add(&rd->client_blocks, alloc_stack(&r->block), 1,
                       atomic_load_explicit(&r->bytes, memory_order_relaxed));
    }
}

void read_threads(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    struct part *part = part_for(rd, SEGMENT_THREADS, s->index, epoch);

    for (uint32_t i = 0; part && i < count; i++) {
        const struct thread_record *t = segment_item(s, i);
        part->allocs += atomic_load_explicit(&t->allocs, memory_order_relaxed);
        part->alloc_bytes += atomic_load_explicit(&t->alloc_bytes, memory_order_relaxed);
        part->frees += atomic_load_explicit(&t->frees, memory_order_relaxed);
        part->reallocs += atomic_load_explicit(&t->reallocs, memory_order_relaxed);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void sum_parts(struct reading *rd, struct counts *all)
{
    struct part *part, *next;

    for (uint32_t i = 0; i < rd->client_blocks.count; i++)
        counts_add(all, rd->client_blocks.items[i].stack, rd->client_blocks.items[i].blocks,
                   rd->client_blocks.items[i].bytes);
    counts_free(&rd->client_blocks);
    HASH_ITER (hh, rd->parts, part, next) {
        for (uint32_t i = 0; i < part->count; i++)
            counts_add(all, part->counts[i].stack, part->counts[i].blocks, part->counts[i].bytes);
        if (part->large.blocks > 0)
            counts_add(all, part->large.stack, part->large.blocks, part->large.bytes);
        rd->image->allocs += part->allocs;
        rd->image->alloc_bytes += part->alloc_bytes;
        rd->image->frees += part->frees;
        rd->reallocs += part->reallocs;
        own_cost_add_blocks(&rd->report->own_cost, part->blocks, part->record_bytes,
                            part->around_bytes);
        HASH_DEL(rd->parts, part);
        free(part->counts);
        free(part);
    }
}

static void use_stacks(struct report *r, struct image *image, const struct counts *all)
{
    image->uses = xalloc(calloc(all->count + 1, sizeof image->uses[0]));
    image->use_count = all->count;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct count *c = &all->items[i];
        image->uses[i] = (struct use){site_of_stack(r, image, c->stack), c->blocks, c->bytes};
        image->live_blocks += c->blocks;
        image->live_bytes += c->bytes;
    }
}

/*
 * Threads update the peak occasionally and when they end, so the last updates of a killed process
 * are missing.
 */
static void raise_peak(struct image *image)
{
    if (image->peak_bytes > 0 && image->peak_bytes < image->live_bytes) /* 0: unknown */
        image->peak_bytes = image->live_bytes;
}

void take_blocks(struct reading *rd)
{
    struct counts all = {0};

    sum_parts(rd, &all);
    use_stacks(rd->report, rd->image, &all);
    raise_peak(rd->image);
    counts_free(&rd->scratch);
    counts_free(&all);
}
