/*
 * now.c - counters of a process while it runs, from the records that it keeps in any case.
 *
 * Each thread counts calls and bytes in a record of its own; no thread is stopped. Counters only
 * grow, so two equal readings of all records are a consistent snapshot of the time between them.
 * After MOMENT_TRIES different readings there is no snapshot. Then frees are those of the reading
 * before, so that blocks in use are never too few. A thread that has counted a block but not yet
 * its bytes is not detected: bytes may be off by one block for each thread.
 *
 * All other values are of the time when their area was read. The quarantine is counted from all
 * block records in the freed state; in a forked child, only from those that it has written since
 * the fork.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "now.h"
#include "read_priv.h"

#define MOMENT_TRIES 32
#define EXEC_NS 200000000u /* an exec that has not failed by then has succeeded */

/* Positions of thread records in the file, from verified areas. */
struct chunk {
    uint64_t offset;
    uint32_t count;
};

struct chunks {
    struct chunk *at;
    uint32_t count;
};

struct sums {
    uint64_t allocs, frees, alloc_bytes, free_bytes, reallocs;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- counters -------------------------------------------------------------------------------- */

static bool sums_read(const struct view *v, const struct chunks *c, struct sums *sums)
{
    struct thread_record record[THREAD_CHUNK];

    *sums = (struct sums){0};
    for (uint32_t i = 0; i < c->count; i++) {
        if (view_read(v, c->at[i].offset, record, c->at[i].count * sizeof record[0]))
            return false;
        for (uint32_t k = 0; k < c->at[i].count; k++) {
            sums->allocs += atomic_load_explicit(&record[k].allocs, memory_order_relaxed);
            sums->frees += atomic_load_explicit(&record[k].frees, memory_order_relaxed);
            sums->alloc_bytes += atomic_load_explicit(&record[k].alloc_bytes, memory_order_relaxed);
            sums->free_bytes += atomic_load_explicit(&record[k].free_bytes, memory_order_relaxed);
            sums->reallocs += atomic_load_explicit(&record[k].reallocs, memory_order_relaxed);
        }
    }
    return true;
}

static bool sums_are_same(const struct sums *a, const struct sums *b)
{
    return a->allocs == b->allocs && a->frees == b->frees && a->alloc_bytes == b->alloc_bytes &&
           a->free_bytes == b->free_bytes && a->reallocs == b->reallocs;
}

/* false: the records cannot be read. */
static bool counters_read(const struct view *v, const struct chunks *c, struct now *now)
{
    struct sums sums, before;

    if (!sums_read(v, c, &sums))
        return false;
    before = sums;
    for (int i = 0; i < MOMENT_TRIES && !now->is_moment; i++) {
        before = sums;
        if (!sums_read(v, c, &sums))
            return false;
        now->is_moment = sums_are_same(&before, &sums);
    }
    now->allocs = sums.allocs;
    now->alloc_bytes = sums.alloc_bytes;
    now->frees = before.frees;
    now->free_bytes = before.free_bytes;
    now->reallocs = sums.reallocs;
    return true;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void threads_take(const struct segment *s, uint64_t offset, struct chunks *c,
                         struct now *now)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    count = count < THREAD_CHUNK ? count : THREAD_CHUNK;
    c->at = grow(c->at, c->count, sizeof *c->at);
    c->at[c->count++] = (struct chunk){offset + sizeof *s, count};
    for (uint32_t i = 0; i < count; i++) {
        const struct thread_record *t = segment_item(s, i);
        now->threads += atomic_load_explicit(&t->tid, memory_order_relaxed) != 0 &&
                        atomic_load_explicit(&t->gone, memory_order_relaxed) == 0;
        now->inherited_blocks += t->inherited_blocks;
        now->inherited_bytes += t->inherited_bytes;
    }
}

static void quarantine_add(struct now *now, uint64_t word, uint64_t bytes)
{
    if (word_state(word) != BLOCK_FREED)
        return;
    now->quarantine_blocks++;
    now->quarantine_bytes += bytes;
}

static void slab_take(const struct segment *s, struct now *now)
{
    for (uint32_t i = 0; i < s->capacity; i++) {
        const struct block_record *b = segment_item(s, i);
        uint64_t word = atomic_load_explicit(&b->word, memory_order_relaxed);
        quarantine_add(now, word, s->slot_bytes);
    }
}

static void large_take(const struct segment *s, struct now *now)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct large_record *l = segment_item(s, i);
        if (!atomic_load_explicit(&l->superseded, memory_order_relaxed))
            quarantine_add(now, atomic_load_explicit(&l->block.word, memory_order_relaxed),
                           l->units << RTC_UNIT_SHIFT);
    }
}

static void errors_count(const struct segment *s, struct now *now)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct error_record *e = segment_item(s, i);
        uint32_t kind = atomic_load_explicit(&e->kind, memory_order_relaxed);
        uint64_t times =
            kind != ERROR_NONE ? atomic_load_explicit(&e->count, memory_order_relaxed) : 0;
        now->errors += times;
        now->oom += kind == ERROR_OOM ? times : 0;
    }
}

static void map_take(const struct segment *s, struct now *now)
{
    const struct map_sum *sum = segment_item(s, 0);

    if (atomic_load_explicit(&s->count, memory_order_relaxed) == 0)
        return;
    now->mapped_bytes = atomic_load_explicit(&sum->bytes, memory_order_relaxed);
}

static void ranges_count(const struct segment *s, struct now *now)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct map_region *m = segment_item(s, i);
        now->maps += m->origin == MAP_CALLED && m->start < m->end;
    }
}

static void segment_take(const struct segment *s, uint64_t offset, struct chunks *c,
                         struct now *now)
{
    if (atomic_load_explicit(&s->state, memory_order_relaxed) != SEGMENT_CURRENT)
        return;
    if (s->kind == SEGMENT_THREADS)
        threads_take(s, offset, c, now);
    else if (s->kind == SEGMENT_SLAB)
        slab_take(s, now);
    else if (s->kind == SEGMENT_LARGE)
        large_take(s, now);
    else if (s->kind == SEGMENT_ERRORS)
        errors_count(s, now);
    else if (s->kind == SEGMENT_MAP_SUM)
        map_take(s, now);
    else if (s->kind == SEGMENT_MAPPINGS)
        ranges_count(s, now);
}

/* ---- an image -------------------------------------------------------------------------------- */

static void header_take(struct image *image, const struct image_header *h, struct now *now)
{
    image_update(image, h);
    now->is_partial = image->flags & IMAGE_METADATA_PRIVATE;
    now->peak_bytes = image->peak_bytes;
    now->shadow_bytes =
        image->segment_bytes + atomic_load_explicit(&h->pc_bytes, memory_order_relaxed);
    now->baf = image->bad_frees[BAD_FREE_BAD];
    now->duf = image->bad_frees[BAD_FREE_DUPLICATE];
    now->maf = image->bad_frees[BAD_FREE_MISALIGNED];
    now->dropped = image->errors_unrecorded;
    now->leak_checks = image->leak_checks;
    now->heap_bytes = atomic_load_explicit(&h->heap_bytes, memory_order_relaxed);
    now->known = true;
}

/* All areas before the last one are full. */
static void pool_add(const struct view *v, const struct area_head *head, struct now *now)
{
    uint64_t used = atomic_load_explicit(&head->used_bytes, memory_order_relaxed),
             each = v->run->area_bytes;

    now->pool_bytes += each;
    if (now->pool_bytes > each && head->ordinal < now->last_ordinal) {
        now->pool_used += each;
        return;
    }
    now->last_ordinal = head->ordinal;
    now->pool_used = now->pool_bytes - each + (used < each ? used : each);
}

static void area_take(struct report *r, struct image *image, uint32_t area, struct chunks *c,
                      struct now *now)
{
    struct area_copy copy;
    const struct segment *s;
    uint64_t off = 0;

    if (!read_good_area(r, image, area, &copy)) {
        now->is_damaged = true;
        return;
    }
    pool_add(&r->view, copy_head(&copy), now);
    if (copy_image(&copy))
        header_take(image, copy_image(&copy), now);
    while ((s = copy_next_segment(&copy, &off)))
        segment_take(s, area_offset(r->view.run, area) + off, c, now);
    area_copy_drop(&copy);
}

/* In use = inherited + allocated - freed. */
static void use_count(const struct image *image, struct now *now)
{
    uint64_t blocks = now->inherited_blocks + now->allocs,
             bytes = now->inherited_bytes + now->alloc_bytes;
    bool has_counts = image->how != IMAGE_FORK || now->has_inherited_counts;

    now->use_known = has_counts && image->how != IMAGE_FORK_UNSEEN;
    now->blocks = blocks > now->frees ? blocks - now->frees : 0;
    now->bytes = bytes > now->free_bytes ? bytes - now->free_bytes : 0;
    if (now->use_known && now->peak_bytes < now->bytes)
        now->peak_bytes = now->bytes; /* threads update the peak later */
}

bool now_read(struct report *r, struct image *image, struct now *now)
{
    struct chunks chunks = {0};

    *now =
        (struct now){.time_ns = now_ns(), .has_inherited_counts = r->view.run->version_minor >= 6};
    for (uint32_t area = 1; area < view_area_end(&r->view); area++)
        if (area_is_of(r, area, image->number))
            area_take(r, image, area, &chunks, now);
    now->is_end_known = now->known || image->state == IMAGE_ENDING;
    now->known = now->known && counters_read(&r->view, &chunks, now);
    if (image->state == IMAGE_ENDING && image->end_ns > image->start_ns) {
        now->has_left = image->end_how == END_EXEC && now->time_ns > image->end_ns + EXEC_NS;
        now->time_ns = image->end_ns; /* nothing has changed since */
    }
    use_count(image, now);
    free(chunks.at);
    return now->known;
}
