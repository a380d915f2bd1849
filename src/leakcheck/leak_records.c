/*
 * leak_records.c - results of a leak check in the run file: roots, groups of blocks, and a record
 * of each check on demand.  The list of segments is kept, so that they can be made vacant again.
 */
#include "leakcheck_priv.h"

#include <string.h>

#define ITEMS_PER_BATCH 128u /* items of a segment */
#define ITEMS_LEAST 8u       /* if the file has little room */

struct leak_records leak_records_at_end;

static struct segment **list_of(const struct leak_records *w)
{
    return (struct segment **)w->list.start;
}

void leak_records_vacate(struct leak_records *w)
{
    for (uint32_t i = 0; w->image == image()->image && i < w->count; i++)
        segment_vacate(list_of(w)[i]);
    range_give_back(&w->list);
    *w = (struct leak_records){.image = image()->image};
}

void leak_records_void(void)
{
    if (leak_records_at_end.image == image()->image)
        atomic_store_explicit(&image()->leak_check, LEAKS_NOT_REQUESTED, memory_order_release);
    leak_records_vacate(&leak_records_at_end);
}

static uint64_t segments_for(uint32_t items)
{
    return align_up(items, ITEMS_LEAST) / ITEMS_LEAST;
}

static struct segment *take_segment(struct check *c, enum segment_kind kind, uint32_t capacity,
                                    uint32_t bytes, uint64_t index)
{
    struct segment *s = segment_take_in_file(kind, capacity, bytes, index);
    if (!s)
        return NULL;
    list_of(c->to)[c->to->count++] = s;
    atomic_store_explicit(&s->epoch, c->now ? c->now->number : 0, memory_order_relaxed);
    segment_publish(s);
    return s;
}

/* Segments that hold the items of one kind. */
struct row {
    enum segment_kind kind;
    uint32_t item_bytes;
    uint64_t chunks;
    struct segment *s; /* being filled */
};

static bool append(struct check *c, struct row *row, const void *item)
{
    uint32_t count = row->s ? atomic_load_explicit(&row->s->count, memory_order_relaxed) : 0;
    if (!row->s || count == row->s->capacity) {
        row->s = NULL;
        for (uint32_t n = ITEMS_PER_BATCH; !row->s && n >= ITEMS_LEAST; n /= 4)
            row->s = take_segment(c, row->kind, n, row->item_bytes, row->chunks);
        if (!row->s)
            return false;
        row->chunks++;
        count = 0;
    }
    memcpy((char *)segment_items(row->s) + count * row->item_bytes, item, row->item_bytes);
    atomic_store_explicit(&row->s->count, count + 1, memory_order_release);
    return true;
}

static bool is_lost(const struct leak_group *g)
{
    uint32_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);
    return reach == REACH_LOST || reach == REACH_CYCLE;
}

/* Write the groups whose reach is in this set (bit n = enum reach). */
static bool put_groups(struct check *c, struct row *row, uint32_t set)
{
    for (uint32_t i = 0; i < c->groups; i++) {
        const struct leak_group *g = &c->group[i];
        if (!(set >> atomic_load_explicit(&g->reach, memory_order_relaxed) & 1))
            continue;
        c->lost |= is_lost(g);
        if (!append(c, row, (const void *)g))
            return false;
    }
    return true;
}

/*
 * Write the most important records first, as there may not be room for all.  The order is: leaks,
 * the roots that contain the pointers to other groups, then reachable blocks, which are no
 * findings.  If the root of a group is missing, the location of its pointer is unknown.
 */
enum leak_check leak_records_put(struct check *c)
{
    const uint32_t reachable = 1u << REACH_REACHABLE, lost = 1u << REACH_LOST | 1u << REACH_CYCLE;
    struct row leaks = {c->now ? SEGMENT_CHECK_LEAKS : SEGMENT_LEAKS, sizeof(struct leak_group), 0,
                        NULL};
    struct row roots = {c->now ? SEGMENT_CHECK_ROOTS : SEGMENT_ROOTS, sizeof c->roots.root[0], 0,
                        NULL};
    bool fits = true;
    uint64_t segments =
        segments_for(c->roots.count) + segments_for(c->groups) + 1; /* +1: its record */
    if (!range_take(&c->to->list, segments * sizeof(struct segment *)))
        return LEAKS_NO_MEMORY;
    if (!put_groups(c, &leaks, lost) || !put_groups(c, &leaks, ~(reachable | lost)))
        return LEAKS_CUT;
    for (uint32_t i = 0; fits && i < c->roots.count; i++)
        fits = append(c, &roots, &c->roots.root[i]);
    if (!fits || !put_groups(c, &leaks, reachable))
        image_lacks(c->now ? SEGMENT_CHECK_LEAKS : SEGMENT_LEAKS);
    return LEAKS_FOUND;
}

void leak_records_put_check(struct check *c, uint64_t ns)
{
    struct leaks_now *now = c->now;
    struct segment *s = NULL;
    if (c->to->list.start || range_take(&c->to->list, sizeof s))
        s = take_segment(c, SEGMENT_LEAK_CHECKS, 1, sizeof *now->record, now->number);
    if (!s)
        return;
    now->record = segment_items(s);
    now->record->result = now->result;
    now->record->flags = now->flags;
    now->record->thread = self ? self->number : 0;
    now->record->threads_not_stopped = now->not_stopped;
    now->record->threads_waiting = now->waiting;
    now->record->ns = ns;
    now->record->pause_ns = now->pause_ns;
    now->record->root_bytes = c->looked_at;
    now->record->root_bytes_skipped = c->skipped;
    atomic_store_explicit(&now->record->number, now->number, memory_order_relaxed);
    atomic_store_explicit(&s->count, 1, memory_order_release);
}
