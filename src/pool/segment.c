/*
 * segment.c - the segments of this image: in its areas, else in private memory.
 *
 * They are handed out from front to back; what is vacated is kept for the next segment of the same
 * length.  What does not fit the file lives in private memory and is counted: the program runs on.
 */
#include "pool_priv.h"

#include <string.h>

#define VACANT_MAX 512u

static struct {
    struct lock lock; /* the areas, too */
    struct segment *vacant[VACANT_MAX];
    uint32_t vacant_count;
} segments = {.lock = LOCK_INIT(RANK_META)};

static struct segment *reuse(uint32_t bytes)
{
    for (uint32_t i = segments.vacant_count; i-- > 0;)
        if (segments.vacant[i]->bytes == bytes) {
            struct segment *s = segments.vacant[i];
            segments.vacant[i] = segments.vacant[--segments.vacant_count];
            atomic_store_explicit(&s->state, SEGMENT_BUILDING, memory_order_release);
            memset(segment_items(s), 0, bytes - sizeof *s);
            return s;
        }
    return NULL;
}

static struct segment *private_segment(uint32_t bytes)
{
    struct segment *s = os_map(align_up(bytes, PAGE_BYTES));
    if (os_failed(s))
        return NULL;
    image_count(&image()->private_segments);
    image_flag(IMAGE_METADATA_PRIVATE);
    heard_later(self, HEARD_POOL_FULL);
    return s;
}

static void fill_segment(struct segment *s, enum segment_kind kind, uint32_t bytes,
                         uint32_t capacity, uint32_t item_bytes, uint64_t index)
{
    s->kind = (uint16_t)kind;
    s->item_bytes = (uint16_t)item_bytes;
    s->image = image_number();
    s->bytes = bytes;
    s->capacity = capacity;
    s->index = index;
    s->slot_bytes = s->units = 0;
    atomic_store_explicit(&s->count, 0, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, 0, memory_order_relaxed);
    s->magic = RTC_SEGMENT_MAGIC;
}

struct segment *segment_take(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                             uint64_t index)
{
    uint32_t bytes = (uint32_t)segment_bytes(capacity, item_bytes);
    lock_take(&segments.lock);
    struct segment *s = reuse(bytes);
    bool fresh = !s && (s = area_append(bytes)) != NULL;
    if (!s)
        s = private_segment(bytes);
    if (s && s->bytes == 0) /* not one that was used before */
        atomic_fetch_add_explicit(&image()->segment_bytes, bytes, memory_order_relaxed);
    if (s)
        fill_segment(s, kind, bytes, capacity, item_bytes, index);
    if (fresh)
        area_publish(bytes); /* pairs with the reader's acquire: the segment before its place */
    lock_drop(&segments.lock);
    return s;
}

void segment_publish(struct segment *s)
{
    atomic_store_explicit(&s->state, SEGMENT_CURRENT, memory_order_release);
}

void segment_vacate(struct segment *s)
{
    lock_take(&segments.lock);
    atomic_store_explicit(&s->state, SEGMENT_VACANT, memory_order_release);
    if (segments.vacant_count < VACANT_MAX) /* else its bytes are lost: bounded by what was in use */
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
}
