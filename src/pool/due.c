/*
 * due.c - what somebody has to be told of: memory of the heap that comes into use, and what may go back to
 * the kernel only afterwards.
 *
 * Freed runs of units and freed large blocks, each in a list by the number of its first unit.  Nobody finds
 * them elsewhere until the thread that left them here, or another, takes one, tells of it behind its
 * section (core/notice.c) and puts it back: a block into the quarantine, a run among the free ones.
 *
 * Who runs in a callback does not hear of what he frees there (it would have no end), but of all else that is
 * due: so each remembers in whose callback it came (prev of its note: its list has one direction), and
 * is taken out of the midst of a callback only by who left it there.
 *
 * What has become ready is told as one range.  What was told to be gone and is used again is told
 * to the unit; of too many such ranges together, with what lies between.
 */
#include "pool_priv.h"

_Atomic bool heap_watched;

static const uint64_t no_code;
struct heap_code heap_code[2] = {{&no_code, 0}, {&no_code, 0}};

#define AGAIN_MAX 8u

static struct {
    struct lock lock;
    uint32_t blocks;
    uint32_t runs;
    struct heap_part ready; /* not told yet */
    uint32_t again_count;
    struct heap_part again[AGAIN_MAX];
} due = {.lock = LOCK_INIT(RANK_DUE)};

/* ---- what goes ------------------------------------------------------------------------------- */

/* The thread that is in a callback, if this is one. */
static uint32_t due_called_back(void)
{
    return self && atomic_load_explicit(&self->turn, memory_order_relaxed) ? self->number : 0;
}

static void add(uint32_t *list, struct unit *first)
{
    lock_take(&due.lock);
    note_of(first)->next = *list;
    note_of(first)->prev = due_called_back();
    *list = unit_number(first);
    lock_drop(&due.lock);
    notice_due();
}

void due_block(struct unit *head)
{
    add(&due.blocks, head);
}

void due_run(struct unit *first)
{
    add(&due.runs, first);
}

static struct unit *take_from(uint32_t *list, uint32_t by)
{
    for (; *list; list = &note_of(heap.unit + *list)->next) {
        struct unit *first = heap.unit + *list;
        if (by && note_of(first)->prev != by)
            continue;
        *list = note_of(first)->next;
        return first;
    }
    return NULL;
}

bool heap_due_take(struct heap_due *d)
{
    uint32_t by = due_called_back();
    lock_take(&due.lock);
    d->head = take_from(&due.blocks, by);
    d->block = d->head;
    if (!d->head)
        d->head = take_from(&due.runs, by);
    if (d->head)
        d->units = note_of(d->head)->units;
    lock_drop(&due.lock);
    return d->head;
}

void heap_due_put(const struct heap_due *d, bool released)
{
    if (d->block)
        large_keep(d->head, released);
    else
        units_put_back(d->head, d->units, released);
}

/* ---- what comes ------------------------------------------------------------------------------ */

void due_ready(uint64_t bytes)
{
    bool watched = heap_is_watched();
    lock_take(&due.lock);
    due.ready = (struct heap_part){watched ? due.ready.from : bytes, bytes};
    lock_drop(&due.lock);
    if (watched)
        notice_due();
}

static void add_again(uint64_t from, uint64_t to)
{
    if (due.again_count < AGAIN_MAX) {
        due.again[due.again_count++] = (struct heap_part){from, to};
        return;
    }
    struct heap_part *last = &due.again[AGAIN_MAX - 1];
    last->from = from < last->from ? from : last->from;
    last->to = to > last->to ? to : last->to;
}

void due_again(uint64_t from, uint64_t to)
{
    if (!heap_is_watched())
        return;
    lock_take(&due.lock);
    add_again(from, to);
    lock_drop(&due.lock);
    notice_due();
}

bool heap_grown(struct heap_part *part)
{
    lock_take(&due.lock);
    *part = due.ready;
    due.ready.from = due.ready.to;
    if (part->from == part->to && due.again_count)
        *part = due.again[--due.again_count];
    lock_drop(&due.lock);
    return part->from < part->to;
}

void due_after_fork(bool trusted)
{
    lock_reset(&due.lock);
    if (!trusted)
        due.blocks = due.runs = due.again_count = 0;
}
