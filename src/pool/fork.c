/*
 * fork.c - one heap before a fork, two after it, and records that stay true for both.
 *
 * The heap and our private tables are copied by the kernel, at one instant.  The records are in
 * shared memory and are copied by us, a slab at a time, when one side first writes one.
 *
 *   - The current epoch stands in go_page.  Every record write is preceded by: head.epoch equals
 *     it, else fork_own() first.
 *   - A fork stops writers (epoch word 0, barrier, wait until every thread is outside), lets the
 *     kernel copy, and goes on in the parent with the next epoch.  So no record that the child can
 *     see is written after the copy: the parent's next write finds an older epoch and copies first.
 *   - It copies only while somebody can see the old records: a lease in the run's table stands
 *     for each child.  When the child is gone - and all who depend on it - what was superseded is
 *     used again.
 *   - The child finds out at its first operation: its go_page was wiped by the kernel, whoever
 *     forked and however (vfork and posix_spawn leave it alone, rightly: they share the memory).
 *     It becomes an image of its own then, and copies every inherited slab before it writes one.
 *
 * Waiting is bounded on both sides.  A thread that stays inside for QUIET_NS (it was stopped, or
 * left by siglongjmp) makes the lease torn; so does a thread that is made to wait for ESCAPE_NS,
 * because the forking thread may be waiting for a lock of libc that it holds.  A child with a torn
 * lease, or with none (a fork that libc did not see), believes nothing about inherited blocks: the
 * first free of each is right.
 */
#include "pool_priv.h"

#include <string.h>

#define QUIET_NS 20000000ull
#define ESCAPE_NS 50000000ull
#define LEASES_MINE_MAX 1024u
#define RETIRED_MAX 8192u

static struct go_page before_start;
struct go_page *go_page = &before_start;
bool fence_entries = true;

/* A lease on our records, as the parent sees it. */
struct granted {
    uint32_t index;
    uint32_t epoch; /* the child sees records current in this epoch */
};

/* Records superseded in `until`, first written in `born`. */
struct retired {
    void *records;
    uint32_t born, until;
    bool large;
};

static struct {
    void (*child)(bool fresh);
    uint32_t pid;   /* ours */
    uint32_t epoch; /* current; go_page has it unless a fork is under way */
    uint32_t first_epoch; /* records of older epochs are an ancestor's */
    struct lock forking; /* held from prepare to parent/child */
    _Atomic uint32_t forker; /* tid of the thread that holds it */
    _Atomic uint32_t stopped; /* futex of the threads that wait */
    _Atomic uint32_t waiting; /* how many */
    struct lease *pending;  /* of the fork under way; in a new child: ours */
    struct lease *mine;     /* by which we read our parent's records */
    bool nested;            /* a handler forks while its thread is forking */
    struct thread *survivor; /* in a new child: the thread that forked, if it was seen */
    _Atomic uint32_t beginner; /* tid of the thread that makes a new child an image */
    struct lock copying;
    struct lock retiring;
    struct granted granted[LEASES_MINE_MAX];
    uint32_t granted_count;
    struct retired retired[RETIRED_MAX];
    uint32_t retired_count;
} forks = {.forking = LOCK_INIT(0),
           .copying = LOCK_INIT(RANK_COPY),
           .retiring = LOCK_INIT(RANK_RETIRE)};

void fork_start(void (*child)(bool fresh))
{
    forks.child = child;
    struct go_page *page = os_map(PAGE_BYTES);
    if (os_failed(page))
        page = &before_start; /* forks that libc does not see stay unseen */
    else
        os_wipe_on_fork(page, PAGE_BYTES);
    forks.pid = os_pid();
    forks.epoch = forks.first_epoch = 1;
    fence_entries = !os_barrier_ready();
    atomic_store(&page->alive, 1);
    atomic_store(&page->epoch, forks.epoch);
    go_page = page;
}

bool fork_is_child(void)
{
    return forks.epoch && !atomic_load_explicit(&go_page->alive, memory_order_relaxed);
}

bool fork_is_beginning(void)
{
    uint32_t tid = atomic_load_explicit(&forks.beginner, memory_order_relaxed);
    return tid && tid == os_tid();
}

bool fork_shares_memory(void)
{
    return forks.pid && !fork_is_child() && os_pid() != forks.pid;
}

/* ---- leases --------------------------------------------------------------------------------- */

static bool granted_is_live(const struct granted *g)
{
    struct lease *l = &run_leases()[g->index];
    return l->parent == image()->image && l->epoch == g->epoch &&
           atomic_load_explicit(&l->state, memory_order_acquire) != LEASE_FREE && lease_needed(l);
}

static void prune_granted(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < forks.granted_count; i++)
        if (granted_is_live(&forks.granted[i]))
            forks.granted[kept++] = forks.granted[i];
    forks.granted_count = kept;
}

/* Can a child see records that were current from `born` until before `until`? */
static bool is_seen(uint32_t born, uint32_t until)
{
    for (uint32_t i = 0; i < forks.granted_count; i++)
        if (born <= forks.granted[i].epoch && forks.granted[i].epoch < until)
            return true;
    return false;
}

static struct lease *lease_claim(void)
{
    if (!run_header() || forks.granted_count == LEASES_MINE_MAX)
        return NULL;
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &run_leases()[i];
        uint32_t vacant = LEASE_FREE;
        if (atomic_load_explicit(&l->state, memory_order_relaxed) != LEASE_FREE ||
            !atomic_compare_exchange_strong(&l->state, &vacant, LEASE_FORKING))
            continue;
        atomic_store(&l->pid, 0);
        l->parent = image()->image;
        l->epoch = forks.epoch;
        atomic_store(&l->torn, TORN_OPEN);
        atomic_store(&l->child, 0);
        atomic_store(&l->copied, 0);
        forks.granted[forks.granted_count++] = (struct granted){i, forks.epoch};
        return l;
    }
    return NULL;
}

static void let_go(const struct retired *r)
{
    if (r->large)
        large_record_vacate(r->records);
    else
        segment_vacate(r->records);
}

/* Uses again what no child can see any more. */
static void sweep_retired(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < forks.retired_count; i++)
        if (is_seen(forks.retired[i].born, forks.retired[i].until))
            forks.retired[kept++] = forks.retired[i];
        else
            let_go(&forks.retired[i]);
    forks.retired_count = kept;
}

static void retire(void *records, uint32_t born, bool large)
{
    if (born < forks.first_epoch)
        return; /* an ancestor's, not ours to use again */
    struct retired r = {records, born, forks.epoch, large};
    lock_take(&forks.retiring);
    if (!is_seen(born, forks.epoch))
        let_go(&r);
    else if (forks.retired_count < RETIRED_MAX)
        forks.retired[forks.retired_count++] = r;
    lock_drop(&forks.retiring);
}

void fork_retire_segment(struct segment *s, uint32_t born)
{
    if (born >= forks.first_epoch)
        atomic_store_explicit(&s->state, SEGMENT_SUPERSEDED, memory_order_release);
    retire(s, born, false);
}

void fork_retire_large(struct large_record *r, uint32_t born)
{
    retire(r, born, true);
}

/* ---- copying -------------------------------------------------------------------------------- */

static bool believes_parent(void)
{
    if (!run_header())
        return true; /* all records are private: the kernel copied them with the rest */
    return forks.mine && atomic_load_explicit(&forks.mine->torn, memory_order_acquire) != TORN_YES;
}

static void copy_slab(struct unit *head, struct segment *old, uint32_t go, bool inherited)
{
    struct segment *new = segment_take(SEGMENT_SLAB, old->capacity, old->item_bytes, old->index);
    if (!new)
        return; /* not a page to be had: the records of this slab stay with the parent's */
    new->slot_bytes = old->slot_bytes;
    new->units = old->units;
    atomic_store_explicit(&new->count, old->capacity, memory_order_relaxed);
    atomic_store_explicit(&new->epoch, go, memory_order_relaxed);
    block_copy(segment_items(new), segment_items(old), old->capacity, old->item_bytes, inherited);
    if (inherited && !believes_parent()) /* asked after the copy: the parent may have torn it */
        block_distrust(segment_items(new), old->capacity, old->item_bytes);
    segment_publish(new);
    uint32_t kind = owner_kind(atomic_load_explicit(&head->owner, memory_order_relaxed));
    atomic_store_explicit(&head->owner, owner_of(kind, (uintptr_t)new), memory_order_release);
    fork_retire_segment(old, atomic_load_explicit(&head->epoch, memory_order_relaxed));
    image_count(&image()->slab_copies);
}

static void copy_large(struct unit *head, struct large_record *old, bool inherited)
{
    struct large_record *new = large_record_copy(old, !inherited || believes_parent());
    if (!new)
        return;
    if (inherited) /* an inherited block is older than every mark of ours */
        atomic_fetch_and_explicit(&new->block.word,
                                  ~((uint64_t)BLOCK_MARK_MASK << BLOCK_MARK_SHIFT),
                                  memory_order_relaxed);
    atomic_store_explicit(&head->owner, owner_of(UNIT_LARGE, (uintptr_t)new),
                          memory_order_release);
    if (!inherited)
        atomic_store_explicit(&old->superseded, 1, memory_order_release);
    fork_retire_large(old, atomic_load_explicit(&head->epoch, memory_order_relaxed));
}

/* Nobody else sees these records: they only need the new date. */
static void restamp(struct unit *head, uint64_t owner, uint32_t go)
{
    if (owner_kind(owner) == UNIT_LARGE) {
        struct large_record *r = owner_pointer(owner);
        r->epoch = go;
    } else {
        struct segment *s = owner_pointer(owner);
        atomic_store_explicit(&s->epoch, go, memory_order_relaxed);
    }
    atomic_store_explicit(&head->epoch, go, memory_order_release);
}

void fork_own(struct unit *head, uint32_t go)
{
    lock_take(&forks.copying);
    uint32_t born = atomic_load_explicit(&head->epoch, memory_order_acquire);
    uint64_t owner = atomic_load_explicit(&head->owner, memory_order_acquire);
    bool inherited = born < forks.first_epoch;
    if (born == go) {
        lock_drop(&forks.copying);
        return;
    }
    if (inherited || is_seen(born, go)) {
        if (owner_kind(owner) == UNIT_LARGE)
            copy_large(head, owner_pointer(owner), inherited);
        else
            copy_slab(head, owner_pointer(owner), go, inherited);
        atomic_store_explicit(&head->epoch, go, memory_order_release); /* pairs with pool_record_hot */
    } else {
        restamp(head, owner, go);
    }
    lock_drop(&forks.copying);
}

/* ---- the parent's side ------------------------------------------------------------------------ */

/* Waits until every other thread is outside; false: one would not come out. */
static bool wait_for_quiet(void)
{
    uint64_t begin = 0;
    for (struct thread *t = threads_first(); t; t = t->next) {
        while (t != self && atomic_load_explicit(&t->crit, memory_order_acquire)) {
            uint64_t now = os_clock_ns();
            begin = begin ? begin : now;
            if (now - begin > QUIET_NS)
                return false;
            os_yield();
        }
    }
    return true;
}

/* Stops writers; true when none was left inside. */
static bool stop_writers(void)
{
    if (!os_has(OS_QUIESCE))
        return true;
    atomic_store(&forks.stopped, 1);
    atomic_store(&go_page->epoch, 0); /* a thread not in the list yet finds this, or we find it */
    struct thread *all = threads_first();
    if (!all || (all == self && !all->next))
        return true;
    os_barrier();
    return wait_for_quiet();
}

static void resume_writers(void)
{
    atomic_store(&go_page->epoch, forks.epoch);
    atomic_store(&forks.stopped, 0);
    if (atomic_load(&forks.waiting))
        os_wake(&forks.stopped, false);
}

/* Does this fork interrupt a critical section of its own thread? */
static bool is_inside(void)
{
    return self && atomic_load_explicit(&self->crit, memory_order_relaxed);
}

void fork_prepare(void)
{
    if (!forks.epoch || fork_shares_memory())
        return;
    if (is_inside())
        return; /* a handler forks: no lock may be taken here, and that child has no lease */
    if (fork_is_child())
        fork_begin_child();
    forks.nested = atomic_load(&forks.forker) == os_tid();
    if (forks.nested)
        return; /* a prepare handler forks: that child has none, either */
    lock_take(&forks.forking);
    atomic_store(&forks.forker, os_tid());
    bool quiet = stop_writers();
    prune_granted();
    sweep_retired();
    forks.pending = lease_claim();
    if (forks.pending && !quiet)
        atomic_store(&forks.pending->torn, TORN_YES);
    image_count(&image()->fork_count);
}

static bool is_forker(void)
{
    return forks.epoch && atomic_load(&forks.forker) == os_tid();
}

void fork_parent(void)
{
    if (!is_forker() || forks.nested) {
        forks.nested = false;
        return;
    }
    if (self)
        self->lease_plus_1 = forks.pending ? (uint32_t)(forks.pending - run_leases()) + 1 : 0;
    /*
     * A child that believes nothing needs no copies; and a thread that is still inside may be
     * about to write a record that a new epoch would have others copy away from it.
     */
    uint32_t open = TORN_OPEN;
    if (forks.pending && atomic_compare_exchange_strong(&forks.pending->torn, &open, TORN_CLOSED))
        forks.epoch++;
    forks.pending = NULL;
    resume_writers();
    atomic_store(&forks.forker, 0);
    lock_drop(&forks.forking);
}

/* heap=file: the child copies a heap that this thread could change. */
static void wait_for_copy(struct lease *l, uint32_t pid)
{
    for (unsigned i = 0; i < 1000 && !atomic_load(&l->copied) && !os_process_gone(pid); i++)
        os_wait(&l->copied, 0, 10000000, true);
}

void fork_pid(int32_t pid)
{
    if (!self || !self->lease_plus_1 || fork_is_child() || fork_shares_memory())
        return;
    struct lease *l = &run_leases()[self->lease_plus_1 - 1];
    self->lease_plus_1 = 0;
    if (pid <= 0) {
        atomic_store(&l->state, LEASE_FREE);
        return;
    }
    atomic_store(&l->pid, (uint32_t)pid); /* what the child says of itself may be of its namespace */
    uint32_t forking = LEASE_FORKING;
    atomic_compare_exchange_strong(&l->state, &forking, LEASE_HELD);
    if (heap_in_file())
        wait_for_copy(l, (uint32_t)pid);
}

uint32_t fork_epoch(void)
{
    return forks.epoch;
}

bool fork_wait(void)
{
    uint64_t begin = os_clock_ns();
    while (atomic_load_explicit(&go_page->epoch, memory_order_acquire) == 0) {
        if (atomic_load(&forks.forker) == os_tid())
            return false; /* a prepare handler of somebody else's, after ours */
        if (os_clock_ns() - begin > ESCAPE_NS) {
            struct lease *l = forks.pending;
            uint32_t open = TORN_OPEN; /* pairs with fork_parent, and believes_parent in the child */
            if (!l || atomic_compare_exchange_strong(&l->torn, &open, TORN_YES) || open == TORN_YES)
                return false;
        }
        atomic_fetch_add(&forks.waiting, 1);
        os_wait(&forks.stopped, 1, ESCAPE_NS, false);
        atomic_fetch_sub(&forks.waiting, 1);
    }
    return true;
}

/* ---- the child's side ------------------------------------------------------------------------- */

void fork_child(void)
{
    if (!forks.epoch)
        return;
    if (forks.nested || is_inside())
        forks.pending = NULL;
    forks.survivor = self;
    atomic_store(&go_page->epoch, 0);
    atomic_store(&go_page->alive, 0);
    if (is_inside())
        areas_privatise();
    if (heap_in_file())
        heap_copy_for_child();
    if (!forks.pending)
        return;
    atomic_store(&forks.pending->pid, os_pid());
    atomic_store(&forks.pending->state, LEASE_HELD);
    atomic_store(&forks.pending->copied, 1);
    if (run_header()->heap_bytes)
        os_wake(&forks.pending->copied, true);
}

static void forget_parent(void)
{
    lock_reset(&forks.forking);
    lock_reset(&forks.copying);
    lock_reset(&forks.retiring);
    atomic_store(&forks.forker, 0);
    atomic_store(&forks.stopped, 0);
    atomic_store(&forks.waiting, 0);
    forks.pending = NULL;
    forks.nested = false;
    forks.granted_count = 0;
    forks.retired_count = 0;
    forks.pid = os_pid();
}

/* The child's one thread goes on with its struct; the others' slots are there to be adopted. */
static struct thread *take_over_threads(void)
{
    struct thread *survivor = self ? self : forks.survivor;
    return threads_after_fork(survivor);
}

static void begin_child(void)
{
    struct lease *lease = forks.mine = forks.pending;
    bool whole = believes_parent() || threads_alive() <= (self ? 1u : 0u);
    struct image_request request = {
        .how = lease ? IMAGE_FORK : IMAGE_FORK_UNSEEN,
        .parent = image()->image,
        .lease = lease ? (uint32_t)(lease - run_leases()) + 1 : 0,
        .first_thread = threads_next_number(),
        .flags = atomic_load(&image()->flags) &
                 (IMAGE_IN_CONTROL | IMAGE_OWN_MALLOC | IMAGE_SANDBOXED | IMAGE_BY_HAND |
                  IMAGE_RECORD_WIDE),
    };
    forget_parent();
    units_after_fork(whole);
    slab_after_fork(whole, take_over_threads());
    large_after_fork(whole);
    depot_after_fork(!lease);
    modules_after_fork(!lease);
    forks.child(!lease);
    areas_after_fork();
    segments_after_fork();
    request.first_depot_chunk = depot_next_chunk();
    image_start(&request);
    if (!run_header())
        large_start(); /* private records: there may be no memory for them later */
    if (!believes_parent())
        image_flag(IMAGE_INHERITED_UNSURE);
    if (lease)
        atomic_store(&lease->child, image()->image);
    for (struct thread *t = threads_first(); t; t = t->next)
        threads_renew(t);
    forks.survivor = NULL;
    forks.first_epoch = ++forks.epoch;
    atomic_store(&go_page->epoch, forks.epoch);
}

/* Several threads of a new child may come here at once: one begins, the others wait for it. */
void fork_begin_child(void)
{
    struct os_signals signals;
    os_block_signals(&signals);
    uint32_t nobody = 0;
    if (atomic_compare_exchange_strong(&forks.beginner, &nobody, os_tid())) {
        if (fork_is_child()) {
            begin_child();
            atomic_store(&go_page->alive, 1);
        }
        atomic_store(&forks.beginner, 0);
    }
    while (fork_is_child())
        os_yield();
    os_restore_signals(&signals);
}
