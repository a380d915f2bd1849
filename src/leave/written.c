/*
 * written.c - what a check has found, in the run file: roots, groups of blocks, and of a check in mid-run a
 * record.  Segments can be made vacant again, so which they are is remembered.
 */
#include "leave_priv.h"

#include <string.h>

#define GROUPS_AT_A_TIME 128u

struct written written_at_end;

static struct segment **list_of(const struct written *w)
{
    return (struct segment **)w->list.start;
}

void written_vacate(struct written *w)
{
    for (uint32_t i = 0; w->image == image()->image && i < w->count; i++)
        segment_vacate(list_of(w)[i]);
    range_give_back(&w->list);
    *w = (struct written){.image = image()->image};
}

void written_void(void)
{
    if (written_at_end.image == image()->image)
        atomic_store_explicit(&image()->leak_check, LEAKS_NOT_ASKED, memory_order_release);
    written_vacate(&written_at_end);
}

static uint64_t segments_for(uint32_t items)
{
    return align_up(items, GROUPS_AT_A_TIME) / GROUPS_AT_A_TIME;
}

static struct segment *take_segment(struct check *c, enum segment_kind kind, uint32_t capacity,
                                    uint32_t bytes, uint64_t index)
{
    struct segment *s = segment_take(kind, capacity, bytes, index);
    if (!s)
        return NULL;
    list_of(c->to)[c->to->count++] = s;
    atomic_store_explicit(&s->epoch, c->now ? c->now->number : 0, memory_order_relaxed);
    segment_publish(s);
    return s;
}

static bool append(struct check *c, struct segment **s, enum segment_kind kind, uint32_t bytes,
                   uint32_t index, const void *item)
{
    if (index % GROUPS_AT_A_TIME == 0) {
        *s = take_segment(c, kind, GROUPS_AT_A_TIME, bytes, index / GROUPS_AT_A_TIME);
        if (!*s)
            return false;
    }
    memcpy((char *)segment_items(*s) + index % GROUPS_AT_A_TIME * bytes, item, bytes);
    atomic_store_explicit(&(*s)->count, index % GROUPS_AT_A_TIME + 1, memory_order_release);
    return true;
}

static bool is_lost(const struct leak_group *g)
{
    uint32_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);
    return reach == REACH_LOST || reach == REACH_CIRCLE;
}

bool written_put(struct check *c)
{
    struct segment *s = NULL;
    uint32_t count;
    const struct leak_group *group = reach_groups(c->scan, &count);
    uint64_t segments = segments_for(c->roots.count) + segments_for(count) + 1; /* a record's */
    enum segment_kind roots = c->now ? SEGMENT_CHECK_ROOTS : SEGMENT_ROOTS;
    enum segment_kind leaks = c->now ? SEGMENT_CHECK_LEAKS : SEGMENT_LEAKS;
    if (!range_take(&c->to->list, segments * sizeof(struct segment *)))
        return false;
    for (uint32_t i = 0; i < c->roots.count; i++)
        if (!append(c, &s, roots, sizeof c->roots.root[0], i, &c->roots.root[i]))
            return false;
    for (uint32_t i = 0; i < count; i++) {
        struct leak_group g;
        memcpy((void *)&g, (const void *)&group[i], sizeof g);
        if (g.witness == WITNESS_ROOT && g.root)
            witness_tell(&c->world, &c->roots.root[g.root - 1], &g);
        c->lost |= is_lost(&g);
        if (!append(c, &s, leaks, sizeof g, i, (const void *)&g))
            return false;
    }
    return true;
}

void written_put_record(struct check *c, uint64_t ns)
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
    now->record->threads_unheard = now->unheard;
    now->record->ns = ns;
    now->record->root_bytes = c->looked_at;
    now->record->root_bytes_skipped = c->skipped;
    atomic_store_explicit(&now->record->number, now->number, memory_order_relaxed);
    atomic_store_explicit(&s->count, 1, memory_order_release);
}
