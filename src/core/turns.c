/*
 * turns.c - tables of whom to tell, read without a lock while they are changed.
 *
 * A table never changes: who registers publishes a new one.  Whoever tells somebody holds no lock
 * meanwhile, and makes no atomic change: he notes the present *turn* in his own thread's struct, and takes
 * it back when he is through.  Whoever unregisters publishes the new table, begins the next turn,
 * makes a barrier in all threads - who has noted no turn by then will find the new table - and
 * waits until nobody's note is of the last turn or before.  So a stream of events keeps nobody
 * waiting for ever, and a visitor never waits at all.
 *
 *      turn 6: notes 6 6 - 6     new table, turn := 7, barrier     - 6 7 -  ...  - - 7 7: the old table is free
 *
 * A thread without a struct, near its end, counts itself on one of two counters instead, by the turn.
 *
 * All tables of the runtime have their turns in common: else of two callbacks, told of different things, each
 * could wait for the other.
 *
 * These counters and the writers' lock lie in a page that the kernel wipes at a fork (also at one
 * that nobody tells us of): other threads' visits and changes do not exist in a child.  A visit
 * that goes on there - its callback forked - sees by the era that it is not counted.
 */
#include "core.h"

#include <errno.h>
#include <string.h>

struct gate {
    _Atomic uint64_t era; /* 0: a new page */
    _Atomic uint32_t inside[2];
    _Atomic uint32_t taken_back; /* so many notes while somebody waited */
    _Atomic uint32_t writer, other; /* locks */
};

static struct gate wiped_by_hand; /* where the kernel does not do it */

static struct {
    _Atomic(void *) gate;
    _Atomic uint64_t eras;
    struct turn_table *retired; /* list of those that visitors may still look at; under the writers' lock */
} turns;

struct turn_now turn_now;
__thread struct turn *turn_inner;

/* ---- the page -------------------------------------------------------------------------------- */

static inline struct gate *gate(void)
{
    void *made = atomic_load_explicit(&turns.gate, memory_order_acquire);
    return likely(made) ? made : os_wiped_page(&turns.gate, &wiped_by_hand);
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

/* ---- visits ---------------------------------------------------------------------------------- */

static void leave(struct gate *g, uint32_t side)
{
    if (atomic_fetch_sub(&g->inside[side], 1) == 1 && unlikely(atomic_load(&turn_now.awaited)))
        os_wake(&g->inside[side], false);
}

static COLD void begin_counted(struct turn *t)
{
    struct gate *g = gate();
    uint64_t era = era_of(g);
    for (;;) {
        uint64_t turn = atomic_load(&turn_now.turn);
        t->side = turn & 1;
        atomic_fetch_add(&g->inside[t->side], 1); /* seq_cst: pairs with turns_wait */
        if (likely(atomic_load(&turn_now.turn) == turn))
            break;
        leave(g, t->side);
    }
    t->era = era;
}

static COLD void end_counted(const struct turn *t)
{
    struct gate *g = gate();
    if (atomic_load_explicit(&g->era, memory_order_relaxed) == t->era) /* else a child: not counted here */
        leave(g, t->side);
}

COLD void turn_taken_back(void)
{
    struct gate *g = gate();
    atomic_fetch_add(&g->taken_back, 1);
    os_wake(&g->taken_back, false);
}

static bool is_counted(const struct turn *t)
{
    while (t && (t->noted || !t->era))
        t = t->outer;
    return t != NULL;
}

/*
 * A thread that has no struct yet: a section makes one, unless it is too late for that.  And the
 * turn of a handler that has interrupted another turn, which stands for it only when it has come so
 * far as to be noted or counted.
 */
COLD void turn_begin_slowly(struct turn *t)
{
    struct section s;
    t->outer = turn_inner;
    t->noted = self;
    t->era = 0;
    turn_enter(t);
    if (!t->outer && section_begin(&s))
        section_end(&s);
    t->noted = self;
    if (!self && !is_counted(t))
        begin_counted(t);
    else if (self && !atomic_load_explicit(&self->turn, memory_order_relaxed))
        turn_note(self);
}

/* What it has noted in the midst of another the other takes back. */
COLD void turn_end_slowly(const struct turn *t)
{
    turn_inner = t->outer;
    if (t->era && !t->noted)
        end_counted(t);
    if (t->outer || !t->noted)
        return;
    atomic_store_explicit(&t->noted->turn, 0, memory_order_release);
    turn_fence();
    if (atomic_load_explicit(&turn_now.awaited, memory_order_relaxed))
        turn_taken_back();
}

/*
 * Out of visits that nobody ends.  A note that is there without a visit was about to be taken back;
 * who waits for it is woken in any case.
 */
void turns_leave(const struct jump *j)
{
    struct turn *t = turn_inner = jump_ends(j) ? NULL : turn_inner;
    for (; t && jump_leaves(j, (uintptr_t)t); t = t->outer) {
        turn_inner = t->outer;
        if (!t->noted && t->era)
            end_counted(t);
    }
    if (!t && self && atomic_exchange(&self->turn, 0))
        turn_taken_back();
}

bool turns_inside(void)
{
    return turn_inner != NULL;
}

/* ---- changes --------------------------------------------------------------------------------- */

int turns_begin_change(void)
{
    if (turn_inner) /* it would wait for itself */
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

static bool is_noted(uint64_t turn)
{
    for (struct thread *t = threads_first(); t; t = t->next) {
        uint64_t noted = atomic_load(&t->turn);
        if (noted && noted <= turn + 1 && t->tid)
            return true;
    }
    return false;
}

static void wait_for_notes(struct gate *g, uint64_t turn)
{
    struct section s;
    if (section_begin(&s)) /* in a child it leaves the list with this thread alone */
        section_end(&s);
    for (;;) {
        uint32_t before = atomic_load(&g->taken_back);
        if (!is_noted(turn))
            return;
        os_wait(&g->taken_back, before, 0, false);
    }
}

void turns_wait(void)
{
    struct gate *g = gate();
    uint64_t turn = atomic_fetch_add(&turn_now.turn, 1);
    _Atomic uint32_t *inside = &g->inside[turn & 1];
    uint32_t some;
    atomic_store(&turn_now.awaited, 1);
    os_barrier(); /* pairs with turn_fence */
    wait_for_notes(g, turn);
    while ((some = atomic_load(inside)))
        os_wait(inside, some, 0, false);
    atomic_store(&turn_now.awaited, 0);
    while (turns.retired) {
        struct turn_table *old = turns.retired;
        turns.retired = old->retired;
        os_unmap(old, old->bytes);
    }
}
