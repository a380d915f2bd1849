/*
 * threads.c - the structs of all threads.  Their records in the run file are in thread_records.c.
 *
 * The list only grows at its head, by compare-and-swap, so a fork that waits for quiescence walks
 * it without a lock.  Structs of ended threads stay in the list and are reused.
 *
 * A thread past the end of its thread-specific data still frees and allocates (libc does, for the
 * DTV and the stack).  Such threads share one struct, the fallback thread, under a lock.
 *
 * Locks: `fallback_lock` (RANK_FALLBACK), then `lock` (RANK_THREADS), then that of segment.c.
 */
#include "mutant.h"
#include "fork.h"
#include "runfile_priv.h"

#include <errno.h>
#include <string.h>

#define STRUCTS_PER_MAP 4u

static struct {
    struct lock lock;
    struct lock fallback_lock;
    struct thread *_Atomic all;
    struct thread *spare; /* never used */
    uint32_t spare_count;
    _Atomic uint32_t alive, born; /* living threads; all threads so far */
    uint32_t next_number;         /* last used */
    struct thread is_fallback;
    _Atomic uint32_t turnover; /* odd while an ended thread's counters are added to `past` */
    struct thread_totals past; /* of ended threads, and before a fork */
    /* Part of `past` that was counted after this handshake, by threads that have ended since. */
    struct {
        uint32_t handshake;
        struct thread_totals totals;
    } later;
    struct thread_totals at_fork; /* of all threads */
    bool next_has_inherited;      /* the next record gets the inherited balance */
} threads = {.lock = LOCK_INIT(RANK_THREADS), .fallback_lock = LOCK_INIT(RANK_FALLBACK)};

_Atomic uint32_t threads_announced;

struct thread *threads_first(void)
{
    return atomic_load_explicit(&threads.all, memory_order_acquire); /* pairs with link */
}

uint32_t threads_alive(void)
{
    return atomic_load_explicit(&threads.alive, memory_order_relaxed);
}

uint32_t threads_born(void)
{
    return atomic_load_explicit(&threads.born, memory_order_relaxed);
}

uint64_t threads_quarantined(void)
{
    uint64_t sum = 0;
    for (struct thread *t = threads_first(); t; t = t->next)
        /* a recent value: its owner changes it */
        sum += __atomic_load_n(&t->quarantine.bytes, __ATOMIC_RELAXED);
    return sum;
}

uint32_t threads_next_number(void)
{
    return threads.next_number + 1;
}

/*
 * Address of the thread control block.  libc places it at the base of the thread's stack; 0 for the
 * main thread, where it is elsewhere.
 */
static uintptr_t control_block(void)
{
    uintptr_t at = libc_control_block();
    return at > (uintptr_t)__builtin_frame_address(0) ? at : 0;
}

/* Caller holds the lock. */
static void note_inherited(struct thread_record *r)
{
    const struct thread_totals *was = &threads.at_fork;
    if (!threads.next_has_inherited)
        return;
    threads.next_has_inherited = false;
    r->inherited_blocks = was->allocs - was->frees;
    r->inherited_bytes = was->alloc_bytes - was->free_bytes;
}

/*
 * Caller holds the lock.  When numbers run out the thread gets 0, so that nothing is attributed to
 * another thread.
 */
static void record_take(struct thread *t)
{
    t->keep_record = false;
    t->number = 0;
    if (threads.next_number < BLOCK_THREAD_MASK)
        t->number = ++threads.next_number;
    struct thread_record *r = t->record = thread_record_take(&t->record_index);
    if (!thread_record_counts(r))
        return;
    r->number = t->number;
    memset(r->name, 0, sizeof r->name);
    os_thread_name(r->name);
    r->control_block = control_block();
    note_inherited(r);
    thread_record_publish(r, t->record_index);
}

static void link(struct thread *t)
{
    t->next = atomic_load_explicit(&threads.all, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&threads.all, &t->next, t, memory_order_release,
                                                  memory_order_relaxed))
        ; /* pairs with threads_first */
}

/*
 * Caller holds the lock.  Return a struct of an ended thread, else an unlisted one; NULL: no
 * memory.
 */
static struct thread *struct_take(void)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (!t->tid)
            return t;
    if (!threads.spare_count) {
        struct thread *more = os_map(align_up(STRUCTS_PER_MAP * sizeof *more, PAGE_BYTES));
        if (os_failed(more))
            return NULL;
        threads.spare = more;
        threads.spare_count = STRUCTS_PER_MAP;
    }
    return threads.spare + --threads.spare_count;
}

struct thread *threads_register(void)
{
    self_state |= SELF_REGISTERING;
    lock_take(&threads.lock);
    struct thread *t = struct_take();
    if (t) {
        bool listed = t->record != NULL;
        if (listed)
            memset(&t->call_sites, 0,
                   sizeof t->call_sites); /* each thread checks its first calls */
        atomic_store(&t->read_epoch, 0);  /* its last thread may have ended in a callback */
        atomic_store(&t->maps_inside, 0);
        atomic_store(&t->answer.number, 0);
        t->error = &errno;
        t->helper.use = NULL;
        record_take(t);
        t->tid = os_tid(); /* from here on its counters belong to the new thread */
        if (!listed)       /* only now: walkers of the list read records */
            link(t);
        atomic_fetch_add_explicit(&threads.alive, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&threads.born, 1, memory_order_relaxed);
        threads_announce();
    }
    lock_drop(&threads.lock);
    self = t;
    self_state &= ~(uint32_t)SELF_REGISTERING;
    return t;
}

struct thread_totals thread_record_totals(const struct thread_record *r)
{
    return (struct thread_totals){
        .allocs = atomic_load_explicit(&r->allocs, memory_order_relaxed),
        .frees = atomic_load_explicit(&r->frees, memory_order_relaxed),
        .reallocs = atomic_load_explicit(&r->reallocs, memory_order_relaxed),
        .alloc_bytes = atomic_load_explicit(&r->alloc_bytes, memory_order_relaxed),
        .free_bytes = atomic_load_explicit(&r->free_bytes, memory_order_relaxed),
    };
}

static void totals_add(struct thread_totals *sum, struct thread_totals more)
{
    sum->allocs += more.allocs;
    sum->frees += more.frees;
    sum->reallocs += more.reallocs;
    sum->alloc_bytes += more.alloc_bytes;
    sum->free_bytes += more.free_bytes;
}

static void totals_subtract(struct thread_totals *sum, struct thread_totals less)
{
    sum->allocs -= less.allocs;
    sum->frees -= less.frees;
    sum->reallocs -= less.reallocs;
    sum->alloc_bytes -= less.alloc_bytes;
    sum->free_bytes -= less.free_bytes;
}

static void record_add(struct thread_totals *sum, const struct thread_record *r)
{
    totals_add(sum, thread_record_totals(r));
}

uint64_t threads_peak(int64_t in_use)
{
    _Atomic uint64_t *peak = &image()->peak_bytes;
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (in_use > (int64_t)seen &&
           !atomic_compare_exchange_weak_explicit(peak, &seen, (uint64_t)in_use,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    return in_use > (int64_t)seen ? (uint64_t)in_use : seen;
}

void threads_publish_balance(struct thread *t)
{
    static _Atomic int64_t in_use;
    int64_t before = atomic_fetch_add_explicit(&in_use, t->balance, memory_order_relaxed);
    (void)threads_peak(before + t->high);
    t->balance = t->high = 0;
}

struct thread_totals threads_totals(void)
{
    struct thread_totals sum = threads.past;
    record_add(&sum, thread_record_of_all()); /* once, although threads share it */
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->tid && thread_record_counts(t->record))
            record_add(&sum, t->record);
    return sum;
}

/*
 * A consistent snapshot of all counters.  Counters only grow, and only inside sections.  If every
 * thread is outside at two consecutive looks, and the sums are equal, no thread was counting in
 * between.  (The processor keeps the order of stores: crit, counters, crit.)  If threads are never
 * all outside, a handshake has the counters of one moment (fork/handshake.c).
 */
#define TRIES 64u

static bool is_same(const struct thread_totals *a, const struct thread_totals *b)
{
    return a->allocs == b->allocs && a->frees == b->frees && a->alloc_bytes == b->alloc_bytes &&
           a->free_bytes == b->free_bytes;
}

static bool is_at_rest(const struct thread *t)
{
    return !thread_is_inside(t);
}

/* false: a thread is counting. */
static bool totals_if_all_rest(struct thread_totals *sum)
{
    uint32_t turnover_seen = atomic_load(&threads.turnover);
    for (struct thread *t = threads_first(); t; t = t->next)
        if (!is_at_rest(t))
            return false;
    *sum = threads_totals();
    return !(turnover_seen & 1) && turnover_seen == atomic_load(&threads.turnover);
}

/*
 * false: a thread ended meanwhile, and may be in the sum twice or not at all.  Threads without a
 * record (no memory for one) are counted together, and not at one moment.
 */
static bool totals_of_handshake(const struct handshake *h, struct thread_totals *sum)
{
    uint32_t turnover_seen = atomic_load(&threads.turnover);
    *sum = threads.past;
    if (threads.later.handshake == h->number)
        totals_subtract(sum, threads.later.totals);
    record_add(sum, thread_record_of_all());
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->tid && thread_record_counts(t->record))
            totals_add(sum, MUTANT(NO_HANDSHAKE) ? thread_record_totals(t->record)
                                                 : handshake_counters(h, t));
    atomic_thread_fence(memory_order_acquire);
    return !(turnover_seen & 1) && turnover_seen == atomic_load(&threads.turnover);
}

bool threads_totals_at_once(struct thread_totals *sum)
{
    struct thread_totals again;
    struct handshake h;
    for (uint32_t i = 0; i < TRIES; i++)
        if (totals_if_all_rest(sum) &&
            (MUTANT(NO_RECHECK) || (totals_if_all_rest(&again) && is_same(sum, &again))))
            return true;
    if (fork_is_by_caller()) { /* in a handler of atfork: the fork has stopped all others */
        *sum = threads_totals();
        return true;
    }
    if (!handshake_begin(&h))
        return false;
    while (!totals_of_handshake(&h, sum))
        os_yield();
    handshake_end();
    return true;
}

struct thread_record *threads_record_of(uint32_t tid)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->tid == tid && !t->is_fallback) {
            t->keep_record = true;
            atomic_thread_fence(memory_order_seq_cst); /* pairs with threads_remove */
            return t->tid == tid ? t->record : NULL;
        }
    return NULL;
}

/* An ended thread's record keeps its counters. */
static struct thread_totals record_at_handshake(const struct handshake *h,
                                                const struct thread_record *r)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->tid && t->record == r)
            return handshake_counters(h, t);
    return thread_record_totals(r);
}

bool threads_record_at_once(struct thread_record *r, struct thread_totals *sum)
{
    struct handshake h;
    if (r == (self ? self->record : NULL) || fork_is_by_caller()) {
        *sum = thread_record_totals(r);
        return true;
    }
    if (!handshake_begin(&h))
        return false;
    *sum = record_at_handshake(&h, r);
    handshake_end();
    return true;
}

/*
 * The kernel merges adjacent mappings with equal attributes.  A stack ends with the page of its
 * control block, even if the mapping is larger.  Of several control blocks the lowest one above
 * `at` is the owner's.
 */
struct thread_fact threads_on_stack(uintptr_t start, uintptr_t end, uintptr_t at)
{
    struct thread_fact fact = {0};
    uint64_t nearest = UINT64_MAX;
    for (struct thread *t = threads_first(); t; t = t->next) {
        uint64_t block = t->record->control_block;
        if (t->is_fallback || block <= start || block > end || align_up(block, PAGE_BYTES) <= at ||
            block > nearest || (block == nearest && !t->tid))
            continue; /* of successive threads on one stack, the living one */
        fact = (struct thread_fact){t->record->number, !t->tid};
        nearest = block;
    }
    return fact;
}

bool threads_inside(uint32_t number)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->number == number && t != self && t->tid && thread_is_inside(t))
            return true; /* threads without a record share number 0 */
    return false;
}

static bool is_zero(const char *from, size_t bytes)
{
    for (const uint64_t *word = (const void *)from; bytes; word++, bytes -= sizeof *word)
        if (*word)
            return false;
    return true;
}

/*
 * Rare work leaves pointers to blocks on the helper stack, and leak scans search all memory of the
 * thread's struct.  Pages without such data are only read, so they do not become resident.
 */
static void wipe_helper_stack(struct helper_stack *h)
{
    static_assert(sizeof h->room % PAGE_BYTES == 0, "in whole pieces");
    if (h->use) /* the thread waits for a lock, or a fault interrupted it there */
        return;
    for (size_t at = 0; at < sizeof h->room; at += PAGE_BYTES)
        if (!is_zero(h->room + at, PAGE_BYTES))
            memset(h->room + at, 0, PAGE_BYTES);
}

static void wipe_stale(struct thread *t)
{
    wipe_helper_stack(&t->helper);

    struct quarantine *q = &t->quarantine;
    uint32_t deferred = atomic_load_explicit(&t->deferred.count, memory_order_relaxed);
    for (uint32_t class = 0; class < SIZE_CLASSES; class ++) {
        struct cache_bin *bin = &t->bin[class];
        memset(bin->slot + bin->count, 0, sizeof bin->slot - bin->count * sizeof bin->slot[0]);
    }
    for (uint32_t i = 0; i < QUARANTINE_SLOTS; i++)
        if ((i - q->head) % QUARANTINE_SLOTS >= q->tail - q->head) /* not a waiting block */
            q->slot[i] = NULL;
    memset(t->deferred.block + deferred, 0, sizeof t->deferred.block - deferred * sizeof(void *));
}

void threads_wipe_stale(void)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        wipe_stale(t);
}

bool threads_all_outside(void)
{
    bool in_fallback = self_state & SELF_IN_FALLBACK;
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t != self && !(t->is_fallback && in_fallback) && thread_is_inside(t))
            return false;
    return true;
}

bool threads_is_alone(void)
{
    return threads_alive() <= (self ? 1u : 0u) && !threads.is_fallback.is_fallback;
}

uint32_t threads_number_of(uint32_t tid)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->tid == tid && !t->is_fallback)
            return t->number;
    return 0;
}

uint32_t threads_main(void)
{
    return threads_number_of(image()->pid); /* 0 in a post-mortem process: its tid differs */
}

void threads_note_totals(void)
{
    threads.at_fork = threads_totals();
}

/* Caller holds the lock, and has made `turnover` odd. */
static void past_add(const struct thread *t)
{
    uint32_t number = atomic_load_explicit(&t->answer.number, memory_order_relaxed);
    record_add(&threads.past, t->record);
    if (!number || (int32_t)(number - threads.later.handshake) < 0)
        return; /* that handshake has ended */
    if (threads.later.handshake != number)
        threads.later.totals = (struct thread_totals){0};
    threads.later.handshake = number;
    record_add(&threads.later.totals, t->record);
    totals_subtract(&threads.later.totals, t->answer.totals);
}

void threads_remove(struct thread *t)
{
    threads_publish_balance(t);
    lock_take(&threads.lock);
    atomic_fetch_add(&threads.turnover, 1);
    if (thread_record_counts(t->record))
        past_add(t);
    atomic_store_explicit(&t->record->gone, 1, memory_order_relaxed);
    t->ignoring = 0;
    t->birth_flags = 0;
    t->tid = 0;
    /* before keep_record is read: pairs with threads_record_of */
    atomic_fetch_add(&threads.turnover, 1);
    if (thread_record_counts(t->record) && !t->keep_record)
        thread_record_end(t->record_index);
    atomic_fetch_sub_explicit(&threads.alive, 1, memory_order_relaxed);
    lock_drop(&threads.lock);
}

struct thread *threads_fallback_take(void)
{
    self_state |= SELF_IN_FALLBACK; /* before the lock: a handler must not wait for it */
    lock_take(&threads.fallback_lock);
    struct thread *t = &threads.is_fallback;
    if (!t->record) {
        t->is_fallback = true;
        atomic_store(&t->maps_inside, MAPS_SHARED);
        t->after = AFTER_FALLBACK;
        lock_take(&threads.lock);
        record_take(t);
        lock_drop(&threads.lock);
        /* not a thread: it represents ended threads */
        atomic_store_explicit(&t->record->gone, 1, memory_order_relaxed);
        t->tid = 1; /* never reused by struct_take */
        link(t);
    }
    return t;
}

void threads_fallback_drop(void)
{
    lock_drop(&threads.fallback_lock);
    self_state &= ~(uint32_t)SELF_IN_FALLBACK;
}

bool threads_post_mortem(void)
{
    bool at_rest = true;
    lock_reset(&threads.lock);
    lock_reset(&threads.fallback_lock);
    for (struct thread *t = threads_first(); t; t = t->next) {
        at_rest &= is_at_rest(t);
        atomic_store_explicit(&t->crit, 0, memory_order_relaxed);
        t->locks = 0;
    }
    return at_rest;
}

struct thread *threads_after_fork(struct thread *t)
{
    lock_reset(&threads.lock);
    lock_reset(&threads.fallback_lock);
    thread_records_after_fork();
    threads.spare_count = 0;
    threads.past = threads.at_fork;
    threads.next_has_inherited = true;
    struct thread *others = NULL, *next;
    for (struct thread *each = threads_first(); each; each = next) {
        next = each->next;
        if (each == t || each == &threads.is_fallback)
            continue;
        each->next = others;
        others = each;
    }
    /* Only if it was used: writing it would make 75 pages resident. */
    if (threads.is_fallback.is_fallback)
        /* only now: it was a node of the list */
        memset(&threads.is_fallback, 0, offsetof(struct thread, helper));
    if (t)
        t->next = NULL;
    atomic_store_explicit(&threads.all, t, memory_order_relaxed);
    atomic_store_explicit(&threads.alive, t ? 1 : 0, memory_order_relaxed);
    return others;
}

void threads_renew(struct thread *t)
{
    lock_take(&threads.lock);
    t->tid = os_tid();
    record_take(t);
    lock_drop(&threads.lock);
}
