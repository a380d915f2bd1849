/*
 * srcu.c - sleepable RCU (SRCU) for callback tables, which are read without a lock while they are
 * changed.
 *
 * A table never changes: an update publishes a new one. A reader holds no lock, and makes no atomic
 * read-modify-write. It stores the read epoch + 1 in its thread's struct (read_epoch), and clears
 * that at its end. An updater publishes the new table, increments the epoch, and makes a barrier in
 * all threads: a thread that has stored no epoch by then will find the new table. Then it waits
 * until no thread has stored the last epoch or an earlier one. So a stream of events delays no
 * updater forever, and readers never wait.
 *
 *      epoch 6: readers 6 6 - 6     new table, epoch := 7, barrier     - 6 7 -  ...  - - 7 7: free
 *
 * A thread without a struct, near its end, counts itself on one of two counters instead, by the
 * epoch's parity.
 *
 * All tables of the runtime share one epoch. Otherwise two callbacks of different tables could wait
 * for each other.
 *
 * The counters and the writers' lock are in a page that the kernel wipes at a fork, also at one
 * that we do not see: other threads' readers and updates do not exist in a child. A reader that
 * continues there (its callback forked) finds by the page's generation that it is not counted.
 */
#include "init.h"

#include <errno.h>
#include <string.h>

struct counters {
    _Atomic uint64_t generation; /* 0: the page is new */
    _Atomic uint32_t inside[2];
    _Atomic uint32_t writer_wakeups; /* incremented when a reader wakes the writer */
    _Atomic uint32_t writer, other;  /* locks */
};

static struct counters wiped_by_hand; /* used if the kernel does not wipe pages */

static struct {
    _Atomic(void *) counters;
    _Atomic uint64_t generations;
    /* List of old tables that readers may still use; protected by the writers' lock. */
    struct srcu_table *retired;
} srcu;

struct srcu_state srcu_state;
__thread struct srcu_reader *srcu_innermost;

/* ---- the page -------------------------------------------------------------------------------- */

static inline struct counters *counters(void)
{
    void *made = atomic_load_explicit(&srcu.counters, memory_order_acquire);
    return likely(made) ? made : os_wiped_page(&srcu.counters, &wiped_by_hand);
}

static void wipe(void)
{
    memset(&wiped_by_hand, 0, sizeof wiped_by_hand);
}

void srcu_constructed(void)
{
    if (counters() == &wiped_by_hand)
        NEXT(register_atfork)(NULL, NULL, wipe, NULL);
}

static uint64_t generation_of(struct counters *g)
{
    uint64_t generation = atomic_load_explicit(&g->generation, memory_order_relaxed);
    if (unlikely(!generation)) {
        uint64_t next = atomic_fetch_add(&srcu.generations, 1) + 1;
        if (atomic_compare_exchange_strong(&g->generation, &generation, next))
            generation = next;
    }
    return generation;
}

void srcu_lock(void)
{
    os_lock(&counters()->other);
}

void srcu_unlock(void)
{
    os_unlock(&counters()->other);
}

/* ---- readers --------------------------------------------------------------------------------- */

static void exit_counted(struct counters *g, uint32_t side)
{
    if (atomic_fetch_sub(&g->inside[side], 1) == 1 && unlikely(atomic_load(&srcu_state.has_writer)))
        os_wake(&g->inside[side], false);
}

static COLD void begin_counted(struct srcu_reader *t)
{
    struct counters *g = counters();
    uint64_t generation = generation_of(g);
    for (;;) {
        uint64_t epoch = atomic_load(&srcu_state.read_epoch);
        t->side = epoch & 1;
        atomic_fetch_add(&g->inside[t->side], 1); /* seq_cst: pairs with srcu_synchronize */
        if (likely(atomic_load(&srcu_state.read_epoch) == epoch))
            break;
        exit_counted(g, t->side);
    }
    t->generation = generation;
}

static COLD void end_counted(const struct srcu_reader *t)
{
    struct counters *g = counters();
    /* Else this is a child, which does not count the reader. */
    if (atomic_load_explicit(&g->generation, memory_order_relaxed) == t->generation)
        exit_counted(g, t->side);
}

COLD void srcu_wake_writer(void)
{
    struct counters *g = counters();
    atomic_fetch_add(&g->writer_wakeups, 1);
    os_wake(&g->writer_wakeups, false);
}

static bool is_counted(const struct srcu_reader *t)
{
    while (t && (t->thread || !t->generation))
        t = t->outer;
    return t != NULL;
}

/*
 * A thread without a struct gets one from a section, unless it is past its end. A handler may have
 * interrupted another reader of its thread. That one counts for both, but only if it has already
 * stored its epoch or counted itself.
 */
COLD void srcu_read_begin_slow(struct srcu_reader *t)
{
    struct section s;
    t->outer = srcu_innermost;
    t->thread = self;
    t->generation = 0;
    srcu_set_innermost(t);
    if (!t->outer && section_begin(&s))
        section_end(&s);
    t->thread = self;
    if (!self && !is_counted(t))
        begin_counted(t);
    else if (self && !atomic_load_explicit(&self->read_epoch, memory_order_relaxed))
        srcu_publish_epoch(self);
}

/* An epoch that a nested reader has stored is cleared by the outer one. */
COLD void srcu_read_end_slow(const struct srcu_reader *t)
{
    srcu_innermost = t->outer;
    if (t->generation && !t->thread)
        end_counted(t);
    if (t->outer || !t->thread)
        return;
    atomic_store_explicit(&t->thread->read_epoch, 0, memory_order_release);
    srcu_fence();
    if (atomic_load_explicit(&srcu_state.has_writer, memory_order_relaxed))
        srcu_wake_writer();
}

/*
 * A jump leaves readers that will not end. An epoch that is stored without a reader was about to be
 * cleared. A waiting writer is woken in any case.
 */
void srcu_nonlocal_exit(const struct jump *j)
{
    struct srcu_reader *t = srcu_innermost = jump_ends(j) ? NULL : srcu_innermost;
    for (; t && jump_discards(j, (uintptr_t)t); t = t->outer) {
        srcu_innermost = t->outer;
        if (!t->thread && t->generation)
            end_counted(t);
    }
    if (!t && self && atomic_exchange(&self->read_epoch, 0))
        srcu_wake_writer();
}

bool srcu_is_reading(void)
{
    return srcu_innermost != NULL;
}

/* ---- updates --------------------------------------------------------------------------------- */

int srcu_update_begin(void)
{
    if (srcu_innermost) /* it would wait for itself */
        return -EDEADLK;
    os_lock(&counters()->writer);
    return 0;
}

void srcu_update_lock(void)
{
    os_lock(&counters()->writer);
}

void srcu_update_end(void)
{
    os_unlock(&counters()->writer);
}

void *srcu_table_new(size_t bytes)
{
    bytes = align_up(bytes, PAGE_BYTES);
    struct srcu_table *t = os_map(bytes);
    if (os_failed(t))
        return NULL;
    t->bytes = bytes;
    return t;
}

void srcu_retire(struct srcu_table *old)
{
    if (!old)
        return;
    old->retired = srcu.retired;
    srcu.retired = old;
}

static bool has_reader(uint64_t epoch)
{
    for (struct thread *t = threads_first(); t; t = t->next) {
        uint64_t read_epoch = atomic_load(&t->read_epoch);
        if (read_epoch && read_epoch <= epoch + 1 && t->tid)
            return true;
    }
    return false;
}

static void wait_for_readers(struct counters *g, uint64_t epoch)
{
    struct section s;
    if (section_begin(&s)) /* in a child this leaves only this thread in the list */
        section_end(&s);
    for (;;) {
        uint32_t before = atomic_load(&g->writer_wakeups);
        if (!has_reader(epoch))
            return;
        os_wait(&g->writer_wakeups, before, 0, false);
    }
}

void srcu_synchronize(void)
{
    struct counters *g = counters();
    uint64_t epoch = atomic_fetch_add(&srcu_state.read_epoch, 1);
    _Atomic uint32_t *inside = &g->inside[epoch & 1];
    uint32_t some;
    atomic_store(&srcu_state.has_writer, 1);
    os_barrier(); /* pairs with srcu_fence */
    wait_for_readers(g, epoch);
    while ((some = atomic_load(inside)))
        os_wait(inside, some, 0, false);
    atomic_store(&srcu_state.has_writer, 0);
    while (srcu.retired) {
        struct srcu_table *old = srcu.retired;
        srcu.retired = old->retired;
        os_unmap(old, old->bytes);
    }
}
