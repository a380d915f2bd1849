/*
 * turns.c - tables of whom to tell, read without a lock while they are changed.
 *
 * A table never changes: who registers publishes a new one.  Whoever tells somebody holds no lock
 * meanwhile; he counts himself among the visitors of the current *turn*, on one of two counters.
 * Whoever unregisters publishes the new table, begins the next turn (newcomers use
 * the other counter and find the new table), and waits until nobody of the last turn is left.  So a
 * stream of events keeps nobody waiting for ever, and a visitor never waits at all.
 *
 *      turn 6: inside[0] = 3     new table, turn := 7     inside[0] = 2, 1, 0: the old table is free
 *              inside[1] = 0                              inside[1] counts who came since
 *
 * All tables of the runtime have their turns in common: else of two callbacks, told of different things, each
 * could wait for the other.
 *
 * The counters and the writers' lock lie in a page that the kernel wipes at a fork (also at one
 * that nobody tells us of): other threads' visits and changes do not exist in a child.  A visit
 * that goes on there - its callback forked - sees by the era that it is not counted.
 */
#include "core.h"

#include <errno.h>
#include <string.h>

struct gate {
    _Atomic uint64_t era; /* 0: a new page */
    _Atomic uint64_t turn;
    _Atomic uint32_t inside[2];
    _Atomic uint32_t awaited; /* somebody waits for one of them */
    _Atomic uint32_t writer, other; /* locks */
};

static struct gate wiped_by_hand; /* where the kernel does not do it */

static struct {
    _Atomic(void *) gate;
    _Atomic uint64_t eras;
    struct turn_table *retired; /* list of those that visitors may still look at; under the writers' lock */
} turns;

static __thread uint32_t depth;

/* ---- the page ------------------------------------------------------------------------------- */

static struct gate *gate(void)
{
    return os_wiped_page(&turns.gate, &wiped_by_hand);
}

static void wipe(void)
{
    memset(&wiped_by_hand, 0, sizeof wiped_by_hand);
}

void turns_constructed(void)
{
    if (gate() == &wiped_by_hand)
        NEXT(register_atfork)(NULL, NULL, wipe, NULL);
}

static uint64_t era_of(struct gate *g)
{
    uint64_t era = atomic_load_explicit(&g->era, memory_order_relaxed);
    if (unlikely(!era)) {
        uint64_t next = atomic_fetch_add(&turns.eras, 1) + 1;
        if (atomic_compare_exchange_strong(&g->era, &era, next))
            era = next;
    }
    return era;
}

void turns_lock(void)
{
    os_lock(&gate()->other);
}

void turns_unlock(void)
{
    os_unlock(&gate()->other);
}

/* ---- visits --------------------------------------------------------------------------------- */

static void leave(struct gate *g, uint32_t side)
{
    if (atomic_fetch_sub(&g->inside[side], 1) == 1 && unlikely(atomic_load(&g->awaited)))
        os_wake(&g->inside[side], false);
}

void turn_begin(struct turn *t)
{
    struct gate *g = gate();
    t->era = era_of(g);
    for (;;) {
        uint64_t turn = atomic_load(&g->turn);
        t->side = turn & 1;
        atomic_fetch_add(&g->inside[t->side], 1); /* seq_cst: pairs with turns_wait */
        if (likely(atomic_load(&g->turn) == turn))
            break;
        leave(g, t->side);
    }
    depth++;
}

void turn_end(struct turn *t)
{
    struct gate *g = gate();
    depth--;
    if (unlikely(atomic_load_explicit(&g->era, memory_order_relaxed) != t->era))
        return; /* a child: not counted here */
    leave(g, t->side);
}

bool turns_inside(void)
{
    return depth != 0;
}

/* ---- changes -------------------------------------------------------------------------------- */

int turns_begin_change(void)
{
    if (depth) /* it would wait for itself */
        return -EDEADLK;
    os_lock(&gate()->writer);
    return 0;
}

void turns_look(void)
{
    os_lock(&gate()->writer);
}

void turns_end_change(void)
{
    os_unlock(&gate()->writer);
}

void *turns_new_table(size_t bytes)
{
    bytes = align_up(bytes, PAGE_BYTES);
    struct turn_table *t = os_map(bytes);
    if (os_failed(t))
        return NULL;
    t->bytes = bytes;
    return t;
}

void turns_retire(struct turn_table *old)
{
    if (!old)
        return;
    old->retired = turns.retired;
    turns.retired = old;
}

void turns_wait(void)
{
    struct gate *g = gate();
    uint64_t turn = atomic_fetch_add(&g->turn, 1);
    _Atomic uint32_t *inside = &g->inside[turn & 1];
    uint32_t some;
    atomic_store(&g->awaited, 1);
    while ((some = atomic_load(inside)))
        os_wait(inside, some, 0, false);
    atomic_store(&g->awaited, 0);
    while (turns.retired) {
        struct turn_table *old = turns.retired;
        turns.retired = old->retired;
        os_unmap(old, old->bytes);
    }
}
