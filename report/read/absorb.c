/*
 * absorb.c - reclaim ended images while the run continues.
 *
 * A shell script creates thousands of processes, and each owns an area until its data has been
 * read. The launcher reads it here: the image's records become part of the report, and its areas
 * are emptied and freed. An image is reclaimed only if its process has certainly ended and no
 * descendant can still read its records (images.c). Its totals are added to the run's header, for
 * readers of the file after the launcher was killed. Images with errors or leaks stay, up to
 * KEPT_MAX (is_to_be_kept), and so does the program's last image: a saved file must contain what there is to show.
 *
 * Only the run's head is ever mapped here; it has no holes that a mapping could fill. Every step
 * leaves a file that verify.c accepts: an area is RECLAIMING while it is emptied, and never CLAIMED
 * without its data.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "read_priv.h"

#define KEPT_MAX 32u        /* images that keep their areas */
#define KEPT_BLOCKS_MAX 16u /* of them, before images with blocks in use keep none */

/* The live head, shared with the run. Its geometry is taken from the verified copy. */
struct live_head {
    char *at;
    uint64_t bytes;
};

static int head_map(const struct view *v, int fd, struct live_head *out)
{
    out->bytes = align_up(run_tables_end(v->run), RTC_AREA_HEAD_BYTES);
    out->at = mmap(NULL, out->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return out->at == MAP_FAILED ? -errno : 0;
}

static struct area_entry *live_area(const struct view *v, const struct live_head *head,
                                    uint32_t area)
{
    return (struct area_entry *)(void *)(head->at + v->run->area_table_offset) + area;
}

static struct lease *live_lease(const struct view *v, const struct live_head *head, uint32_t index)
{
    return (struct lease *)(void *)(head->at + v->run->lease_table_offset) + index;
}

/* ---- giving back ----------------------------------------------------------------------------- */

static void add_tally(struct run_tally *t, const struct image *image)
{
    atomic_fetch_add(&t->images, 1);
    atomic_fetch_add(&t->allocs, image->allocs);
    atomic_fetch_add(&t->frees, image->frees);
    atomic_fetch_add(&t->live_blocks, image->live_blocks);
    atomic_fetch_add(&t->live_bytes, image->live_bytes);
}

/* Punch the hole before the area can be claimed: its next owner must find zeros. */
static void empty_area(const struct view *v, const struct live_head *head, int fd, uint32_t area,
                       uint32_t image)
{
    struct area_entry *entry = live_area(v, head, area);
    uint64_t owner = area_owner(AREA_CLAIMED, image);

    if (!atomic_compare_exchange_strong(&entry->owner, &owner, area_owner(AREA_RECLAIMING, image)))
        return;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)area_offset(v->run, area),
                  (off_t)v->run->area_bytes) < 0)
        return; /* stays RECLAIMING: unusable, but harmless */
    atomic_store(&entry->populated_bytes, 0);
    atomic_store(&entry->pid, 0);
    atomic_store(&entry->owner, area_owner(AREA_FREE, 0));
}

/* heap=file: its heap in the file. */
static void empty_heap(const struct view *v, const struct live_head *head, int fd, uint32_t image)
{
    struct heap_slot *slots =
        v->run->heap_count ? run_heap_slots((struct run_header *)(void *)head->at) : NULL;

    for (uint32_t i = 0; i < v->run->heap_count; i++) {
        uint64_t owner = atomic_load(&slots[i].owner), taken = heap_owner(UINT32_MAX, 0);
        if ((uint32_t)owner != image ||
            !atomic_compare_exchange_strong(&slots[i].owner, &owner, taken))
            continue;
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      (off_t)(v->run->heap_offset + i * v->run->heap_bytes),
                      (off_t)v->run->heap_bytes) == 0)
            atomic_store(&slots[i].owner, 0);
    }
}

static bool lease_is_over(const struct lease *lease, const struct image *image)
{
    if (lease->parent == image->number)
        return true; /* no live reader: it would have set image->needed */
    return lease->parent == image->parent && atomic_load(&lease->child) == image->number;
}

static void free_lease_of(struct lease *lease, const struct image *image)
{
    uint32_t state = atomic_load(&lease->state), pid = atomic_load(&lease->pid);

    if (lease_is_over(lease, image))
        lease_release(lease, state, pid);
}

static void give_back(const struct view *v, const struct live_head *head, int fd,
                      const struct image *image)
{
    bool tallied = false;

    for (uint32_t area = 1; area < view_area_end(v); area++) {
        uint64_t owner =
            atomic_load_explicit(&view_area_entry(v, area)->owner, memory_order_relaxed);
        if (owner != area_owner(AREA_CLAIMED, image->number))
            continue;
        if (!tallied)
            add_tally(&((struct run_header *)(void *)head->at)->reclaimed, image);
        tallied = true;
        empty_area(v, head, fd, area, image->number);
    }
    empty_heap(v, head, fd, image->number);
    for (uint32_t i = 0; i < v->run->lease_count; i++)
        free_lease_of(live_lease(v, head, i), image);
}

/*
 * Clear the pid of areas that stay until the end. A process that forks counts areas of dead
 * processes that the launcher will read (src/runfile/reclaim.c); it must not wait for these.
 */
static void keep_areas(const struct view *v, const struct live_head *head,
                       const struct image *image)
{
    for (uint32_t area = 1; area < view_area_end(v); area++) {
        struct area_entry *entry = live_area(v, head, area);
        if (atomic_load(&entry->owner) == area_owner(AREA_CLAIMED, image->number))
            atomic_store(&entry->pid, 0);
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static bool is_over(const struct image *image)
{
    return image->gone && !image->needed && !image->absorbed && !image->kept;
}

/* An image that exec has replaced is not the program any more. */
static bool is_of_program(const struct report *r, const struct image *image)
{
    return image->pid_known && image->pid == r->kept_pid && !image_has_exec_successor(image);
}

/*
 * Keep images with errors or leaks for later readers of the file; KEPT_MAX of them are enough.  If
 * the report prints ids of blocks in use, images with such blocks stay, too, as long as half of the
 * number is left for images with errors.
 */
static bool is_to_be_kept(const struct report *r, const struct image *image)
{
    uint32_t kept = 0;

    if (is_of_program(r, image))
        return true;
    for (const struct image *other = r->images; other; other = other->hh.next)
        kept += other->kept;
    if (image->error_sites > 0 || image->leak_index > 0)
        return kept < KEPT_MAX;
    return r->keeps_blocks && image->use_count > 0 && kept < KEPT_BLOCKS_MAX;
}

static uint32_t count_over(const struct report *r)
{
    uint32_t count = 0;
    for (const struct image *image = r->images; image; image = image->hh.next)
        count += is_over(image);
    return count;
}

/* Any order is correct: stacks are read from the file, or from what is kept of absorbed images. */
static void absorb_all(struct report *r, const struct live_head *head, int fd)
{
    for (struct image *image = r->images; image; image = image->hh.next) {
        if (!is_over(image))
            continue;
        image_collect(r, image);
        image->kept = is_to_be_kept(r, image);
        if (image->kept) {
            keep_areas(&r->view, head, image);
            continue;
        }
        give_back(&r->view, head, fd, image);
        add_tally(&r->absorbed, image);
        image->absorbed = true;
    }
}

void report_keep(struct report *r, uint32_t pid)
{
    r->kept_pid = pid;
}

void report_keep_blocks(struct report *r)
{
    r->keeps_blocks = true;
}

int report_absorb_ended(struct report *r, int fd)
{
    struct live_head head;
    int err = images_refresh(r);
    int count;

    if (err)
        return err;
    for (struct image *image = r->images; image; image = image->hh.next)
        image->map_tried = false;
    images_mark_gone(r);
    images_mark_needed(r);
    count = (int)count_over(r);
    if (count == 0)
        return 0;
    err = head_map(&r->view, fd, &head);
    if (err)
        return err;
    absorb_all(r, &head, fd);
    munmap(head.at, head.bytes);
    images_retire(r);
    return count;
}
