/*
 * pending.c - pending notifications: memory of the heap that came into use, and pages that may
 * return to the kernel only after the program was notified.
 *
 * Freed runs of units and freed large blocks are in two lists, linked by the number of their first
 * unit, and nowhere else.  A thread takes an entry, notifies after its section (sync/notice.c) and
 * puts it back: a block into the quarantine, a run into the free runs.
 *
 * A handler is not notified of memory that it frees in its own callback, which would never end, but
 * of all other memory.  So each entry stores the thread that added it in a callback (in note.prev,
 * because the list is singly linked).  Within a callback a thread takes only such entries of its
 * own.
 *
 * Memory that became ready is reported as one range.  Memory that was reported as released and is
 * used again is reported exactly; if there are too many ranges, the last ones are merged, with the
 * gaps between them.
 *
 * Lock: RANK_PENDING; no other lock is taken while it is held.
 */
#include "heap_priv.h"

_Atomic bool heap_watched;

static const uint64_t no_code;
struct heap_code heap_code[2] = {{&no_code, 0}, {&no_code, 0}};

#define REUSED_MAX 8u

static struct {
    struct lock lock;
    uint32_t blocks;
    uint32_t runs;
    struct heap_part ready; /* not reported yet */
    uint32_t reused_count;
    struct heap_part reused[REUSED_MAX];
} pending = {.lock = LOCK_INIT(RANK_PENDING)};

/* ---- memory to be released ------------------------------------------------------------------- */

/* Number of the calling thread if it is in a callback, else 0. */
static uint32_t pending_callback_thread(void)
{
    return self && atomic_load_explicit(&self->read_epoch, memory_order_relaxed) ? self->number : 0;
}

static void add(uint32_t *list, struct unit *first)
{
    lock_take(&pending.lock);
    note_of(first)->next = *list;
    note_of(first)->prev = pending_callback_thread();
    *list = unit_number(first);
    lock_drop(&pending.lock);
    notice_request();
}

void pending_add_block(struct unit *head)
{
    add(&pending.blocks, head);
}

void pending_add_run(struct unit *first)
{
    add(&pending.runs, first);
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

bool pending_take(struct pending_release *d)
{
    uint32_t by = pending_callback_thread();
    lock_take(&pending.lock);
    d->head = take_from(&pending.blocks, by);
    d->block = d->head;
    if (!d->head)
        d->head = take_from(&pending.runs, by);
    if (d->head)
        d->units = note_of(d->head)->units;
    lock_drop(&pending.lock);
    return d->head;
}

void pending_put(const struct pending_release *d, bool released)
{
    if (d->block)
        large_quarantine(d->head, released);
    else
        units_put_back(d->head, d->units, released);
}

/* ---- memory that came into use --------------------------------------------------------------- */

void pending_note_ready(uint64_t bytes)
{
    bool watched = heap_is_watched();
    lock_take(&pending.lock);
    pending.ready = (struct heap_part){watched ? pending.ready.from : bytes, bytes};
    lock_drop(&pending.lock);
    if (watched)
        notice_request();
}

static void add_reused(uint64_t from, uint64_t to)
{
    if (pending.reused_count < REUSED_MAX) {
        pending.reused[pending.reused_count++] = (struct heap_part){from, to};
        return;
    }
    struct heap_part *last = &pending.reused[REUSED_MAX - 1];
    last->from = from < last->from ? from : last->from;
    last->to = to > last->to ? to : last->to;
}

void pending_note_reuse(uint64_t from, uint64_t to)
{
    if (!heap_is_watched())
        return;
    lock_take(&pending.lock);
    add_reused(from, to);
    lock_drop(&pending.lock);
    notice_request();
}

bool heap_grown(struct heap_part *part)
{
    lock_take(&pending.lock);
    *part = pending.ready;
    pending.ready.from = pending.ready.to;
    if (part->from == part->to && pending.reused_count)
        *part = pending.reused[--pending.reused_count];
    lock_drop(&pending.lock);
    return part->from < part->to;
}

void pending_after_fork(bool trusted)
{
    lock_reset(&pending.lock);
    if (!trusted)
        pending.blocks = pending.runs = pending.reused_count = 0;
}
