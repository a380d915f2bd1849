/*
 * read.c - one image's areas into what it had in use, by whom, and what was found wrong.
 *
 * Areas are looked at one at a time, each in a verified copy that is dropped again: the records of
 * a large program do not have to fit our memory twice.  What is kept of a slab is how many blocks
 * and bytes each stack has in it.  That is also how two current copies of one slab are told apart,
 * which a kill in the middle of a copy leaves behind: of two for one place the higher epoch stays.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "report_priv.h"

#define READ_TRIES 3 /* a running image may change an area while it is read */

/* ---- counts by stack: a small open hash ---------------------------------------------------- */

struct count {
    uint32_t stack;
    uint64_t blocks;
    uint64_t bytes;
};

struct counts {
    struct count *items;
    uint32_t count;
    uint32_t *slots;     /* place in items + 1; 0 = empty */
    uint32_t slot_count; /* a power of two, at least twice `count` */
};

static uint32_t counts_slot(const struct counts *c, uint32_t stack)
{
    uint32_t i = (stack * 0x9e3779b1u) & (c->slot_count - 1);

    while (c->slots[i] != 0 && c->items[c->slots[i] - 1].stack != stack)
        i = (i + 1) & (c->slot_count - 1);
    return i;
}

static void counts_widen(struct counts *c)
{
    c->slot_count = c->slot_count ? 2 * c->slot_count : 64;
    free(c->slots);
    c->slots = must_have(calloc(c->slot_count, sizeof c->slots[0]));
    for (uint32_t i = 0; i < c->count; i++)
        c->slots[counts_slot(c, c->items[i].stack)] = i + 1;
}

static void counts_add(struct counts *c, uint32_t stack, uint64_t blocks, uint64_t bytes)
{
    uint32_t slot;

    if (2 * (uint64_t)c->count >= c->slot_count)
        counts_widen(c);
    slot = counts_slot(c, stack);
    if (c->slots[slot] == 0) {
        c->items = grow(c->items, c->count, sizeof c->items[0]);
        c->items[c->count] = (struct count){.stack = stack};
        c->slots[slot] = ++c->count;
    }
    c->items[c->slots[slot] - 1].blocks += blocks;
    c->items[c->slots[slot] - 1].bytes += bytes;
}

static void counts_clear(struct counts *c)
{
    c->count = 0;
    if (c->slots)
        memset(c->slots, 0, c->slot_count * sizeof c->slots[0]);
}

static void counts_free(struct counts *c)
{
    free(c->items);
    free(c->slots);
}

/* ---- parts: what one slab, large block or chunk of threads adds ---------------------------- */

struct part_key {
    uint64_t kind;
    uint64_t index;
};

/* Of a slab, where it is small: a large heap has as many of these as blocks. */
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
    struct count large; /* the one block of a large block's part */
    uint64_t allocs;
    uint64_t frees;
    uint64_t blocks, around_bytes; /* of a slab's part: what its blocks in use did not ask for */
    uint32_t record_bytes;
    UT_hash_handle hh;
};

enum what_is_read {
    READ_ALL,
    READ_MAP,   /* what its numbers mean */
    READ_CHECK, /* and what a check in mid-run has found, which nobody has told yet */
};

struct reading {
    enum what_is_read what;
    struct leak_check_record check; /* .number 0: there is none */
    uint64_t check_at;              /* where it lies in the file */
    struct report *report;
    struct image *image;
    struct part *parts;
    struct counts scratch; /* of the segment being read */
    struct counts recorded; /* blocks that the program made itself */
    struct error_record *errors;
    uint32_t error_count;
    uint32_t area; /* that is being read */
    uint32_t *leak_areas; /* those with leaks: read again when the map is known */
    uint32_t leak_area_count;
    struct chunk_root *roots;
    uint32_t root_count;
    struct map_region *regions;
    uint32_t region_count;
    bool torn; /* a copy of some was being made */
    char **own; /* pieces of its own suppressions */
    uint32_t own_count;
};

/* Roots are numbered through all chunks, which may stand in any order. */
struct chunk_root {
    uint64_t chunk;
    uint32_t place;
    struct root_record root;
};

/* The part to fill for this place, empty; NULL: a later copy of it is known. */
static struct part *part_for(struct reading *rd, uint64_t kind, uint64_t index, uint64_t epoch)
{
    struct part_key key = {kind, index};
    struct part *part;

    HASH_FIND(hh, rd->parts, &key, sizeof key, part);
    if (part && part->epoch > epoch)
        return NULL;
    if (!part) {
        part = must_have(calloc(1, sizeof *part));
        part->key = key;
        HASH_ADD(hh, rd->parts, key, sizeof key, part);
    }
    free(part->counts);
    part->counts = NULL;
    part->count = 0;
    part->large = (struct count){0};
    part->allocs = part->frees = part->blocks = part->around_bytes = 0;
    part->epoch = epoch;
    return part;
}

static void part_take_counts(struct part *part, const struct counts *c)
{
    if (c->count == 0)
        return;
    part->counts = must_have(malloc(c->count * sizeof part->counts[0]));
    for (uint32_t i = 0; i < c->count; i++)
        part->counts[i] = (struct part_count){c->items[i].stack, (uint32_t)c->items[i].blocks,
                                              (uint32_t)c->items[i].bytes};
    part->count = c->count;
}

/* An image's own live block: what it inherited is its parent's to report. */
static bool is_own_live(uint64_t word)
{
    return word_state(word) == BLOCK_LIVE && word_mark(word) != MARK_INHERITED;
}

static uint32_t alloc_stack(const struct block_record *b)
{
    return (uint32_t)(atomic_load_explicit(&b->stacks, memory_order_relaxed) >> 32);
}

static void read_slab(struct reading *rd, const struct segment *s)
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

/* Items are places in a table, used again: one that is over says nothing of the unit's next owner. */
static void read_large(struct reading *rd, const struct segment *s)
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

/* They stand in the file once. */
static void read_recorded(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct recorded_block *r = segment_item(s, i);
        if (is_own_live(atomic_load_explicit(&r->block.word, memory_order_relaxed)))
            counts_add(&rd->recorded, alloc_stack(&r->block), 1,
                       atomic_load_explicit(&r->bytes, memory_order_relaxed));
    }
}

static void read_threads(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    struct part *part = part_for(rd, SEGMENT_THREADS, s->index, epoch);

    for (uint32_t i = 0; part && i < count; i++) {
        const struct thread_record *t = segment_item(s, i);
        part->allocs += atomic_load_explicit(&t->allocs, memory_order_relaxed);
        part->frees += atomic_load_explicit(&t->frees, memory_order_relaxed);
    }
}

/* Stacks and threads may stand in areas that come later: looked up when all are read. */
static void read_errors(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct error_record *e = segment_item(s, i);
        if (atomic_load_explicit(&e->kind, memory_order_relaxed) == ERROR_NONE)
            continue;
        rd->errors = grow(rd->errors, rd->error_count, sizeof *rd->errors);
        memcpy(&rd->errors[rd->error_count++], e, sizeof *e);
    }
}

/* They may stand in any order. */
static void read_own(struct reading *rd, const struct text_record *text)
{
    if (text->piece >= TEXT_PIECES_MAX)
        return;
    for (; rd->own_count <= text->piece; rd->own_count++) {
        rd->own = grow(rd->own, rd->own_count, sizeof *rd->own);
        rd->own[rd->own_count] = NULL;
    }
    free(rd->own[text->piece]);
    rd->own[text->piece] = must_have(strdup(text->text));
}

static void take_own(struct reading *rd)
{
    if (rd->own_count > 0)
        own_text_take(rd->report, rd->image, rd->own, rd->own_count);
    for (uint32_t i = 0; i < rd->own_count; i++)
        free(rd->own[i]);
    free(rd->own);
}

static void read_texts(struct reading *rd, const struct segment *s)
{
    struct image *image = rd->image;
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct text_record *text = segment_item(s, i);
        if (text->kind == TEXT_SUPPRESSIONS)
            read_own(rd, text);
        if (text->kind != TEXT_UNKNOWN_SETTING || rd->what != READ_ALL)
            continue;
        image->unknown_settings = grow(image->unknown_settings, image->unknown_count, sizeof(char *));
        image->unknown_settings[image->unknown_count++] = must_have(strdup(text->text));
    }
}

/* They are as many as stacks: not copied to wait for the map, but looked for again. */
static void note_leaks(struct reading *rd)
{
    uint32_t count = rd->leak_area_count;

    if (count > 0 && rd->leak_areas[count - 1] == rd->area)
        return;
    rd->leak_areas = grow(rd->leak_areas, count, sizeof rd->leak_areas[0]);
    rd->leak_areas[rd->leak_area_count++] = rd->area;
}

static void read_roots(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count && rd->root_count < LEAKS_MAX; i++) {
        struct chunk_root *root;
        rd->roots = grow(rd->roots, rd->root_count, sizeof *rd->roots);
        root = &rd->roots[rd->root_count++];
        root->chunk = s->index;
        root->place = i;
        memcpy(&root->root, segment_item(s, i), sizeof root->root);
    }
}

/* A range that was being written when the process was killed cannot be. */
static void read_mappings(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    rd->torn |= atomic_load_explicit(&s->epoch, memory_order_relaxed) % 2 != 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct map_region *m = segment_item(s, i);
        if (m->start >= m->end || m->origin == MAP_UNTOLD || m->origin >= MAP_ORIGIN_COUNT)
            continue;
        rd->regions = grow(rd->regions, rd->region_count, sizeof *rd->regions);
        memcpy(&rd->regions[rd->region_count++], m, sizeof *m);
    }
}

static void read_map_sum(struct reading *rd, const struct segment *s)
{
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0)
        return;
    memcpy((void *)&rd->image->maps, segment_item(s, 0), sizeof rd->image->maps);
    rd->image->has_maps = true;
}

static void read_dispatched(struct reading *rd, const struct segment *s)
{
    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0)
        return;
    memcpy((void *)&rd->image->dispatched, segment_item(s, 0), sizeof rd->image->dispatched);
    rd->image->has_dispatched = true;
}

static void read_marks(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);
    struct image *image = rd->image;

    for (uint32_t i = 0; i < count; i++) {
        image->mark_records = grow(image->mark_records, image->mark_count, sizeof *image->mark_records);
        memcpy(&image->mark_records[image->mark_count++], segment_item(s, i), sizeof *image->mark_records);
    }
}

static void read_costs(struct reading *rd, const struct segment *s)
{
    struct cost_record c;

    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0)
        return;
    memcpy((void *)&c, segment_item(s, 0), sizeof c);
    own_share_add(&rd->report->own_share, &c);
}

static int by_start(const void *a_, const void *b_)
{
    const struct map_region *a = a_, *b = b_;

    return a->start < b->start ? -1 : a->start > b->start;
}

/* Of those that overlap, which a kill leaves behind, the first stays. */
static void take_regions(struct reading *rd)
{
    struct image *image = rd->image;
    uint64_t end = 0;

    if (rd->region_count > 0)
        qsort(rd->regions, rd->region_count, sizeof *rd->regions, by_start);
    for (uint32_t i = 0; i < rd->region_count; i++) {
        if (rd->regions[i].start < end)
            continue;
        end = rd->regions[i].end;
        rd->regions[image->region_count++] = rd->regions[i];
    }
    image->regions = rd->regions;
    image->regions_torn = rd->torn;
    if (!rd->report->wants_regions)
        return;
    image->region_sites = must_have(calloc((size_t)image->region_count + 1, sizeof *image->region_sites));
    for (uint32_t i = 0; i < image->region_count; i++) {
        uint32_t stack = image->regions[i].stack;
        image->region_sites[i] = stack ? site_of_stack(rd->report, image, stack) : NO_SITE;
    }
}

static int by_call(const void *a_, const void *b_)
{
    const struct map_region *a = *(const struct map_region *const *)a_, *b = *(const struct map_region *const *)b_;

    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* What the image itself has mapped, when all is known: nothing of it can have gone unseen. */
static void take_mapped(struct reading *rd)
{
    struct image *image = rd->image;
    const struct map_region **list;
    uint32_t count = 0;

    if (!rd->report->wants_mapped || !(image->maps.flags & MAP_SUM_COMPARED) || image_was_replaced(image))
        return;
    list = must_have(calloc((size_t)image->region_count + 1, sizeof *list));
    for (uint32_t i = 0; i < image->region_count; i++) {
        const struct map_region *m = &image->regions[i];
        if (m->origin == MAP_CALLED && (m->call == 0 || m->call >= image->maps.first_call))
            list[count++] = m;
    }
    qsort(list, count, sizeof *list, by_call);
    for (uint32_t i = 0; i < count; i++)
        mapping_take(rd->report, image, list[i], i == 0 || list[i]->call == 0 || list[i]->call != list[i - 1]->call);
    free(list);
}

static int by_chunk(const void *a_, const void *b_)
{
    const struct chunk_root *a = a_, *b = b_;

    if (a->chunk != b->chunk)
        return a->chunk < b->chunk ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Number n is at n - 1. */
static struct root_record *roots_in_order(struct reading *rd)
{
    struct root_record *roots = must_have(calloc((size_t)rd->root_count + 1, sizeof *roots));

    if (rd->root_count > 0)
        qsort(rd->roots, rd->root_count, sizeof *rd->roots, by_chunk);
    for (uint32_t i = 0; i < rd->root_count; i++)
        memcpy(&roots[i], &rd->roots[i].root, sizeof roots[i]);
    return roots;
}

/* ---- areas --------------------------------------------------------------------------------- */

static void read_check(struct reading *rd, const struct segment *s, uint64_t at)
{
    const struct leak_check_record *check = segment_item(s, 0);

    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0 ||
        atomic_load_explicit(&check->told, memory_order_relaxed) != 0)
        return;
    memcpy((void *)&rd->check, (const void *)check, sizeof rd->check);
    rd->check_at = at + sizeof *s;
}

/* `at`: where it lies in the file. */
static void read_segment(struct reading *rd, const struct segment *s, uint64_t at)
{
    if (atomic_load_explicit(&s->state, memory_order_relaxed) != SEGMENT_CURRENT)
        return;
    if (s->kind == SEGMENT_TEXTS)
        read_texts(rd, s);
    if (map_read_segment(rd->report, rd->image, s) || rd->what == READ_MAP)
        return;
    if (rd->what == READ_CHECK) {
        if (s->kind == SEGMENT_LEAK_CHECKS)
            read_check(rd, s, at);
        else if (s->kind == SEGMENT_CHECK_LEAKS)
            note_leaks(rd);
        else if (s->kind == SEGMENT_CHECK_ROOTS)
            read_roots(rd, s);
        return;
    }
    if (s->kind == SEGMENT_SLAB)
        read_slab(rd, s);
    else if (s->kind == SEGMENT_LARGE)
        read_large(rd, s);
    else if (s->kind == SEGMENT_RECORDED)
        read_recorded(rd, s);
    else if (s->kind == SEGMENT_THREADS)
        read_threads(rd, s);
    else if (s->kind == SEGMENT_ERRORS)
        read_errors(rd, s);
    else if (s->kind == SEGMENT_LEAKS)
        note_leaks(rd);
    else if (s->kind == SEGMENT_ROOTS)
        read_roots(rd, s);
    else if (s->kind == SEGMENT_MAPPINGS)
        read_mappings(rd, s);
    else if (s->kind == SEGMENT_MAP_SUM)
        read_map_sum(rd, s);
    else if (s->kind == SEGMENT_MARKS)
        read_marks(rd, s);
    else if (s->kind == SEGMENT_DISPATCHED)
        read_dispatched(rd, s);
    else if (s->kind == SEGMENT_COSTS)
        read_costs(rd, s);
}

static void note_bad(struct report *r, uint32_t area, uint32_t image, struct verify_error wrong)
{
    for (uint32_t i = 0; i < r->bad_count; i++)
        if (r->bad[i].area == area && r->bad[i].image == image)
            return;
    r->bad = grow(r->bad, r->bad_count, sizeof r->bad[0]);
    r->bad[r->bad_count++] = (struct bad_area){area, image, wrong.what, wrong.offset};
}

bool read_good_area(struct report *r, const struct image *image, uint32_t area, struct area_copy *copy)
{
    struct verify_error wrong = {"area cannot be read", area_offset(r->view.run, area)};

    for (int tries = 0; tries < READ_TRIES; tries++) {
        if (view_read_area(&r->view, area, copy))
            break;
        if (view_verify_area(&r->view, area, copy, &wrong))
            return true;
        area_copy_drop(copy);
        if (image->gone)
            break;
    }
    note_bad(r, area, image->number, wrong);
    return false;
}

bool area_is_of(const struct report *r, uint32_t area, uint32_t number)
{
    uint64_t owner =
        atomic_load_explicit(&view_area_entry(&r->view, area)->owner, memory_order_relaxed);
    return owner == area_owner(AREA_CLAIMED, number);
}

static void read_areas(struct reading *rd)
{
    struct report *r = rd->report;

    for (uint32_t area = 1; area < view_area_end(&r->view); area++) {
        struct area_copy copy;
        const struct segment *s;
        uint64_t off = 0;
        if (!area_is_of(r, area, rd->image->number) || !read_good_area(r, rd->image, area, &copy))
            continue;
        rd->area = area;
        if (copy_image(&copy))
            image_update(rd->image, copy_image(&copy));
        while ((s = copy_next_segment(&copy, &off)))
            read_segment(rd, s, area_offset(r->view.run, area) + (uint64_t)((const char *)s - copy.at));
        area_copy_drop(&copy);
    }
}

void orphans_check(struct report *r)
{
    for (uint32_t area = 1; area < view_area_end(&r->view); area++) {
        uint64_t owner = atomic_load_explicit(&view_area_entry(&r->view, area)->owner,
                                              memory_order_relaxed);
        struct image nobody = {.number = area_owner_image(owner)};
        struct area_copy copy;
        if (area_owner_state(owner) == AREA_CLAIMED && !image_of(r, nobody.number) &&
            read_good_area(r, &nobody, area, &copy))
            area_copy_drop(&copy);
    }
}

/* An image that still runs may have added to its map since it was read; once per round is enough. */
void image_read_map(struct report *r, struct image *image)
{
    struct reading rd = {.report = r, .image = image, .what = READ_MAP};

    if (image->absorbed || image->map_tried)
        return;
    image->map_tried = true;
    image->thread_count = 0;
    read_areas(&rd);
    take_own(&rd);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void sum_parts(struct reading *rd, struct counts *all)
{
    struct part *part, *next;

    for (uint32_t i = 0; i < rd->recorded.count; i++)
        counts_add(all, rd->recorded.items[i].stack, rd->recorded.items[i].blocks, rd->recorded.items[i].bytes);
    counts_free(&rd->recorded);
    HASH_ITER (hh, rd->parts, part, next) {
        for (uint32_t i = 0; i < part->count; i++)
            counts_add(all, part->counts[i].stack, part->counts[i].blocks, part->counts[i].bytes);
        if (part->large.blocks > 0)
            counts_add(all, part->large.stack, part->large.blocks, part->large.bytes);
        rd->image->allocs += part->allocs;
        rd->image->frees += part->frees;
        own_share_add_blocks(&rd->report->own_share, part->blocks, part->record_bytes, part->around_bytes);
        HASH_DEL(rd->parts, part);
        free(part->counts);
        free(part);
    }
}

static void use_stacks(struct report *r, struct image *image, const struct counts *all)
{
    image->uses = must_have(calloc(all->count + 1, sizeof image->uses[0]));
    image->use_count = all->count;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct count *c = &all->items[i];
        image->uses[i] = (struct use){site_of_stack(r, image, c->stack), c->blocks, c->bytes};
        image->live_blocks += c->blocks;
        image->live_bytes += c->bytes;
    }
}

static void take_groups(struct reading *rd, const struct segment *s, const struct root_record *roots)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    enum segment_kind wanted = rd->what == READ_CHECK ? SEGMENT_CHECK_LEAKS : SEGMENT_LEAKS;

    if (s->kind != wanted || atomic_load_explicit(&s->state, memory_order_relaxed) != SEGMENT_CURRENT)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct leak_group *g = segment_item(s, i);
        if (rd->check.flags & LEAK_CHECK_NEW && g->new_blocks == 0)
            continue; /* not asked for */
        leak_take(rd->report, rd->image, g, roots, rd->root_count);
    }
}

/* Groups without the word that they are all there are were being written. */
static void take_leaks(struct reading *rd)
{
    struct root_record *roots = roots_in_order(rd);

    for (uint32_t i = 0; rd->image->leak_check == LEAKS_FOUND && i < rd->leak_area_count; i++) {
        struct area_copy copy;
        const struct segment *s;
        uint64_t off = 0;
        if (!read_good_area(rd->report, rd->image, rd->leak_areas[i], &copy))
            continue;
        while ((s = copy_next_segment(&copy, &off)))
            take_groups(rd, s, roots);
        area_copy_drop(&copy);
    }
    free(roots);
    free(rd->roots);
    free(rd->leak_areas);
}

void image_collect(struct report *r, struct image *image)
{
    struct reading rd = {.report = r, .image = image};
    struct counts all = {0};

    if (image->collected)
        return;
    image->collected = true;
    image->map_tried = true;
    image->thread_count = 0;
    read_areas(&rd);
    sum_parts(&rd, &all);
    use_stacks(r, image, &all);
    image->error_places = rd.error_count;
    errors_take(r, image, rd.errors, rd.error_count);
    take_own(&rd);
    take_leaks(&rd);
    take_regions(&rd);
    take_mapped(&rd);
    free(rd.errors);
    counts_free(&rd.scratch);
    counts_free(&all);
}

bool image_read_check(struct report *r, struct image *image, struct leak_check_record *check, uint64_t *at)
{
    struct reading rd = {.report = r, .image = image, .what = READ_CHECK};

    image->map_tried = true; /* read again it would be as its header has it */
    image->thread_count = 0;
    read_areas(&rd);
    memcpy((void *)check, (const void *)&rd.check, sizeof *check);
    *at = rd.check_at;
    take_own(&rd);
    image->leak_check = check->result < LEAKS_CHECK_COUNT ? check->result : LEAKS_CHECK_COUNT;
    image->threads_unheard = check->threads_unheard;
    take_leaks(&rd); /* of none it found nothing */
    return atomic_load_explicit(&check->number, memory_order_relaxed) != 0;
}
