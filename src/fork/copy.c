/*
 * copy.c - copy-on-write of records in shared memory after a fork, a slab at a time.
 *
 * Before a record is written, head.epoch must be the current epoch; if not, the writer calls
 * fork_own().  It copies the records only while a process may read the old ones: every child has a
 * lease in the run's table.  When the child and all processes that depend on it are gone,
 * superseded records are reused.
 *
 * Locks: `copying` (RANK_COPY), then `retiring` (RANK_RETIRE), then those of large.c's records and
 * segment.c.
 */
#include "mutant.h"
#include "fork_priv.h"

#define OWN_LEASES_MAX 1024u
#define RETIRED_MAX 8192u
#define UNDECIDED_MAX 16u

/* A lease on this image's records, as the parent sees it. */
struct granted {
    uint32_t index;
    uint32_t epoch; /* the child sees the records that were current in this epoch */
};

/* Records first written in epoch `born` and superseded in `until`. */
struct retired {
    void *records;
    uint32_t born, until;
    bool large;
};

/*
 * A fork among this image's ancestors with a lease that is torn or may become so.  Records of
 * epochs before `first_epoch` were inherited by it.  Epochs increase from parent to child, so one
 * number is sufficient.
 */
struct undecided_fork {
    uint32_t first_epoch;
    uint32_t parent, epoch; /* identify the lease: it may be granted again to another fork */
    struct lease *lease;
};

static struct {
    uint32_t first_epoch;     /* older records belong to an ancestor */
    uint32_t untrusted_until; /* older records were inherited by a torn fork */
    struct undecided_fork undecided[UNDECIDED_MAX]; /* oldest first */
    uint32_t undecided_count;
    struct lock copying;
    struct lock retiring;
    struct granted granted[OWN_LEASES_MAX];
    uint32_t granted_count;
    struct retired retired[RETIRED_MAX];
    uint32_t retired_count;
} copies = {.copying = LOCK_INIT(RANK_COPY), .retiring = LOCK_INIT(RANK_RETIRE)};

/* ---- visibility to children ------------------------------------------------------------------ */

static bool granted_is_live(const struct granted *g)
{
    struct lease *l = &run_leases()[g->index];
    return l->parent == image()->image && l->epoch == g->epoch &&
           atomic_load_explicit(&l->state, memory_order_acquire) != LEASE_FREE && lease_needed(l);
}

static void prune_granted(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < copies.granted_count; i++)
        if (granted_is_live(&copies.granted[i]))
            copies.granted[kept++] = copies.granted[i];
    copies.granted_count = kept;
}

/* Can a child read records that were current from epoch `born` until before `until`? */
static bool is_seen(uint32_t born, uint32_t until)
{
    for (uint32_t i = 0; i < copies.granted_count; i++)
        if (born <= copies.granted[i].epoch && copies.granted[i].epoch < until)
            return true;
    return false;
}

struct lease *lease_grant(void)
{
    if (!run_header() || copies.granted_count == OWN_LEASES_MAX)
        return NULL;
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &run_leases()[i];
        uint32_t vacant = LEASE_FREE;
        if (atomic_load_explicit(&l->state, memory_order_relaxed) != LEASE_FREE ||
            !atomic_compare_exchange_strong(&l->state, &vacant, LEASE_FORKING))
            continue;
        atomic_store(&l->pid, 0);
        l->parent = image()->image;
        l->epoch = fork_epoch();
        atomic_store(&l->torn, TORN_OPEN);
        atomic_store(&l->child, 0);
        atomic_store(&l->copied, 0);
        copies.granted[copies.granted_count++] = (struct granted){i, fork_epoch()};
        return l;
    }
    return NULL;
}

/* ---- superseded records ---------------------------------------------------------------------- */

static void release_retired(const struct retired *r)
{
    if (r->large)
        large_record_vacate(r->records);
    else
        segment_vacate(r->records);
}

/* Reuse records that no child can read any more. */
static void sweep_retired(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < copies.retired_count; i++)
        if (is_seen(copies.retired[i].born, copies.retired[i].until))
            copies.retired[kept++] = copies.retired[i];
        else
            release_retired(&copies.retired[i]);
    copies.retired_count = kept;
}

static void retire(void *records, uint32_t born, bool large)
{
    if (born < copies.first_epoch)
        return; /* an ancestor's records: not to be reused here */
    struct retired r = {records, born, fork_epoch(), large};
    lock_take(&copies.retiring);
    if (!is_seen(born, fork_epoch()))
        release_retired(&r);
    else if (copies.retired_count < RETIRED_MAX)
        copies.retired[copies.retired_count++] = r;
    lock_drop(&copies.retiring);
}

void fork_retire_segment(struct segment *s, uint32_t born)
{
    if (born >= copies.first_epoch)
        atomic_store_explicit(&s->state, SEGMENT_SUPERSEDED, memory_order_release);
    retire(s, born, false);
}

void fork_retire_large(struct large_record *r, uint32_t born)
{
    retire(r, born, true);
}

/*
 * Called by a fork.  A thread that waited too long for it may have entered its section meanwhile and use
 * these tables: then they are swept by the next fork.
 */
void copies_sweep(void)
{
    if (!lock_try(&copies.copying))
        return;
    if (lock_try(&copies.retiring)) {
        prune_granted();
        sweep_retired();
        lock_drop(&copies.retiring);
    }
    lock_drop(&copies.copying);
}

/* ---- trust in inherited records -------------------------------------------------------------- */

bool lease_is_torn(const struct lease *l)
{
    _Atomic uint32_t *torn = &((struct lease *)(uintptr_t)l)->torn; /* C17 atomics load non-const */
    return atomic_load_explicit(torn, memory_order_acquire) ==
           TORN_YES; /* pairs with tear() in the parent */
}

bool lease_is_of(const struct lease *l, uint32_t parent, uint32_t epoch)
{
    return l->parent == parent && l->epoch == epoch;
}

static enum lease_torn torn_now(const struct undecided_fork *d)
{
    if (!lease_is_of(d->lease, d->parent, d->epoch))
        return TORN_YES; /* another fork has the lease now: the answer is lost */
    return (enum lease_torn)atomic_load_explicit(&d->lease->torn, memory_order_acquire);
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Remove decided forks from the list; torn ones raise untrusted_until. */
static void remove_decided(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < copies.undecided_count; i++) {
        struct undecided_fork *d = &copies.undecided[i];
        enum lease_torn torn = torn_now(d);
        if (torn == TORN_YES)
            copies.untrusted_until = later(copies.untrusted_until, d->first_epoch);
        else if (torn == TORN_OPEN)
            copies.undecided[kept++] = *d;
    }
    copies.undecided_count = kept;
}

void copies_inherit(uint32_t epoch, struct lease *lease)
{
    copies.first_epoch = epoch;
    if (!run_header())
        return; /* all records are private: the kernel copied them with the heap */
    remove_decided();
    if (MUTANT(NO_UNTRUSTED))
        copies.undecided_count = copies.untrusted_until = 0;
    if (lease && copies.undecided_count < UNDECIDED_MAX) {
        copies.undecided[copies.undecided_count++] =
            (struct undecided_fork){epoch, lease->parent, lease->epoch, lease};
    } else {
        copies.untrusted_until = epoch;
        copies.undecided_count = 0;
    }
    if (copies_are_unsure(0))
        image_flag(IMAGE_INHERITED_UNSURE);
}

bool copies_are_unsure(uint32_t born)
{
    for (uint32_t i = 0; i < copies.undecided_count; i++)
        if (born < copies.undecided[i].first_epoch && torn_now(&copies.undecided[i]) == TORN_YES)
            return true;
    return born < copies.untrusted_until;
}

/* Checked after the records were read: their writer may have torn the snapshot meanwhile. */
static bool are_trusted(bool inherited, uint32_t born)
{
    if (!inherited || !copies_are_unsure(born))
        return true;
    image_flag(IMAGE_INHERITED_UNSURE);
    return false;
}

/* ---- copying --------------------------------------------------------------------------------- */

/*
 * Takes the class from the head, not from the old segment: the parent may have reused that for
 * another slab.
 */
static void copy_slab(struct unit *head, struct segment *old, uint32_t write_epoch, bool inherited)
{
    uint32_t kind = owner_kind(atomic_load_explicit(&head->owner, memory_order_relaxed));
    uint32_t slots = size_class[kind - 1].slots;
    struct segment *new = slab_segment(head, kind - 1, write_epoch);
    /* no memory: this slab's records stay shared with the other process */
    if (!new)
        return;
    block_copy(segment_items(new), segment_items(old), slots, RECORD_BYTES, inherited);
    if (!are_trusted(inherited, atomic_load_explicit(&head->epoch, memory_order_relaxed)))
        block_distrust(segment_items(new), slots, RECORD_BYTES);
    segment_publish(new);
    atomic_store_explicit(&head->owner, owner_of(kind, (uintptr_t) new), memory_order_release);
    fork_retire_segment(old, atomic_load_explicit(&head->epoch, memory_order_relaxed));
    image_count(&image()->slab_copies);
}

static void copy_large(struct unit *head, struct large_record *old, bool inherited)
{
    struct large_record *new = large_record_copy(head, old);
    if (!new)
        return;
    if (!are_trusted(inherited, atomic_load_explicit(&head->epoch, memory_order_relaxed)))
        large_record_distrust(new);
    /* an inherited block is older than every mark of this image */
    if (inherited)
        atomic_fetch_and_explicit(&new->block.word,
                                  ~((uint64_t)BLOCK_MARK_MASK << BLOCK_MARK_SHIFT),
                                  memory_order_relaxed);
    atomic_store_explicit(&head->owner, owner_of(UNIT_LARGE, (uintptr_t) new),
                          memory_order_release);
    if (!inherited)
        atomic_store_explicit(&old->superseded, 1, memory_order_release);
    fork_retire_large(old, atomic_load_explicit(&head->epoch, memory_order_relaxed));
}

/* No other process can read these records: only their epoch changes. */
static void restamp(struct unit *head, uint64_t owner, uint32_t write_epoch)
{
    if (owner_kind(owner) == UNIT_LARGE) {
        struct large_record *r = owner_pointer(owner);
        r->epoch = write_epoch;
    } else {
        struct segment *s = owner_pointer(owner);
        atomic_store_explicit(&s->epoch, write_epoch, memory_order_relaxed);
    }
    atomic_store_explicit(&head->epoch, write_epoch, memory_order_release);
}

bool fork_is_inherited(const struct unit *head)
{
    return atomic_load_explicit(&head->epoch, memory_order_acquire) < copies.first_epoch;
}

bool fork_is_unsure(const struct unit *head)
{
    return fork_is_inherited(head) &&
           copies_are_unsure(atomic_load_explicit(&head->epoch, memory_order_relaxed));
}

static void own(struct unit *head, uint32_t write_epoch)
{
    lock_take(&copies.copying);
    uint32_t born = atomic_load_explicit(&head->epoch, memory_order_acquire);
    uint64_t owner = atomic_load_explicit(&head->owner, memory_order_acquire);
    bool inherited = born < copies.first_epoch;
    if (born == write_epoch) {
        lock_drop(&copies.copying);
        return;
    }
    if (inherited || is_seen(born, write_epoch)) {
        if (owner_kind(owner) == UNIT_LARGE)
            copy_large(head, owner_pointer(owner), inherited);
        else
            copy_slab(head, owner_pointer(owner), write_epoch, inherited);
        atomic_store_explicit(&head->epoch, write_epoch,
                              memory_order_release); /* pairs with pool_record_hot */
    } else {
        restamp(head, owner, write_epoch);
    }
    lock_drop(&copies.copying);
}

struct owning {
    struct unit *head;
    uint32_t write_epoch;
};

static void own_on_helper(void *about)
{
    const struct owning *o = about;
    own(o->head, o->write_epoch);
}

void fork_own(struct unit *head, uint32_t write_epoch)
{
    struct owning o = {head, write_epoch};
    helper_call(own_on_helper, &o);
}

/* ---- start and forks ------------------------------------------------------------------------- */

void copies_begin(uint32_t epoch)
{
    copies.first_epoch = epoch;
}

void copies_after_fork(void)
{
    lock_reset(&copies.copying);
    lock_reset(&copies.retiring);
    copies.granted_count = 0;
    copies.retired_count = 0;
}
