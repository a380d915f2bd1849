/*
 * fork.c - one heap before a fork, two after it, with records that are valid for both.
 *
 * The kernel copies the heap and private tables at one instant.  Records are in shared memory: the
 * runtime copies them, a slab at a time, before one side first writes one (copy.c).
 *
 *  - A fork stops writers (quiesce.c).  After the kernel's copy the parent continues with the
 *    next epoch.  So records that the child can read do not change: the parent's next write
 *    finds an older epoch and copies first.
 *  - The child detects the fork at its first operation, because the kernel wiped its epoch_page.
 *    This works for all ways to fork.  vfork and posix_spawn share the memory and do not wipe it,
 *    as intended.  The child becomes an image of its own, and copies an inherited slab before it
 *    writes to it.
 *
 * Waiting is bounded on both sides, so records and data of a snapshot may disagree.  Such a
 * snapshot is *torn*: a thread stays in its section longer than the fork waits, or a thread waits
 * longer than its limit and enters (fork_enter_anyway).  forks.torn decides.  It is TORN_OPEN
 * before the first thread can be stopped, so no thread enters unnoticed, however long the forking
 * thread was not scheduled.  The lease passes the result to the child.
 *
 * A child with a torn lease, or without a lease (libc did not see the fork), trusts no inherited
 * record: the first free of each such block is accepted.  Its own children inherit the distrust
 * with those records (copies_inherit).
 *
 * The lock `forking` has rank 0: it is taken before all others.
 */
#include "fork_priv.h"
#include "guard.h"
#include "mutant.h"

#define STALLED_NS 2000000000ull
#define COPY_LOOK_NS 10000000ull
#define STOP_NS 200000000ull
#define DEAD_LOOK_NS 100000000u /* between two looks at whether the lock's holder is alive */

static struct {
    void (*child)(bool fresh);
    void (*begun)(void);
    enum fork_heap heap;
    bool (*stop_others)(void); /* the other threads, not only writers of records */
    void (*resume_others)(void);
    uint32_t pid; /* of this process */
    /* current; equals epoch_page->epoch unless a fork is under way */
    uint32_t epoch;
    struct lock forking;     /* held from prepare to parent/child */
    _Atomic uint32_t forker; /* tid of the thread that holds it */
    /* enum lease_torn of the current or last stop */
    _Atomic uint32_t torn;
    struct lease *_Atomic pending; /* of the current fork; in a new child: its own */
    bool seen;                     /* in a new child: fork_child was called; `pending` is its own */
    bool nested;                   /* a prepare handler forks while its thread is forking */
    /* the thread with signals blocked from prepare to parent/child */
    struct thread *blocker;
    struct os_signals signals;
    struct thread *survivor;   /* in a new child: the forking thread, if libc saw the fork */
    _Atomic uint32_t beginner; /* tid of the thread that makes a new child an image */
} forks = {.forking = LOCK_INIT(0), .torn = TORN_CLOSED};

void fork_start(void (*child)(bool fresh), enum fork_heap heap)
{
    forks.child = child;
    forks.heap = heap;
    forks.pid = os_pid();
    forks.epoch = 1;
    copies_begin(forks.epoch);
    quiesce_start(forks.epoch);
}

void fork_stops_by(bool (*stop)(void), void (*resume)(void))
{
    forks.stop_others = stop;
    forks.resume_others = resume;
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
    return forks.pid && !fork_is_child() && os_program_pid() != forks.pid;
}

uint32_t fork_epoch(void)
{
    return forks.epoch;
}

/* ---- the parent's side ----------------------------------------------------------------------- */

bool fork_is_by_caller(void)
{
    return forks.epoch && atomic_load(&forks.forker) == os_tid();
}

/*
 * Mark the snapshot of the current stop as torn; false: too late, that stop is over.  Writes
 * forks.torn, then reads `pending`: pairs with prepare_lease, which does it in the opposite order.
 * The caller writes records only afterwards, so a child that sees such a record sees the lease torn
 * (lease_is_torn).
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
    return fork_is_by_caller() || tear();
}

/* Before the first thread is stopped: from here on tear() can change forks.torn. */
static void begin_stop(void)
{
    atomic_store(&forks.torn, TORN_OPEN);
}

/* false: the stop was torn; it is over in both cases. */
static bool end_stop(void)
{
    uint32_t open = TORN_OPEN; /* pairs with tear */
    return atomic_compare_exchange_strong(&forks.torn, &open, TORN_CLOSED);
}

bool fork_is_scanner(uint32_t tid)
{
    return tid && image() && tid == atomic_load(&image()->scanner);
}

bool fork_end_dead_stop(void)
{
    uint32_t tid = atomic_load(&forks.forker);
    if (!fork_is_scanner(tid) || !os_process_gone(tid) ||
        !atomic_compare_exchange_strong(&forks.forker, &tid, os_tid()))
        return false;
    struct lease *l = atomic_exchange(&forks.pending, NULL);
    if (l)
        atomic_store(&l->state, LEASE_FREE);
    end_stop();
    quiesce_resume(forks.epoch);
    atomic_store(&forks.forker, 0);
    lock_reset(&forks.forking);
    lock_wake(&forks.forking);
    return true;
}

/* Does this fork interrupt a critical section of its own thread? */
static bool is_inside(void)
{
    return self && thread_is_inside(self);
}

/*
 * A signal handler in the parent, between the copy and the next epoch, would write records that the
 * child can read.  Pending signals arrive just then, because libc blocks signals while it forks.
 */
static struct os_signals block_signals(void)
{
    struct os_signals signals = {.blocked = false};
    if (self)
        os_block_signals(&signals);
    return signals;
}

static bool copies_to_file(void)
{
    return forks.heap == FORK_HEAP_COPY || forks.heap == FORK_HEAP_AUTO;
}

/* heap=file: will parent and child write to the same memory, unless the child copies it? */
static bool shares_heap(void)
{
    return heap_is_shared() && forks.heap != FORK_HEAP_SHARED;
}

static void prepare_heap(bool is_quiescent)
{
    if (shares_heap() && !MUTANT(NO_PRIVATE))
        heap_make_private(is_quiescent);
}

static void prepare_lease(bool is_quiescent)
{
    /* other threads keep writing while the child copies the heap */
    bool torn_heap = shares_heap() && threads_alive() > 1;
    if (is_quiescent)
        copies_sweep(); /* else a thread inside may be reading the same tables */
    struct lease *l = lease_grant();
    if (l)
        l->heap = heap_is_copy() && copies_to_file() ? heap_file_take() : 0;
    atomic_store(&forks.pending, l);
    if (!is_quiescent || torn_heap || atomic_load(&forks.torn) == TORN_YES)
        tear();
}

/* Only a scanner can be killed alone.  Else wait in one system call: a leak check may be under way. */
static void take_forking(void)
{
    while (fork_is_scanner(atomic_load(&forks.forker))) {
        if (lock_take_within(&forks.forking, DEAD_LOOK_NS))
            return;
        fork_end_dead_stop();
    }
    lock_take(&forks.forking);
}

void fork_prepare(void)
{
    if (!forks.epoch || fork_shares_memory())
        return;
    if (is_inside()) {
        threads_note_totals();
        /* In a signal handler: no lock may be taken here, and the child gets no lease. */
        return;
    }
    if (fork_is_child())
        fork_begin_child();
    forks.nested = atomic_load(&forks.forker) == os_tid();
    if (forks.nested)
        /* A prepare handler forks: that child gets no lease either. */
        return;
    struct os_signals signals = block_signals();
    take_forking();
    forks.signals = signals;
    forks.blocker = self;
    atomic_store(&forks.forker, os_tid());
    begin_stop();
    bool is_quiescent = quiesce_writers();
    threads_note_totals();
    prepare_heap(is_quiescent);
    prepare_lease(is_quiescent);
    image_count(&image()->fork_count);
}

void fork_parent(void)
{
    if (!fork_is_by_caller() || forks.nested) {
        forks.nested = false;
        return;
    }
    struct lease *l = atomic_load(&forks.pending);
    if (self) {
        self->lease_plus_1 = l ? (uint32_t)(l - run_leases()) + 1 : 0;
        self->lease_epoch = forks.epoch;
    }
    /*
     * After a torn stop the epoch stays.  The child trusts no record, so it needs no copies.  A
     * thread still in its section may be about to write a record; in a new epoch others would
     * replace it by a copy.
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

/*
 * Bounded: a fork under way may wait for a lock of libc that the caller, or the code it
 * interrupted, holds.
 */
static bool lock_in_time(struct lock *l, uint64_t limit_ns)
{
    uint64_t begin = os_clock_ns();
    while (!lock_try(l)) {
        if (os_clock_ns() - begin > limit_ns)
            return false;
        fork_end_dead_stop();
        os_yield();
    }
    return true;
}

bool forks_exclude(uint64_t limit_ns, struct os_signals *signals)
{
    if (!forks.epoch || is_inside() || fork_is_by_caller() || fork_shares_memory())
        return false;
    *signals = block_signals();
    if (!lock_in_time(&forks.forking, limit_ns)) {
        os_restore_signals(signals);
        return false;
    }
    atomic_store(&forks.forker, os_tid());
    return true;
}

void forks_permit(const struct os_signals *signals)
{
    atomic_store(&forks.forker, 0);
    lock_drop(&forks.forking);
    os_restore_signals(signals);
}

bool fork_stop_writers(void)
{
    struct os_signals signals;
    if (!forks_exclude(STOP_NS, &signals))
        return false;
    forks.signals = signals;
    begin_stop();
    if (quiesce_writers())
        return true;
    fork_resume_writers();
    return false;
}

static void resume(void)
{
    struct os_signals signals = forks.signals;
    quiesce_resume(forks.epoch);
    forks_permit(&signals);
}

void fork_resume_writers(void)
{
    end_stop();
    resume();
}

void fork_lease_snapshot(void)
{
    copies_sweep();
    atomic_store(&forks.pending, lease_grant());
    if (atomic_load(&forks.torn) == TORN_YES)
        tear();
}

struct lease *fork_resume_snapshot(uint32_t pid)
{
    struct lease *l = atomic_load(&forks.pending);
    uint32_t open = TORN_OPEN;
    bool is_whole = end_stop() && l;
    if (is_whole) {
        atomic_compare_exchange_strong(&l->torn, &open, TORN_CLOSED);
        forks.epoch++; /* writers copy the records that the child reads */
    }
    if (l) {
        atomic_store(&l->pid, pid);
        atomic_store(&l->state, is_whole && pid ? LEASE_HELD : LEASE_FREE);
    }
    atomic_store(&forks.pending, NULL);
    resume();
    return is_whole && pid ? l : NULL;
}

void fork_drop_snapshot(struct lease *l)
{
    atomic_store(&l->state, LEASE_FREE);
}

/*
 * heap=file: wait until the child has copied the heap, which this thread could change.  Gives up if
 * the child ended, or made no progress for STALLED_NS: in a sandbox its end cannot be detected.  false: the
 * child may still read the heap in the file.
 */
static bool wait_for_copy(struct lease *l, uint32_t pid)
{
    uint32_t seen = 0, now;
    uint64_t since = os_clock_ns();
    while ((now = atomic_load_explicit(&l->copied, memory_order_acquire)) != COPIED_ALL) {
        if (now != seen)
            since = os_clock_ns();
        else if (os_child_ended(pid))
            return true;
        else if (os_clock_ns() - since > STALLED_NS)
            return false;
        seen = now;
        os_wait(&l->copied, now, COPY_LOOK_NS, true);
    }
    return true;
}

/* heap=file: the heap of this process in the file again.  If a thread cannot be stopped it stays private. */
static void share_heap_again(void)
{
    if (!forks.stop_others)
        return;
    if (forks.stop_others())
        heap_back_to_file();
    forks.resume_others();
}

/* heap=file, after a fork. */
static void finish_heap(struct lease *l, uint32_t pid)
{
    if (l->heap)
        heap_file_set_pid(l->heap, pid);
    if (!l->heap && !shares_heap())
        return;
    if (wait_for_copy(l, pid) && l->heap && heap_is_copy())
        share_heap_again();
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
        heap_file_drop(l->heap);
        atomic_store(&l->state, LEASE_FREE);
        return;
    }
    /* the pid that the child stored may be of its own namespace */
    atomic_store(&l->pid, (uint32_t)pid);
    uint32_t forking = LEASE_FORKING;
    atomic_compare_exchange_strong(&l->state, &forking, LEASE_HELD);
    finish_heap(l, (uint32_t)pid);
}

/* ---- the child's side ------------------------------------------------------------------------ */

static void has_copied(_Atomic uint32_t *copied)
{
    atomic_store_explicit(copied, COPIED_ALL, memory_order_release); /* pairs with wait_for_copy */
    os_wake(copied, true);
}

/* The heap is still shared with the parent. */
static void copy_shared_heap(void)
{
    _Atomic uint32_t unused_progress = 0;
    struct lease *l = atomic_load(&forks.pending);
    _Atomic uint32_t *copied = l ? &l->copied : &unused_progress;
    void *copy = heap_copy_out(copied);
    has_copied(copied);
    heap_put_back(copy);
    /* other threads wrote during the copy: tables and memory may disagree */
    slab_forget_never();
}

/* heap=file: to the heap that the parent has taken for this child; without one it is private. */
static void take_heap(struct lease *l)
{
    heap_file_use(0);
    if (!l || !l->heap)
        return;
    if (!heap_move_to_file(l->heap, &l->copied))
        heap_file_drop(l->heap);
    has_copied(&l->copied);
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
    if (shares_heap())
        copy_shared_heap();
    else if (heap_is_copy())
        take_heap(l);
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
    handshake_after_fork();
}

/* Does a child trust the records inherited by this lease (NULL: no lease)? */
static bool is_believed(const struct lease *l)
{
    if (!run_header())
        return true; /* all records are private: the kernel copied them with the heap */
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

/*
 * The child's only thread keeps its struct.  Returns the others' structs: their cached slots are
 * adopted.
 */
static struct thread *take_over_threads(void)
{
    struct thread *survivor = self ? self : forks.survivor;
    if (!forks.survivor) /* libc did not see the fork: save the current totals */
        threads_note_totals();
    return threads_after_fork(survivor);
}

/* Call while image() is still the parent's. */
static struct image_request child_request(const struct lease *lease)
{
    return (struct image_request){
        .how = lease ? IMAGE_FORK : IMAGE_FORK_UNSEEN,
        .parent = image()->image,
        .lease = lease ? (uint32_t)(lease - run_leases()) + 1 : 0,
        .first_thread = threads_next_number(),
        .frames = image()->stack_frames,
        .flags =
            (atomic_load(&image()->flags) & (IMAGE_IN_CONTROL | IMAGE_OWN_MALLOC | IMAGE_BY_HAND |
                                             IMAGE_RECORD_WIDE | IMAGE_PYTHON_MALLOC)) |
            (heap_file_used() ? IMAGE_HEAP_IN_FILE : 0) | (os_sandboxed() ? IMAGE_SANDBOXED : 0),
    };
}

/* Reset all inherited parts; lease NULL: the child cannot read its parent's records. */
static void parts_after_fork(const struct lease *lease)
{
    bool fresh = !lease, whole = is_believed(lease) || threads_is_alone();
    forget_parent();
    if (!lease &&
        shares_heap()) /* libc did not see the fork: copy late, rather than share one heap */
        copy_shared_heap();
    units_after_fork(whole);
    slab_after_fork(whole, take_over_threads());
    large_after_fork(whole);
    guard_after_fork(whole);
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
    /*
     * A fork that libc did not see may happen during another thread's fork; then the pending lease
     * is not this child's.
     */
    struct lease *lease = forks.seen ? atomic_load(&forks.pending) : NULL;
    struct image_request request = child_request(lease);
    parts_after_fork(lease);
    request.first_depot_chunk = depot_next_chunk();
    image_start(&request);
    if (forks.heap == FORK_HEAP_SHARED)
        heap_file_set_shared();
    else
        heap_file_set_image();
    if (!run_header())
        large_start(); /* records are private: later there may be no memory for them */
    if (lease)
        atomic_store(&lease->child, image()->image);
    for (struct thread *t = threads_first(); t; t = t->next)
        threads_renew(t);
    forks.survivor = NULL;
    copies_inherit(++forks.epoch, lease);
    atomic_store(&epoch_page->epoch, forks.epoch);
}

/* Several threads of a new child may call this at once: one initializes, the others wait. */
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
