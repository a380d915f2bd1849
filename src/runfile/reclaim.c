/*
 * reclaim.c - return areas of ended images to the run.
 *
 * A process that finds many areas of dead processes in the table reclaims them, unless a living
 * process may still read them.  A launcher does this all the time, and reads the areas first.
 */
#include "heap.h"
#include "runfile_priv.h"

#define LAUNCHER_WAITS 50u
#define LAUNCHER_WAIT_NS 1000000u
#define CROWDED_BY_HAND 64u /* by hand nothing reads dead images first: their details are lost */
/* a process acts if more areas are in use; the launcher lags if more dead ones are left */
#define CROWDED 28u
#define ENDED_MAX 256u

/* ---- one area -------------------------------------------------------------------------------- */

/* Count a live block that the image allocated; inherited blocks are its parent's. */
static void tally_block(uint64_t word, uint64_t bytes, struct run_tally *sum)
{
    if (word_state(word) != BLOCK_LIVE || word_mark(word) == MARK_INHERITED)
        return;
    atomic_fetch_add(&sum->live_blocks, 1);
    atomic_fetch_add(&sum->live_bytes, bytes);
}

static void tally_segment(const struct segment *s, struct run_tally *sum)
{
    for (uint32_t i = 0; s->state == SEGMENT_CURRENT && i < s->count; i++) {
        const void *item = (const char *)segment_items(s) + (size_t)i * s->item_bytes;
        const struct thread_record *thread = item;
        const struct block_record *block = item;
        const struct large_record *large = item;
        if (s->kind == SEGMENT_THREADS && s->item_bytes == sizeof *thread) {
            atomic_fetch_add(&sum->allocs, thread->allocs);
            atomic_fetch_add(&sum->frees, thread->frees);
        } else if (s->kind == SEGMENT_SLAB && s->item_bytes == RECORD_BYTES) {
            tally_block(block->word, word_size(block->word), sum);
        } else if (s->kind == SEGMENT_LARGE && s->item_bytes == sizeof *large) {
            tally_block(large->superseded ? 0 : large->block.word, large->request, sum);
        }
    }
}

/* Add an image's operations and live blocks to the tally, before its details are removed. */
static void tally(const char *area, uint64_t bytes)
{
    const struct area_head *head = (const struct area_head *)(const void *)area;
    struct run_tally *sum = &run_header()->reclaimed;
    uint64_t used = head->used_bytes < bytes ? head->used_bytes : bytes;
    uint64_t at = RTC_AREA_HEAD_BYTES;
    if (head->ordinal == 0) {
        image_count(&sum->images);
        at = align_up(at + sizeof(struct image_header), RTC_SEGMENT_ALIGN);
    }
    while (at + sizeof(struct segment) <= used) {
        const struct segment *s = (const struct segment *)(const void *)(area + at);
        if (s->bytes < sizeof *s || !range_inside(at, s->bytes, used))
            return;
        if (range_inside(sizeof *s, (uint64_t)s->count * s->item_bytes, s->bytes))
            tally_segment(s, sum);
        at += s->bytes;
    }
}

/* An area of an ended image; before it is reclaimed, another image may have claimed it. */
struct ended_area {
    uint32_t area;
    uint32_t image;
};

static void reclaim_image(const struct ended_area *d)
{
    struct area_entry *e = &run_areas()[d->area];
    uint64_t claimed = area_owner(AREA_CLAIMED, d->image);
    if (!atomic_compare_exchange_strong(&e->owner, &claimed, area_owner(AREA_RECLAIMING, d->image)))
        return;
    uint32_t bytes = atomic_load_explicit(&e->populated_bytes, memory_order_acquire);
    char *at = run_area(d->area);
    if (bytes && bytes <= run_header()->area_bytes && os_allow(at, bytes) == 0) {
        tally(at, bytes);
        os_release_file(at, bytes);
    }
    atomic_store_explicit(&e->populated_bytes, 0, memory_order_relaxed);
    area_free(e);
}

/* ---- which images are over ------------------------------------------------------------------- */

/* Find areas of ended images, up to ENDED_MAX; returns their number. */
static uint32_t find_ended(struct ended_area ended[ENDED_MAX])
{
    uint32_t used = atomic_load_explicit(&run_header()->next_area, memory_order_relaxed);
    uint32_t count = 0;
    for (uint32_t i = 1; i < used && i < run_area_limit() && count < ENDED_MAX; i++) {
        struct area_entry *e = &run_areas()[i];
        uint64_t owner = atomic_load_explicit(&e->owner, memory_order_acquire);
        uint32_t pid = atomic_load_explicit(&e->pid, memory_order_relaxed);
        /* Another image of this process: this image replaced it by exec. */
        bool replaced = pid == image_pid() && area_owner_image(owner) != image_number();
        if (area_owner_state(owner) == AREA_CLAIMED && pid && (replaced || os_process_gone(pid)))
            ended[count++] = (struct ended_area){i, area_owner_image(owner)};
    }
    return count;
}

static void reclaim(bool must)
{
    struct ended_area ended[ENDED_MAX];
    uint32_t count = os_sandboxed() ? 0 : find_ended(ended);
    if (count < CROWDED_BY_HAND && !must)
        return;
    leases_drop_unneeded();
    for (uint32_t i = 0; i < count; i++)
        if (!image_is_read(ended[i].image, 4))
            reclaim_image(&ended[i]);
}

/* A living launcher reclaims better: it reads the images first. */
static bool launcher_reclaims(void)
{
    uint32_t pid = run_header()->launcher_pid;
    return pid && !os_process_gone(pid);
}

/*
 * Are there many dead areas that the launcher could reclaim, because no living process reads them?
 */
static bool lags(void)
{
    struct ended_area ended[ENDED_MAX];
    uint32_t count = os_sandboxed() ? 0 : find_ended(ended), read = 0;
    for (uint32_t i = 0; count > CROWDED && i < count; i++)
        read += image_is_read(ended[i].image, 4);
    return count - read > CROWDED;
}

/*
 * Forks can be faster than the launcher reads ended images.  So forking processes wait for it, or
 * the run file would grow with the number of forks.  Bounded, because the launcher may be stopped.
 */
static void wait_for_launcher(void)
{
    for (unsigned i = 0; i < LAUNCHER_WAITS && lags(); i++) {
        run_ring();
        os_wait(&run_header()->unrecorded_images, atomic_load(&run_header()->unrecorded_images),
                LAUNCHER_WAIT_NS, true);
    }
}

void reclaim_if_crowded(void)
{
    uint32_t used = atomic_load_explicit(&run_header()->next_area, memory_order_relaxed);
    if (used > CROWDED && !launcher_reclaims())
        reclaim(false);
    else if (used > CROWDED)
        wait_for_launcher();
}

void reclaim_all(void)
{
    reclaim(true);
}
