/*
 * segment.c - the segments of this image: in its areas, else in private memory.
 *
 * They are allocated from front to back; a vacated segment is reused for the next one of the same
 * length.  Segments that do not fit the file are in private memory and counted: the program
 * continues.
 *
 * A report without its findings is worse than none.  So space for errors and leaks is populated
 * when the image starts, as a vacant segment after the image header.  When the file system is full,
 * records of blocks go to private memory, and segments of findings are cut from the front of that
 * reserve.
 *
 * Lock: RANK_META, the last of pool's; it also protects the areas (area.c).
 */
#include "runfile_priv.h"

#include <string.h>

#define VACANT_MAX 512u
#define RESERVE_LEAST 4096u
#define PRIVATE_BYTES \
    (1u << 20) /* mapped at a time: the table of the runtime's mappings is short (os/own.c) */

static struct {
    struct lock lock; /* also of the areas */
    struct segment *vacant[VACANT_MAX];
    uint32_t vacant_count;
    struct segment *reserve; /* what is left of the reserve; NULL: nothing */
    uint32_t reserve_bytes;  /* its initial size */
    char *private_at, *private_end;
} segments = {.lock = LOCK_INIT(RANK_META)};

struct segment_request {
    enum segment_kind kind;
    uint32_t capacity, item_bytes;
    uint64_t index;
};

static struct segment *reuse(uint32_t bytes, bool may_be_private)
{
    for (uint32_t i = segments.vacant_count; i-- > 0;)
        if (segments.vacant[i]->bytes == bytes &&
            (may_be_private || run_contains(segments.vacant[i]))) {
            struct segment *s = segments.vacant[i];
            segments.vacant[i] = segments.vacant[--segments.vacant_count];
            atomic_store_explicit(&s->state, SEGMENT_BUILDING, memory_order_release);
            memset(segment_items(s), 0, bytes - sizeof *s);
            return s;
        }
    return NULL;
}

/* ---- the reserve for findings ---------------------------------------------------------------- */

static void write_reserve(struct segment *s, uint32_t bytes)
{
    *s = (struct segment){.magic = RTC_SEGMENT_MAGIC,
                          .kind = SEGMENT_ERRORS,
                          .state = SEGMENT_VACANT,
                          .image = image_number(),
                          .bytes = bytes};
}

void segments_reserve(uint32_t bytes)
{
    uint32_t most = run_header() ? (uint32_t)(run_header()->area_bytes / 4) : 0;
    for (bytes = bytes < most ? bytes : most; bytes >= RESERVE_LEAST; bytes /= 2) {
        struct segment *s = area_append(bytes);
        if (!s)
            continue;
        write_reserve(s, bytes);
        area_publish(bytes);
        area_reserved(bytes);
        segments.reserve = s;
        segments.reserve_bytes = bytes;
        return;
    }
}

/*
 * Bytes of the reserve that a segment of this kind must leave free.  Findings have priority over
 * the stacks, modules and threads that describe them.
 */
static uint32_t reserve_floor(enum segment_kind kind)
{
    switch (kind) {
    case SEGMENT_ERRORS:
    case SEGMENT_CRASHES:
    case SEGMENT_LEAKS:
    case SEGMENT_ROOTS:
    case SEGMENT_LEAK_CHECKS:
    case SEGMENT_CHECK_LEAKS:
    case SEGMENT_CHECK_ROOTS:
        return 0;
    case SEGMENT_DEPOT:
    case SEGMENT_MODULES:
    case SEGMENT_THREADS:
        return segments.reserve_bytes / 2;
    default:
        return UINT32_MAX;
    }
}

/*
 * Cut from the front.  The remainder gets its header before the front part is shortened, so that a
 * concurrent reader finds a chain without a gap.
 */
static struct segment *cut_reserve(enum segment_kind kind, uint32_t bytes)
{
    struct segment *s = segments.reserve;
    uint32_t floor = reserve_floor(kind);
    if (!s || floor > s->bytes || bytes > s->bytes - floor)
        return NULL;
    segments.reserve = NULL;
    if (bytes < s->bytes) {
        segments.reserve = (struct segment *)(void *)((char *)s + bytes);
        write_reserve(segments.reserve, s->bytes - bytes);
    }
    atomic_store_explicit(&s->state, SEGMENT_BUILDING, memory_order_relaxed);
    /* pairs with the reader's copy, from front to back */
    atomic_thread_fence(memory_order_release);
    s->bytes = bytes;
    return s;
}

/* ---- private memory -------------------------------------------------------------------------- */

static struct segment *private_segment(enum segment_kind kind, uint32_t bytes)
{
    uint32_t room = (uint32_t)align_up(bytes, RTC_SEGMENT_ALIGN);
    if ((size_t)(segments.private_end - segments.private_at) < room) {
        size_t more = room > PRIVATE_BYTES ? align_up(room, PAGE_BYTES) : PRIVATE_BYTES;
        char *at = os_map(more);
        if (os_failed(at) && more > align_up(room, PAGE_BYTES))
            at = os_map(more = align_up(room, PAGE_BYTES));
        if (os_failed(at))
            return NULL;
        segments.private_at = at;
        segments.private_end = at + more;
    }
    struct segment *s = (struct segment *)(void *)segments.private_at;
    segments.private_at += room;
    image_count(&image()->private_segments);
    image_lacks(kind);
    notify_defer(self, NOTIFY_POOL_FULL);
    return s;
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void fill_segment(struct segment *s, const struct segment_request *q, uint32_t bytes)
{
    s->kind = (uint16_t)q->kind;
    s->item_bytes = (uint16_t)q->item_bytes;
    s->image = image_number();
    s->bytes = bytes;
    s->capacity = q->capacity;
    s->index = q->index;
    s->slot_bytes = s->units = 0;
    atomic_store_explicit(&s->count, 0, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, 0, memory_order_relaxed);
    s->magic = RTC_SEGMENT_MAGIC;
}

static struct segment *take(const struct segment_request *q, bool may_be_private)
{
    uint32_t bytes = (uint32_t)segment_bytes(q->capacity, q->item_bytes);
    lock_take(&segments.lock);
    struct segment *s = reuse(bytes, may_be_private), *used = s;
    bool fresh = !s && (s = area_append(bytes)) != NULL;
    if (!s)
        s = cut_reserve(q->kind, bytes);
    if (!s && may_be_private)
        s = private_segment(q->kind, bytes);
    if (s && !used)
        atomic_fetch_add_explicit(&image()->segment_bytes, bytes, memory_order_relaxed);
    if (s)
        fill_segment(s, q, bytes);
    if (fresh)
        area_publish(bytes); /* pairs with the reader's acquire: content before size */
    lock_drop(&segments.lock);
    return s;
}

struct segment *segment_take(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                             uint64_t index)
{
    return take(&(struct segment_request){kind, capacity, item_bytes, index}, true);
}

struct segment *segment_take_in_file(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                                     uint64_t index)
{
    return take(&(struct segment_request){kind, capacity, item_bytes, index}, !run_header());
}

void segment_publish(struct segment *s)
{
    atomic_store_explicit(&s->state, SEGMENT_CURRENT, memory_order_release);
}

void segment_vacate(struct segment *s)
{
    lock_take(&segments.lock);
    atomic_store_explicit(&s->state, SEGMENT_VACANT, memory_order_release);
    /* else its bytes are lost; the loss is bounded by the bytes once in use */
    if (segments.vacant_count < VACANT_MAX)
        segments.vacant[segments.vacant_count++] = s;
    lock_drop(&segments.lock);
}

void segment_room(uint64_t *bytes, uint64_t *used)
{
    lock_take(&segments.lock);
    area_room(bytes, used);
    lock_drop(&segments.lock);
}

void segments_after_fork(void)
{
    lock_reset(&segments.lock);
    segments.vacant_count = 0;
    segments.reserve = NULL; /* it belongs to the parent */
    segments.reserve_bytes = 0;
}
