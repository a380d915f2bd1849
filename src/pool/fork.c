/*
 * fork.c - one heap before a fork, two after it, and records that stay true for both.
 *
 * The heap and our private tables are copied by the kernel, at one instant.  The records are in
 * shared memory and are copied by us, a slab at a time, when one side first writes one (copy.c).
 *
 *   - A fork stops writers (quiesce.c), lets the kernel copy, and goes on in the parent with the next
 *     epoch.  So no record that the child can see is written after the copy: the parent's next
 *     write finds an older epoch and copies first.
 *   - The child finds out at its first operation: its epoch_page was wiped by the kernel, whoever
 *     forked and however (vfork and posix_spawn leave it alone, rightly: they share the memory).
 *     It becomes an image of its own then, and copies every inherited slab before it writes one.
 *
 * Waiting is bounded on both sides, so a snapshot may hold records and data that do not agree.  Both cases
 * make it *torn*: a thread stays inside longer than the fork waits, or a thread waits for the fork longer than
 * it may and enters nevertheless (fork_enter_anyway).  forks.torn is the word that decides; it is open before
 * the first thread can be stopped, hence no thread enters unnoticed, however long the forking thread was kept
 * from its processor.  The lease carries the answer to the child.
 *
 * A child with a torn lease, or with none (a fork that libc did not see), trusts no record that it inherited:
 * the first free of each such block is right.  Its own children inherit the same doubt with those records
 * (copies_inherit).
 */
#include "pool_priv.h"

#define STALLED_NS 2000000000ull
#define COPY_LOOK_NS 10000000ull
#define STOP_NS 200000000ull

static struct {
    void (*child)(bool fresh);
    void (*begun)(void);
    uint32_t pid;                  /* ours */
    uint32_t epoch;                /* current; epoch_page has it unless a fork is under way */
    struct lock forking;           /* held from prepare to parent/child */
    _Atomic uint32_t forker;       /* tid of the thread that holds it */
    _Atomic uint32_t torn;         /* enum lease_torn of the stop under way, or of the last one */
    struct lease *_Atomic pending; /* of the fork under way; in a new child: ours */
    bool seen;              /* in a new child: fork_child was called, so `pending` is its own */
    bool nested;            /* a handler forks while its thread is forking */
    struct thread *blocker; /* whose signals are blocked from prepare to parent/child */
    struct os_signals signals;
    struct thread *survivor;   /* in a new child: the thread that forked, if it was seen */
    _Atomic uint32_t beginner; /* tid of the thread that makes a new child an image */
} forks = {.forking = LOCK_INIT(0), .torn = TORN_CLOSED};

void fork_start(void (*child)(bool fresh))
{
    forks.child = child;
    forks.pid = os_pid();
    forks.epoch = 1;
    copies_begin(forks.epoch);
    quiesce_start(forks.epoch);
}

void fork_when_begun(void (*begun)(void))
{
    forks.begun = begun;
}

bool fork_is_child(void)
{
    return forks.epoch && !atomic_load_explicit(&epoch_page->alive, memory_order_relaxed);
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

uint32_t fork_epoch(void)
{
    return forks.epoch;
}

/* ---- the parent's side ----------------------------------------------------------------------- */

bool fork_is_mine(void)
{
    return forks.epoch && atomic_load(&forks.forker) == os_tid();
}

/*
 * The snapshot of the stop under way is torn from here on; false: it is too late, that stop is over.  First
 * forks.torn, then `pending`: pairs with prepare_lease, which does the opposite.  The caller writes records
 * only behind this, so a child that sees such a record sees the lease torn (lease_is_torn).
 */
static bool tear(void)
{
    uint32_t open = TORN_OPEN;
    if (!atomic_compare_exchange_strong(&forks.torn, &open, TORN_YES) && open != TORN_YES)
        return false;
    struct lease *l = atomic_load(&forks.pending);
    if (l)
        atomic_store(&l->torn, TORN_YES);
    return true;
}

bool fork_enter_anyway(void)
{
    return fork_is_mine() || tear();
}

/* Before the first thread is stopped: from here on tear() has a word that it can change. */
static void begin_stop(void)
{
    atomic_store(&forks.torn, TORN_OPEN);
}

/* false: the stop was torn, and is over. */
static bool end_stop(void)
{
    uint32_t open = TORN_OPEN; /* pairs with tear */
    return atomic_compare_exchange_strong(&forks.torn, &open, TORN_CLOSED);
}

/* Does this fork interrupt a critical section of its own thread? */
static bool is_inside(void)
{
    return self && thread_is_inside(self);
}

/*
 * A handler in the parent, after the copy and before the next epoch, would write records that the child
 * can see; those that are due come just then, because libc blocks them while it forks.
 */
static struct os_signals block_signals(void)
{
    struct os_signals signals = {.blocked = false};
    if (self)
        os_block_signals(&signals);
    return signals;
}

static void prepare_lease(bool is_quiescent)
{
    bool torn_heap =
        heap_in_file() && threads_alive() > 1; /* they go on while the child copies it */
    if (is_quiescent)
        copies_sweep(); /* else a thread inside may be looking at the same tables */
    atomic_store(&forks.pending, lease_grant());
    if (!is_quiescent || torn_heap || atomic_load(&forks.torn) == TORN_YES)
        tear();
}

void fork_prepare(void)
{
    if (!forks.epoch || fork_shares_memory())
        return;
    if (is_inside()) {
        threads_note_totals();
        return; /* a handler forks: no lock may be taken here, and that child has no lease */
    }
    if (fork_is_child())
        fork_begin_child();
    forks.nested = atomic_load(&forks.forker) == os_tid();
    if (forks.nested)
        return; /* a prepare handler forks: that child has none, either */
    struct os_signals signals = block_signals();
    lock_take(&forks.forking);
    forks.signals = signals;
    forks.blocker = self;
    atomic_store(&forks.forker, os_tid());
    begin_stop();
    bool is_quiescent = quiesce_writers();
    threads_note_totals();
    prepare_lease(is_quiescent);
    image_count(&image()->fork_count);
}

void fork_parent(void)
{
    if (!fork_is_mine() || forks.nested) {
        forks.nested = false;
        return;
    }
    struct lease *l = atomic_load(&forks.pending);
    if (self) {
        self->lease_plus_1 = l ? (uint32_t)(l - run_leases()) + 1 : 0;
        self->lease_epoch = forks.epoch;
    }
    /*
     * A child that believes nothing needs no copies; and a thread that is still inside may be
     * about to write a record that a new epoch would have others copy away from it.
     */
    uint32_t open = TORN_OPEN;
    if (end_stop() && l) {
        if (lease_is_of(l, image()->image, forks.epoch))
            atomic_compare_exchange_strong(&l->torn, &open, TORN_CLOSED);
        forks.epoch++;
    }
    atomic_store(&forks.pending, NULL);
    quiesce_resume(forks.epoch);
    struct os_signals signals = forks.signals;
    forks.blocker = NULL;
    atomic_store(&forks.forker, 0);
    lock_drop(&forks.forking);
    os_restore_signals(&signals);
}

/* A fork under way may wait for a lock of libc that its caller, or who was interrupted here, holds. */
static bool lock_in_time(struct lock *l)
{
    uint64_t begin = os_clock_ns();
    while (!lock_try(l)) {
        if (os_clock_ns() - begin > STOP_NS)
            return false;
        os_yield();
    }
    return true;
}

bool fork_stop_writers(void)
{
    if (!forks.epoch || is_inside() || fork_is_mine() || fork_shares_memory())
        return false;
    struct os_signals signals = block_signals();
    if (!lock_in_time(&forks.forking)) {
        os_restore_signals(&signals);
        return false;
    }
    forks.signals = signals;
    atomic_store(&forks.forker, os_tid());
    begin_stop();
    if (quiesce_writers())
        return true;
    fork_resume_writers();
    return false;
}

void fork_resume_writers(void)
{
    struct os_signals signals = forks.signals;
    end_stop();
    quiesce_resume(forks.epoch);
    atomic_store(&forks.forker, 0);
    lock_drop(&forks.forking);
    os_restore_signals(&signals);
}

/*
 * heap=file: the child copies a heap that this thread could change.  Its end is seen, but in a
 * sandbox, where it may not be asked for: there a child that comes no further is given up.
 */
static void wait_for_copy(struct lease *l, uint32_t pid)
{
    uint32_t seen = 0, now;
    uint64_t since = os_clock_ns();
    while ((now = atomic_load_explicit(&l->copied, memory_order_acquire)) != COPIED_ALL) {
        if (now != seen)
            since = os_clock_ns();
        else if (os_clock_ns() - since > STALLED_NS || os_child_ended(pid))
            return;
        seen = now;
        os_wait(&l->copied, now, COPY_LOOK_NS, true);
    }
}

void fork_pid(int32_t pid)
{
    if (!self || !self->lease_plus_1 || fork_is_child() || fork_shares_memory())
        return;
    struct lease *l = &run_leases()[self->lease_plus_1 - 1];
    self->lease_plus_1 = 0;
    if (!lease_is_of(l, image()->image, self->lease_epoch))
        return; /* the child is over */
    if (pid <= 0) {
        atomic_store(&l->state, LEASE_FREE);
        return;
    }
    atomic_store(&l->pid,
                 (uint32_t)pid); /* what the child says of itself may be of its namespace */
    uint32_t forking = LEASE_FORKING;
    atomic_compare_exchange_strong(&l->state, &forking, LEASE_HELD);
    if (heap_in_file())
        wait_for_copy(l, (uint32_t)pid);
}

/* ---- the child's side ------------------------------------------------------------------------ */

static void copy_file_heap(void)
{
    _Atomic uint32_t unused_progress = 0;
    struct lease *l = atomic_load(&forks.pending);
    _Atomic uint32_t *copied = l ? &l->copied : &unused_progress;
    void *copy = heap_copy_out(copied);
    atomic_store_explicit(copied, COPIED_ALL, memory_order_release); /* pairs with wait_for_copy */
    os_wake(copied, true);
    heap_put_back(copy);
    slab_forget_never(); /* other threads wrote while it was copied: tables and memory may differ */
}

static void wait_for_parent(void)
{
    struct lease *l = forks.nested || is_inside() ? NULL : atomic_load(&forks.pending);
    atomic_store(&forks.pending, l);
    forks.seen = true;
    forks.survivor = self;
    atomic_store(&epoch_page->epoch, 0);
    atomic_store(&epoch_page->alive, 0);
    if (is_inside())
        areas_privatise();
    if (heap_in_file())
        copy_file_heap();
    if (!l)
        return;
    atomic_store(&l->pid, os_pid());
    atomic_store(&l->state, LEASE_HELD);
}

void fork_child(void)
{
    if (!forks.epoch)
        return;
    wait_for_parent();
    if (self && forks.blocker == self)
        os_restore_signals(&forks.signals);
    forks.blocker = NULL;
}

void fork_post_mortem(void)
{
    quiesce_resume(forks.epoch);
}

/* Does a child believe what it inherits by this lease (NULL: by none)? */
static bool is_believed(const struct lease *l)
{
    if (!run_header())
        return true; /* all records are private: the kernel copied them with the rest */
    return l && !lease_is_torn(l);
}

static void forget_parent(void)
{
    lock_reset(&forks.forking);
    copies_after_fork();
    quiesce_after_fork();
    atomic_store(&forks.forker, 0);
    atomic_store(&forks.torn, TORN_CLOSED);
    atomic_store(&forks.pending, NULL);
    forks.nested = forks.seen = false;
    forks.pid = os_pid();
}

/* The child's one thread goes on with its struct; the others' slots are there to be adopted. */
static struct thread *take_over_threads(void)
{
    struct thread *survivor = self ? self : forks.survivor;
    if (!forks.survivor) /* a fork that we did not see: as they are by now */
        threads_note_totals();
    return threads_after_fork(survivor);
}

/* While image() is still the parent's. */
static struct image_request child_request(const struct lease *lease)
{
    return (struct image_request){
        .how = lease ? IMAGE_FORK : IMAGE_FORK_UNSEEN,
        .parent = image()->image,
        .lease = lease ? (uint32_t)(lease - run_leases()) + 1 : 0,
        .first_thread = threads_next_number(),
        .frames = image()->stack_frames,
        .flags = (atomic_load(&image()->flags) &
                  (IMAGE_IN_CONTROL | IMAGE_OWN_MALLOC | IMAGE_BY_HAND | IMAGE_RECORD_WIDE)) |
                 (os_sandboxed() ? IMAGE_SANDBOXED : 0),
    };
}

/* Everything that a child has inherited; lease NULL: it cannot read what its parent wrote. */
static void parts_after_fork(const struct lease *lease)
{
    bool fresh = !lease, whole = is_believed(lease) || threads_is_alone();
    forget_parent();
    if (heap_in_file()) /* a fork that we did not see: better late than two in one heap */
        copy_file_heap();
    units_after_fork(whole);
    slab_after_fork(whole, take_over_threads());
    large_after_fork(whole);
    pending_after_fork(whole);
    client_block_after_fork(whole);
    depot_after_fork(fresh);
    modules_after_fork(fresh);
    forks.child(fresh);
    areas_after_fork();
    segments_after_fork();
}

static void begin_child(void)
{
    /* A fork that we did not see may come in the midst of another thread's, whose lease is not ours. */
    struct lease *lease = forks.seen ? atomic_load(&forks.pending) : NULL;
    struct image_request request = child_request(lease);
    parts_after_fork(lease);
    request.first_depot_chunk = depot_next_chunk();
    image_start(&request);
    if (!run_header())
        large_start(); /* private records: there may be no memory for them later */
    if (lease)
        atomic_store(&lease->child, image()->image);
    for (struct thread *t = threads_first(); t; t = t->next)
        threads_renew(t);
    forks.survivor = NULL;
    copies_inherit(++forks.epoch, lease);
    atomic_store(&epoch_page->epoch, forks.epoch);
}

/* Several threads of a new child may come here at once: one begins, the others wait for it. */
void fork_begin_child(void)
{
    struct os_signals signals;
    os_block_signals(&signals);
    uint32_t expected = 0;
    bool begun = false;
    if (atomic_compare_exchange_strong(&forks.beginner, &expected, os_tid())) {
        if (fork_is_child()) {
            begin_child();
            atomic_store(&epoch_page->alive, 1);
            begun = true;
        }
        atomic_store(&forks.beginner, 0);
    }
    if (begun && forks.begun)
        forks.begun();
    while (fork_is_child())
        os_yield();
    os_restore_signals(&signals);
}
