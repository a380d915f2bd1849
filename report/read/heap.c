/*
 * heap.c - the heap of a process in the run file: blocks and bytes, also after its death.
 *
 * The parts of a heap, its slabs and large blocks, are taken from the segments of its image.  If a
 * process was killed while it copied a slab after a fork, two current copies of the slab remain: the
 * one with the higher epoch is valid.  Offsets of parts are checked against the heap's size, which
 * verify.c does not know.
 *
 * A forked child has records only of slabs and blocks that it has changed.  The others are in its
 * parent's segments, by its lease: those that were current in the lease's epoch, also if the parent has
 * superseded them since.  The parent's own parent follows by the parent's lease.  Epochs increase from
 * parent to child, so of parts that overlap the one with the highest epoch is the latest.  If the child
 * has freed all of a slab and given it back, no record is left that says so: such blocks are marked as
 * inherited.
 *
 * With --fork=private a child has no heap in the file.  Its blocks from before the fork are in that of its
 * ancestor, whose heap has been private memory since the same fork or an earlier one.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "format/pattern.h"
#include "heap.h"
#include "machine.h"
#include "read_priv.h"

#define CHUNK_BYTES (64u << 10)

/* ---- where the heap is ----------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * Which heap of the file is the image's?  Before minor version 17 there was one.  Of a heap that forked children
 * share no process is the owner (runfile/heap_file.c).
 */
static bool heap_number(const struct run_header *run, const struct image_header *image,
                        uint32_t *number, bool *is_shared)
{
    const struct heap_slot *slots = run->heap_count ? run_heap_slots(run) : NULL;

    *number = 0;
    *is_shared = false;
    if (!slots)
        return image->pid == atomic_load_explicit(&run->heap_taken, memory_order_relaxed);
    for (; *number < run->heap_count; (*number)++) {
        uint64_t owner = atomic_load_explicit(&slots[*number].owner, memory_order_relaxed);
        *is_shared = owner >> 32 == UINT32_MAX;
        if ((uint32_t)owner == image->image)
            return true;
    }
    return false;
}

/*
 * The heap of an image, from its verified header.  false: it is not in the file.  A kept copy ends after
 * its last data, which each unit with a block has: a claim of more is not believed.
 */
static bool heap_of_image(const struct view *v, const struct image_header *image, struct heap *h)
{
    const struct run_header *run = v->run;
    uint64_t bytes = atomic_load_explicit(&image->heap_bytes, memory_order_relaxed), stored;
    uint32_t flags = atomic_load_explicit(&image->flags, memory_order_relaxed), number;

    if (!(flags & IMAGE_HEAP_IN_FILE) || !heap_number(run, image, &number, &h->is_shared))
        return false;
    h->offset = run->heap_offset + number * run->heap_bytes;
    h->is_left = flags & IMAGE_HEAP_LEFT;
    h->owner = NULL;
    h->base = image->heap_base;
    h->bytes = least(bytes, run->heap_bytes);
    stored = v->stored_bytes > h->offset ? v->stored_bytes - h->offset : 0;
    h->bytes = least(h->bytes, align_up(stored, 1u << RTC_UNIT_SHIFT));
    return h->base % PAGE_BYTES == 0 && h->base <= UINT64_MAX - h->bytes;
}

static bool image_own_heap(struct report *r, const struct image *image, struct heap *h)
{
    struct area_copy copy;
    bool found;

    if (image->refused || !area_is_of(r, image->first_area, image->number) ||
        !read_good_area(r, image, image->first_area, &copy))
        return false;
    found = copy_image(&copy) && heap_of_image(&r->view, copy_image(&copy), h);
    area_copy_drop(&copy);
    return found;
}

/* The image's own heap, or the one from which a fork has made it private. */
static bool image_find_heap(struct report *r, struct image *image, struct heap *h)
{
    struct image *owner = image;

    while (owner && !image_own_heap(r, owner, h))
        owner = image_parent(r, owner);
    if (!owner || (owner != image && !h->is_left && !h->is_shared))
        return false; /* the owner's heap is in the file again: it has changed since the fork */
    h->image = image;
    h->owner = owner;
    return true;
}

/* Why there is no heap; NULL: it may be there. */
static const char *why_none(const struct view *v)
{
    const struct run_header *run = v->run;

    if (run->heap_error)
        return "the heap is private memory: --heap=file had failed";
    if (run->heap_offset == 0 || run->heap_bytes == 0)
        return "the heap is not in the run file: it needs --heap=file";
    if (v->finished && v->stored_bytes <= run->heap_offset)
        return "the heap is not in this copy of the run file: it is left out of packs, and of kept "
               "runs if its data exceeds " REPORT_HEAP_KEPT_TEXT;
    return NULL;
}

static int refuse(char *err, size_t room, const char *why)
{
    snprintf(err, room, "%s", why);
    return -ENODATA;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool add_part(struct heap *h, struct heap_part part)
{
    uint64_t units = h->bytes >> RTC_UNIT_SHIFT, end;

    if (!checked_add(part.unit, part.units, &end) || end > units)
        return false;
    h->parts = grow(h->parts, h->part_count, sizeof part);
    h->parts[h->part_count++] = part;
    return true;
}

/* The image whose records are read: that of the heap, or an ancestor, as it was in an epoch. */
struct whose {
    struct heap *heap;
    const struct image *image;
    bool is_past;
    uint64_t last_epoch;
};

static bool is_seen(const struct whose *w, uint64_t epoch, bool is_superseded)
{
    return w->is_past ? epoch <= w->last_epoch : !is_superseded;
}

static bool add_large(const struct whose *w, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);
    bool any = false;

    for (uint32_t i = 0; i < count; i++) {
        const struct large_record *l = segment_item(s, i);
        enum block_state state =
            word_state(atomic_load_explicit(&l->block.word, memory_order_relaxed));
        bool superseded = atomic_load_explicit(&l->superseded, memory_order_relaxed) != 0;
        if (state != BLOCK_NEVER && state != BLOCK_FREE && is_seen(w, l->epoch, superseded) &&
            add_part(w->heap, (struct heap_part){l->unit, l->units, l->epoch, NULL, l, w->is_past}))
            any = true;
    }
    return any;
}

/* Add the parts whose records are in this copy.  false: there are none. */
static bool add_parts(const struct whose *w, const struct area_copy *copy)
{
    const struct segment *s;
    uint64_t off = 0;
    bool any = false;

    while ((s = copy_next_segment(copy, &off))) {
        uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
        uint32_t state = atomic_load_explicit(&s->state, memory_order_relaxed);
        bool is_superseded = state == SEGMENT_SUPERSEDED;
        if (state != SEGMENT_CURRENT && !is_superseded)
            continue;
        if (s->kind == SEGMENT_LARGE && !is_superseded)
            any |= add_large(w, s);
        else if (s->kind == SEGMENT_SLAB && is_seen(w, epoch, is_superseded))
            any |= add_part(w->heap,
                            (struct heap_part){s->index, s->units, epoch, s, NULL, w->is_past});
    }
    return any;
}

/* By unit; the later epoch first. */
static int compare_parts(const void *a_, const void *b_)
{
    const struct heap_part *a = a_, *b = b_;

    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return a->epoch == b->epoch ? 0 : a->epoch > b->epoch ? -1 : 1;
}

/* Of parts that overlap the one with the highest epoch stays. */
static void sort_parts(struct heap *h)
{
    uint32_t kept = 0;

    if (h->part_count == 0)
        return;
    qsort(h->parts, h->part_count, sizeof h->parts[0], compare_parts);
    for (uint32_t i = 0; i < h->part_count; i++) {
        const struct heap_part new = h->parts[i];
        while (kept > 0 && h->parts[kept - 1].unit + h->parts[kept - 1].units > new.unit &&
               h->parts[kept - 1].epoch < new.epoch)
            kept--;
        if (kept == 0 || h->parts[kept - 1].unit + h->parts[kept - 1].units <= new.unit)
            h->parts[kept++] = new;
    }
    h->part_count = kept;
}

static void read_parts_of(const struct whose *w)
{
    struct heap *h = w->heap;
    struct report *r = h->report;

    for (uint32_t area = 1; area < view_area_end(&r->view); area++) {
        struct area_copy copy;
        if (!area_is_of(r, area, w->image->number) || !read_good_area(r, w->image, area, &copy))
            continue;
        if (!add_parts(w, &copy)) {
            area_copy_drop(&copy);
            continue;
        }
        h->areas = grow(h->areas, h->area_count, sizeof copy);
        h->areas[h->area_count++] = copy;
    }
}

/* The lease by which an image reads its parent's records.  NULL: it has none, or another fork has it now. */
static const struct lease *lease_of(const struct report *r, const struct image *image)
{
    const struct lease *lease;

    if (image->lease == 0 || image->lease > r->view.run->lease_count)
        return NULL;
    lease = view_lease(&r->view, image->lease - 1);
    return lease->parent == image->parent &&
                   atomic_load_explicit(&lease->child, memory_order_relaxed) == image->number
               ? lease
               : NULL;
}

/* The parts of the image, and those that it and its ancestors have inherited.  Numbers decrease to the parent. */
static void read_parts(struct heap *h)
{
    struct whose w = {.heap = h, .image = h->image, .last_epoch = UINT64_MAX};
    const struct lease *lease;

    read_parts_of(&w);
    while ((lease = lease_of(h->report, w.image)) && (w.image = image_parent(h->report, w.image)) &&
           !w.image->refused) {
        w.is_past = true;
        w.last_epoch = least(w.last_epoch, lease->epoch);
        read_parts_of(&w);
    }
    sort_parts(h);
}

/* The runtime's options that change what is around blocks. */
static void read_settings(struct heap *h)
{
    const struct run_header *run = h->report->view.run;
    const char *guard = run_setting(run, "guard"), *redzone = run_setting(run, "redzone_size");

    h->has_guards = (guard && strncmp(guard, "no", 2) != 0) || run_setting(run, "guard_stacks");
    h->wide = redzone ? (uint32_t)strtoul(redzone, NULL, 0) : 0; /* "auto": 0 */
}

int heap_open(struct report *r, struct heap *h, uint32_t number, char *err, size_t room)
{
    const char *why = why_none(&r->view);

    *h = (struct heap){.report = r, .chunk_at = UINT64_MAX};
    if (why)
        return refuse(err, room, why);
    for (struct image *image = r->images; image && !h->image; image = image->hh.next)
        if (number == 0 || image->number == number)
            image_find_heap(r, image, h);
    if (!h->image)
        return refuse(err, room,
                      number == 0
                          ? "the records of the process with the heap are not in the file"
                          : "the heap of the process is not in the file: a fork made it private "
                            "memory, or another process has taken its place");
    h->chunk = xalloc(malloc(CHUNK_BYTES));
    read_settings(h);
    read_parts(h);
    return 0;
}

int heap_image_of(const struct report *r, uint32_t pid, uint32_t *number, char *err, size_t room)
{
    bool is_comparable = false;

    *number = 0;
    for (const struct image *image = r->images; image && pid != 0; image = image->hh.next) {
        is_comparable |= image->pid_known || r->view.finished;
        if (image->pid == pid)
            *number = image->number;
    }
    if (*number != 0 || !is_comparable)
        return 0;
    snprintf(err, room, "the run has no process %u", pid);
    return -ENODATA;
}

void heap_close(struct heap *h)
{
    for (uint32_t i = 0; i < h->area_count; i++)
        area_copy_drop(&h->areas[i]);
    free(h->areas);
    free(h->parts);
    free(h->chunk);
    *h = (struct heap){0};
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool word_is_known(uint64_t word)
{
    return word_state(word) == BLOCK_LIVE || word_state(word) == BLOCK_FREED;
}

static uint64_t slot_word(const struct segment *s, uint32_t slot)
{
    const struct block_record *b = segment_item(s, slot);
    return atomic_load_explicit(&b->word, memory_order_relaxed);
}

static void take_record(struct heap_block *b, const struct block_record *record)
{
    uint64_t stacks = atomic_load_explicit(&record->stacks, memory_order_relaxed);

    b->word = atomic_load_explicit(&record->word, memory_order_relaxed);
    b->alloc_stack = (uint32_t)(stacks >> 32);
    b->free_stack = word_state(b->word) == BLOCK_LIVE ? 0 : (uint32_t)stacks;
}

/* What is certain of the bytes before a slot: those of the left slot's tail. */
static uint64_t before_slot(const struct heap *h, const struct segment *s, uint32_t slot)
{
    uint64_t left;

    if (slot == 0)
        return 0;
    if (slot == 1)
        return least(h->wide > REDZONE_TAIL ? h->wide : REDZONE_TAIL, s->slot_bytes);
    left = slot_word(s, slot - 1);
    return word_is_known(left) && word_size(left) < s->slot_bytes
               ? least(s->slot_bytes - word_size(left), REDZONE_TAIL)
               : 1;
}

static bool find_slot(const struct heap *h, const struct heap_part *part, uint64_t offset,
                      struct heap_block *b)
{
    const struct segment *s = part->slab;
    uint64_t slot = offset / s->slot_bytes, slack;

    if (slot >= s->capacity)
        return false;
    take_record(b, segment_item(s, (uint32_t)slot));
    if (word_state(b->word) == BLOCK_NEVER)
        return false;
    b->address = h->base + (part->unit << RTC_UNIT_SHIFT) + slot * s->slot_bytes;
    b->bytes = least(word_size(b->word), s->slot_bytes);
    b->room = s->slot_bytes;
    slack = b->room - b->bytes;
    b->before = before_slot(h, s, (uint32_t)slot);
    b->tail = b->room - least(slack, REDZONE_TAIL);
    b->after = h->wide ? slack : least(b->tail - b->bytes, REDZONE_REACH);
    return true;
}

/* A guard page adjoins the page of a guarded block's last byte, and that of its first. */
static void find_large(const struct heap *h, const struct heap_part *part, struct heap_block *b)
{
    const struct large_record *l = part->large;
    uint64_t units_end = part->units << RTC_UNIT_SHIFT, width, end;

    take_record(b, &l->block);
    b->is_large = true;
    b->bytes = least(atomic_load_explicit(&l->request, memory_order_relaxed), units_end);
    end = least(l->lead, units_end - b->bytes) + b->bytes;
    b->address = h->base + (part->unit << RTC_UNIT_SHIFT) + end - b->bytes;
    width = h->wide > LARGE_REACH ? h->wide : LARGE_REACH;
    b->before =
        least(h->has_guards ? b->address % PAGE_BYTES : b->address % (1u << RTC_UNIT_SHIFT), width);
    b->after = least((h->has_guards ? align_up(end, PAGE_BYTES) : units_end) - end, width);
    b->room = b->tail = b->bytes + b->after;
}

/* Freed blocks between guard pages are not filled. */
static void find_fill(const struct heap *h, struct heap_block *b)
{
    uint16_t fill = h->image->free_fill;

    b->has_fill = fill > 0 && word_state(b->word) == BLOCK_FREED && !(b->is_large && h->has_guards);
    b->fill = fill == FILL_OF_BLOCK + 1 ? fill_word_of(FILL_TAG_FREED, b->address)
                                        : (uint64_t)(uint8_t)(fill - 1) * 0x0101010101010101ull;
}

/*
 * After a fork that made the heap private, threads have other numbers.  The owner of the heap keeps its
 * threads: of its blocks it is not known.
 */
static bool is_after_fork(const struct heap *h, const struct heap_block *b)
{
    return h->is_left && h->owner != h->image && !b->is_inherited &&
           word_thread(b->word) >= h->image->first_thread;
}

bool heap_find(const struct heap *h, uint64_t address, struct heap_block *b)
{
    uint64_t offset = address - h->base, unit = offset >> RTC_UNIT_SHIFT; /* wraps below the heap */
    size_t n;

    *b = (struct heap_block){0};
    if (offset >= h->bytes)
        return false;
    n = begun_before(h->parts, h->part_count, sizeof h->parts[0], unit);
    if (n == 0 || unit - h->parts[n - 1].unit >= h->parts[n - 1].units)
        return false;
    if (h->parts[n - 1].large)
        find_large(h, &h->parts[n - 1], b);
    else if (!find_slot(h, &h->parts[n - 1], offset - (h->parts[n - 1].unit << RTC_UNIT_SHIFT), b))
        return false;
    find_fill(h, b);
    b->is_inherited = h->parts[n - 1].is_inherited;
    b->is_lost = is_after_fork(h, b);
    return true;
}

int heap_expected(const struct heap_block *b, int64_t offset)
{
    uint64_t at = (uint64_t)offset;

    if (!word_is_known(b->word))
        return -1;
    if (offset < 0)
        return -at <= b->before ? REDZONE_BYTE : -1;
    if (at >= b->bytes)
        return at < b->bytes + b->after || (at >= b->tail && at < b->room) ? REDZONE_BYTE : -1;
    if (!b->has_fill || (b->bytes > FILL_WHOLE && at >= FILL_ENDS && at < b->bytes - FILL_ENDS))
        return -1;
    return (int)(b->fill >> at % sizeof b->fill * 8 & 0xff);
}

uint32_t heap_site(const struct heap *h, uint32_t stack)
{
    return site_of_stack(h->report, h->image, stack);
}

struct thread heap_thread(const struct heap *h, uint32_t number)
{
    return thread_of_number(h->report, h->image, number);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Read the chunk with this offset in the heap.  What cannot be read is zero. */
static void read_chunk(struct heap *h, uint64_t offset)
{
    uint64_t at = align_down(offset, CHUNK_BYTES), bytes = least(CHUNK_BYTES, h->bytes - at);

    if (h->chunk_at == at)
        return;
    memset(h->chunk, 0, CHUNK_BYTES);
    view_read(&h->report->view, h->offset + at, h->chunk, bytes);
    h->chunk_at = at;
}

void heap_read(struct heap *h, uint64_t address, void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint64_t offset = address + i - h->base; /* wraps below the heap */
        bool is_inside = offset < h->bytes;
        if (is_inside)
            read_chunk(h, offset);
        ((char *)to)[i] = is_inside ? h->chunk[offset % CHUNK_BYTES] : 0;
    }
}

void heap_search(struct heap *h, uint64_t low, uint64_t high,
                 void (*found)(void *data, uint64_t address, uint64_t value), void *data)
{
    uint64_t at = h->offset, stop, end = h->offset + h->bytes, value;

    for (; at < end && view_next_data(&h->report->view, &at, &stop, end); at = stop) {
        uint64_t from = align_down(at - h->offset, sizeof value), to = stop - h->offset;
        for (; to - from >= sizeof value && from < to; from += sizeof value) {
            read_chunk(h, from);
            memcpy(&value, h->chunk + from % CHUNK_BYTES, sizeof value);
            if (value >= low && value < high)
                found(data, h->base + from, value);
        }
    }
}
