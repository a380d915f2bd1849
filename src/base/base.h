/*
 * base.h - interface of base: attributes, the per-thread struct, futex locks with ranks, and text
 * without stdio.  The lowest layer of the runtime, above the machine's folders.
 *
 *   thread.c       `self`, the calling thread's struct (struct thread below), and its state
 *   lock.c         a futex mutex that records its holder, so that locks left by a siglongjmp can be
 *                  released (locks_abandon)
 *   text.c         lines and numbers without stdio, locale or dynamic memory
 *   stack_cache.h  a thread's cached backtraces (struct only; code: unwind/stack_cache.c)
 *   mutant.h       builds that lack one check, for tests
 *
 * Data: `self` and `self_state` are thread-local (initial-exec); most members of a thread's struct
 * are accessed by that thread only, the others are atomic or have a comment.  `rt` (init.h) is
 * read-only after start-up.  All other state of the runtime belongs to one room, whose header
 * declares it HIDDEN if other rooms read it.
 *
 * Locks: base has none of its own; enum lock_rank orders those of all rooms.  The futex call of a
 * lock is the only system call made here.  A thread that waits for a lock does so through
 * lock_wait_hook.
 */
#ifndef BASE_H
#define BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bits.h"
#include "format/format.h"
#include "machine.h"
#include "processor.h"
#include "stack_cache.h"

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN \
    __attribute__((visibility("hidden"))) /* for variables: without it each access needs the GOT */
#define COLD __attribute__((cold, noinline))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* An object (program, library) that the loader has mapped. */
struct object {
    uintptr_t start, end;
    uintptr_t bias;
    const uint8_t *index; /* its .eh_frame_hdr; NULL: none */
    const char *path;     /* "" = the program */
    /* The loader's link map handle: the loader frees it after it has unloaded the object. */
    const void *handle;
};

/* ---- the per-thread struct ------------------------------------------------------------------- */

#define SIZE_CLASSES 44u
#define CACHE_SLOTS 32u        /* free blocks a thread caches per size class */
#define QUARANTINE_SLOTS 2048u /* a power of two; the byte budget usually is the limit */
#define DEFERRED_SLOTS 62u

/* Free slots of one size class; the state in their records is NEVER or FREE. */
struct cache_bin {
    uint32_t count;
    uint32_t limit;
    void *slot[CACHE_SLOTS];
};

/*
 * FIFO of freed blocks (use-after-free quarantine); the state in their records is FREED.  Only the
 * owning thread accesses it.
 */
struct quarantine {
    uint64_t bytes;
    uint32_t head; /* next block to evict */
    uint32_t tail; /* next free entry */
    void *slot[QUARANTINE_SLOTS];
};

/*
 * Frees requested by a signal handler that interrupted this thread's critical section.  They are
 * performed at the end of the section.
 */
struct deferred {
    _Atomic uint32_t count;
    uint32_t stack[DEFERRED_SLOTS]; /* of the handler's call to free */
    uint32_t op[DEFERRED_SLOTS];
    void *block[DEFERRED_SLOTS];
};

/* Events a program can register a callback for (sync/notify.c). */
enum notify_event {
    NOTIFY_ALLOC_ERROR,
    NOTIFY_BAD_FREE,
    NOTIFY_SCAN_DONE,
    NOTIFY_POOL_GROW,
    NOTIFY_POOL_FULL,
    NOTIFY_FORK_CHILD,
    NOTIFY_THREAD_EXIT,
    NOTIFY_REPORT,
    NOTIFY_COUNT
};

struct notify_bad_free {
    uint64_t address;
    uint32_t kind; /* enum error_kind */
    uint32_t stack;
};

/* A thread's pending notifications, delivered after its critical section ends. */
struct notify_pending {
    uint32_t events; /* bit n: event n of enum notify_event */
    struct notify_bad_free bad_free;
};

/* Resources that a thread has used. */
struct cost_usage {
    uint64_t faults, switches;
};

/* Places that call memcpy and its like, and how many of their calls were checked (src/boundary). */
#define CALL_SITES 1024u
struct call_sites {
    uint32_t left; /* calls until the next one that is checked; 0: not begun */
    uint32_t chance;
    uint16_t
        site[CALL_SITES]; /* by a hash of the return address: 8 more bits of it, then a count */
};

/* The operation that is being timed (track/costs.c). */
struct cost_watch {
    uint32_t step;     /* position in the row of timed operations; 0: no operation is being timed */
    uint8_t operation; /* enum cost_work: the whole operation */
    uint8_t work;      /* enum cost_work: its current phase */
    bool pieces;       /* its phases are timed separately */
    bool is_nested;    /* interrupted by an unrelated operation; its time is excluded */
    /* Nesting depth of calls into the program's own code; their time is excluded. */
    uint8_t outside;
    uint8_t others; /* unrelated operations so far */
    uint64_t nested_since, phase_since;
    uint64_t since;                 /* start of the current phase */
    int64_t ticks[COST_WORK_COUNT]; /* may be 0 or below: clock overhead is subtracted */
    uint32_t met;                   /* phases done so far: bit n is phase n of enum cost_work */
    uint64_t kernel_ticks;          /* part of the ticks, in system calls */
    /* Extra time allowed before the sample is discarded as an outlier. */
    uint64_t reason_ns;
    struct cost_usage before;
    /* Weights of discarded samples, by `pieces` and operation: the next valid one counts for them. */
    uint32_t owed[2][COST_OPERATION_COUNT];
};

#define HELPER_STACK_BYTES 65536u

/* State of a thread that has switched to its helper stack.  It lies on the program's stack. */
struct helper_use {
    uintptr_t sp;  /* program's stack pointer, restored on return */
    uint64_t mask; /* signal mask before the switch */
    bool blocks;   /* signals are blocked now */
};

/* Stack for rare work, used with signals blocked (os/helper_stack.c). */
struct helper_stack {
    alignas(16) char room[HELPER_STACK_BYTES];
    struct helper_use *use; /* NULL: not in use */
};

#define LOCKS_HELD_MAX 8u
struct lock;

/* Operations of all threads of this image; include ended threads and, in a child, the parent's. */
struct thread_totals {
    uint64_t allocs, frees, reallocs, alloc_bytes, free_bytes;
};

/* The thread's counters at its answer to a handshake (fork/handshake.c). */
struct thread_answer {
    _Atomic uint32_t number; /* of the handshake, written last; 0: none */
    struct thread_totals totals;
};

struct thread {
    /*
     * The critical section's state.  0: outside.  Even: inside, the stack pointer at entry.  Odd:
     * outside, but in a callback that must not allocate (crit_is_inside).  The owner writes it with
     * plain stores; these pair with the membarrier of a fork that waits for quiescence.
     */
    _Atomic uintptr_t crit;
    struct thread_record *record; /* its counters, in the run file */
    /* Is the thread changing counters that belong together?  (fork/handshake.c reads them.) */
    _Atomic bool counting;
    uint32_t record_index; /* thread_records.c */
    /* An error or the program refers to the record: do not reuse it. */
    bool keep_record;
    int32_t cost_left; /* operations until the next timed one; below 0: time this one */
    /* Number of operations that a timed one represents; 0: new thread. */
    uint32_t cost_weight;
    bool timed;        /* an operation is being timed */
    bool stacks_plain; /* stacks are captured without timing them */
    uint32_t cost_seed;
    int32_t guard_left; /* allocations until one may be guarded; below 0: now (track/guarded.c) */
    uint32_t guard_seed, guard_passed;
    uint64_t guard_rest; /* TSC before which none is guarded by default */
    uint32_t number;     /* the thread number stored in block words */
    uint32_t tid;
    /* Bytes allocated minus bytes freed since the last update of the image's total. */
    int64_t balance;
    int64_t high;   /* maximum of `balance` since then */
    uint32_t locks; /* number of locks held */
    struct lock *held[LOCKS_HELD_MAX];
    uint32_t lease_plus_1; /* lease of the fork that this thread is making */
    uint32_t lease_epoch;
    /* The fallback thread: shared by threads past their TSD destructors, under a lock. */
    bool is_fallback;
    uint8_t after;       /* AFTER_*: work to do after the section */
    uint8_t birth_flags; /* flags of new blocks: BLOCK_FLAG_ROOT while `ignoring` is not 0 */
    uint32_t ignoring;   /* nesting depth of calls that exempt new blocks from leak reports */
    /* Calls that change mappings, counted by the thread that makes them (mapped.c). */
    _Atomic uint64_t maps_begun;
    /* Call site of the outermost mapping call in progress; 0: none; odd: see MAPS_SHARED. */
    _Atomic uintptr_t maps_inside;
    struct thread_answer answer;
    /* SRCU: epoch at the start of the read section, + 1; 0: not reading (srcu.c). */
    _Atomic uint64_t read_epoch;
    int *error;             /* address of its errno */
    struct thread *next;    /* list of all threads, or of the free structs */
    uintptr_t signal_stack; /* an alternate stack of ours; 0: none (signal_stack.c) */
    uintptr_t callback;     /* value of crit during that callback (odd) */
    struct notify_pending pending_notifications;
    const struct error_record *new_error; /* with AFTER_ERROR */
    struct cost_watch cost;
    struct deferred deferred;
    struct cache_bin bin[SIZE_CLASSES];
    struct quarantine quarantine;
    struct call_sites call_sites;
    struct stack_cache stack_cache;
    /* An overflow of the helper stack overwrites the end of stack_cache, which holds only hints. */
    struct helper_stack helper;
};

/* maps_inside of the fallback thread: a count of calls in progress instead of a call site. */
#define MAPS_SHARED 1u
#define MAPS_SHARED_ONE 2u

#define AFTER_FALLBACK 1u /* unlock the fallback thread: always set there */
#define AFTER_ERROR 2u    /* a new error was found: track/error_act.c */
#define AFTER_SIGNAL 4u   /* a fatal signal is pending: fatal.c */
#define AFTER_NOTICE 8u   /* report address ranges that the heap mapped or unmapped: notice.c */

#define AFTER_NOTIFY 16u /* deliver pending notifications: notify.c */
#define AFTER_CALLBACK \
    32u /* set throughout a callback that must not allocate: makes crit odd again */

ALWAYS_INLINE bool crit_is_inside(uintptr_t crit)
{
    return crit && !(crit & 1);
}

ALWAYS_INLINE bool thread_is_inside(const struct thread *t)
{
    return crit_is_inside(
        atomic_load_explicit(&t->crit, memory_order_acquire)); /* pairs with section_end */
}

/* Events that have at least one registered callback: bit n is event n of enum notify_event. */
extern HIDDEN _Atomic uint32_t notify_wanted;

ALWAYS_INLINE bool notify_is_wanted(enum notify_event event)
{
    return unlikely(atomic_load_explicit(&notify_wanted, memory_order_relaxed) >> event & 1);
}

/*
 * Record an event that happened in a critical section of `t` (NULL: unknown thread).  It is
 * delivered after the section.
 */
ALWAYS_INLINE bool notify_defer(struct thread *t, enum notify_event event)
{
    if (!notify_is_wanted(event) || !t ||
        t->is_fallback) /* such threads are past their end: no callbacks */
        return false;
    t->pending_notifications.events |= 1u << event;
    t->after |= AFTER_NOTIFY;
    return true;
}

/* Increment a counter that only one thread writes.  A signal handler of that thread may count, too. */
ALWAYS_INLINE void thread_count(_Atomic uint64_t *counter)
{
    processor_count(counter);
}

extern HIDDEN __thread struct thread *self; /* NULL: not registered yet, or past its end */

enum self_state {
    SELF_REGISTERING = 1,
    SELF_GONE = 2,
    SELF_IN_FALLBACK = 4,
    SELF_BLOCKS_FAULTS = 8, /* the program has blocked SIGSEGV (intercept/signals.c) */
};
extern HIDDEN __thread uint32_t self_state;

/* ---- locks ----------------------------------------------------------------------------------- */

/*
 * A futex mutex.  Locks are taken in the order of their rank, lowest first, and never two of one
 * rank.  They are taken only inside a critical section: after a fork has reached quiescence no lock
 * is held.  A lock is never held across a call into libc, the loader or user code.
 */
enum lock_rank {
    RANK_FALLBACK = 1,      /* the fallback thread */
    RANK_THREADS = 2,       /* list of thread structs */
    RANK_CENTRAL = 3,       /* one size class */
    RANK_LARGE = 4,         /* quarantine of large blocks */
    RANK_CLIENT_BLOCKS = 4, /* client blocks (custom allocators) */
    RANK_GUARDS = 4,        /* units of guarded blocks */
    RANK_UNITS = 5,         /* runs of units, growth of the heap */
    RANK_COPY = 6,          /* copying a slab's records after a fork */
    RANK_PENDING = 6,       /* pending reports of mapped and unmapped ranges */
    RANK_RETIRE = 7,        /* superseded records */
    RANK_RECORDS = 8,       /* free records of large blocks */
    RANK_RULES = 9,         /* growth of the table of unwind rules */
    RANK_DEPOT = 9,         /* growth of the depot */
    RANK_MODULES = 9,       /* list of modules */
    RANK_ERRORS = 9,        /* list of errors */
    RANK_ANNOTATIONS = 9,   /* root regions registered by the program */
    RANK_MAPS = 9,          /* table of mappings */
    RANK_META = 10,         /* areas and segments */
    RANK_ENVIRONMENT = 11,  /* environment entries set for child shells */
};

struct lock {
    _Atomic uint32_t word; /* 0: free; else lock_owner_word, perhaps with LOCK_CONTENDED */
    uint32_t rank;
};

#define LOCK_CONTENDED 1u
#define LOCK_UNKNOWN_OWNER (1u << 31) /* held by a thread without a struct */

ALWAYS_INLINE uint32_t lock_owner_word(const struct thread *t)
{
    return t ? t->tid << 1 : LOCK_UNKNOWN_OWNER;
}

#define LOCK_INIT(r) \
    {                \
        0, (r)       \
    }

/*
 * Calls wait(about), which may sleep, on the program's stack and with the program's signal mask, as
 * the program's handlers require.  NULL before start-up.
 */
extern HIDDEN bool (*lock_wait_hook)(bool (*wait)(void *), void *about);

void lock_take(struct lock *l);
bool lock_try(struct lock *l); /* false: it is held */
/*
 * Like lock_take, but false if the lock was not released for `ns` (less than a second).  A handler
 * of the program may prevent its holder from releasing it.
 */
bool lock_take_within(struct lock *l, uint32_t ns);
void lock_drop(struct lock *l);
void lock_wake(struct lock *l); /* wakes one waiter in the kernel */
/*
 * In a forked child: mark the lock free.  Its holder does not exist in the child, or is this
 * thread, which no longer needs the lock.
 */
void lock_reset(struct lock *l);
/*
 * Drop the locks this thread holds and wake waiters, after siglongjmp has left a critical section
 * at an unknown instruction.
 */
void locks_abandon(void);
bool lock_is_held(const struct lock *l); /* for a thread that has a struct */

/*
 * Inline lock_take and lock_drop for a thread that holds no other lock.  false: the lock is not
 * free, or another lock is held; call lock_take instead.
 */
ALWAYS_INLINE bool lock_take_if_free(struct lock *l)
{
    uint32_t free = 0;
    struct thread *t = self;
    if (unlikely(!t || t->locks))
        return false;
    t->held[0] = l;
    t->locks = 1;
    atomic_signal_fence(memory_order_seq_cst); /* as in lock.c: record it before taking it */
    if (likely(atomic_compare_exchange_strong_explicit(&l->word, &free, t->tid << 1,
                                                       memory_order_acquire, memory_order_relaxed)))
        return true; /* pairs with the release in lock_drop_only and lock_drop */
    t->locks = 0;
    return false;
}

ALWAYS_INLINE void lock_drop_only(struct lock *l)
{
    struct thread *t = self;
    if (unlikely(!t || t->locks != 1)) {
        lock_drop(l);
        return;
    }
    bool is_contended =
        atomic_exchange_explicit(&l->word, 0, memory_order_release) & LOCK_CONTENDED;
    if (unlikely(is_contended))
        lock_wake(l);
    atomic_signal_fence(memory_order_seq_cst); /* as in lock.c: remove it after dropping it */
    t->locks = 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A bounded line.  Text that does not fit is cut off; no function fails. */
struct text {
    char *at;
    char *end; /* one before the last byte: leaves room for the NUL */
};

struct text text_begin(char *buffer, size_t room);
void text_put(struct text *t, const char *s);
void text_put_n(struct text *t, const char *s, size_t n);
void text_decimal(struct text *t, uint64_t n);
void text_hex(struct text *t, uint64_t n);
char *text_end(struct text *t); /* writes the NUL, returns its address */

/* Parse digits at *s and move *s past them.  false: no digits, or overflow. */
bool text_parse_decimal(const char **s, uint64_t *out);
bool text_parse_hex(const char **s, uint64_t *out);
size_t text_length(const char *s);
bool text_equal(const char *a, const char *b);
bool text_starts(const char *s, const char *prefix);

#endif
