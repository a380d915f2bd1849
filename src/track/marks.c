/*
 * marks.c - marks (checkpoints) that the program sets. Each writes a record of the memory then in
 * use into the run file, for reports over time. There are at most 255 marks; their segment is taken
 * at the first one. marks.lock (RANK_ANNOTATIONS) protects the segment.
 */
#include "init.h"

static struct {
    struct lock lock;
    struct segment *segment;
    uint32_t image; /* the image that it belongs to: a forked child takes its own */
} marks = {.lock = LOCK_INIT(RANK_ANNOTATIONS)};

static struct segment *segment(void)
{
    if (!marks.segment || marks.image != image()->image) {
        marks.segment = segment_take(SEGMENT_MARKS, BLOCK_MARK_MASK, sizeof(struct mark_record), 0);
        if (marks.segment)
            segment_publish(marks.segment);
        marks.image = image()->image;
    }
    return marks.segment;
}

static void add(const struct mark_record *m)
{
    struct segment *s = segment();
    uint32_t count = s ? atomic_load_explicit(&s->count, memory_order_relaxed) : BLOCK_MARK_MASK;
    if (count >= BLOCK_MARK_MASK)
        return;
    ((struct mark_record *)segment_items(s))[count] = *m;
    atomic_store_explicit(&s->count, count + 1,
                          memory_order_release); /* publishes the whole record */
}

bool marks_next(void)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    struct track_totals t = track_totals();
    struct mark_record m = {.time_ns = os_wall_clock_ns(),
                            .blocks = t.live_blocks,
                            .bytes = t.live_bytes,
                            .allocs = t.allocs,
                            .mapped_bytes = mapped_bytes()};
    lock_take(&marks.lock);
    m.mark = annotations_next_mark();
    if (m.mark) {
        add(&m);
        atomic_fetch_add(&image()->marks, 1);
    }
    lock_drop(&marks.lock);
    section_end(&s);
    return m.mark != 0;
}

void marks_after_fork(void)
{
    lock_reset(&marks.lock);
}
