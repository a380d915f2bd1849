/*
 * due.c - what may go back to the kernel only after somebody has been told of it.
 *
 * Freed runs of units and freed large blocks, each in a list by the number of its first unit.  Nobody finds
 * them elsewhere until the thread that left them here, or another, takes one, tells of it behind its
 * section (core/notice.c) and puts it back: a block into the quarantine, a run among the free ones.
 */
#include "pool_priv.h"

_Atomic bool heap_watched;

static const uint64_t no_code;
struct heap_code heap_code[2] = {{&no_code, 0}, {&no_code, 0}};

static struct {
    struct lock lock;
    uint32_t blocks;
    uint32_t runs;
} due = {.lock = LOCK_INIT(RANK_DUE)};

static void add(uint32_t *list, struct unit *first)
{
    lock_take(&due.lock);
    note_of(first)->next = *list;
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

bool heap_due_take(struct heap_due *d)
{
    lock_take(&due.lock);
    d->block = due.blocks;
    uint32_t *list = d->block ? &due.blocks : &due.runs;
    d->head = NULL;
    if (*list) {
        d->head = heap.unit + *list;
        d->units = note_of(d->head)->units;
        *list = note_of(d->head)->next;
    }
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

void due_after_fork(bool trusted)
{
    lock_reset(&due.lock);
    if (!trusted)
        due.blocks = due.runs = 0;
}
