/*
 * base.h - the floor under every room of the runtime: attributes, the per-thread struct, locks,
 * text without stdio.
 *
 * Two globals exist in the runtime: `self`, the calling thread's struct, and `rt` (core.h), which
 * is sealed after start-up.  Everything else belongs to one room and is static there.
 */
#ifndef BASE_H
#define BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtcheck/bits.h"
#include "rtcheck/format.h"
#include "stack_cache.h"

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN \
    __attribute__((visibility("hidden"))) /* of variables: else each use loads the address first */
#define COLD __attribute__((cold, noinline))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define PAGE_BYTES 4096u

/* An object (program, library) that the loader has mapped. */
struct object {
    uintptr_t start, end;
    uintptr_t bias;
    const uint8_t *index; /* its .eh_frame_hdr, NULL = none */
    const char *path;     /* "" = the program */
    const void *handle;   /* the loader's: what it frees when it has unloaded the object */
};

/* ---- the per-thread struct ------------------------------------------------------------------- */

#define SIZE_CLASSES 44u
#define CACHE_SLOTS 32u        /* blocks a thread keeps at hand per size class */
#define QUARANTINE_SLOTS 2048u /* a power of two; the byte budget usually bites first */
#define DEFERRED_SLOTS 62u

/* Free slots of one size class; their records say NEVER or FREE. */
struct cache_bin {
    uint32_t count;
    uint32_t limit;
    void *slot[CACHE_SLOTS];
};

/* FIFO of freed blocks; their records say FREED.  Only the owner touches it. */
struct quarantine {
    uint64_t bytes;
    uint32_t head; /* next to leave */
    uint32_t tail; /* next to enter */
    void *slot[QUARANTINE_SLOTS];
};

/* Frees that came while this thread was inside us (a signal handler's): done at the next exit. */
struct deferred {
    _Atomic uint32_t count;
    uint32_t stack[DEFERRED_SLOTS]; /* of the handler's call */
    uint32_t op[DEFERRED_SLOTS];
    void *block[DEFERRED_SLOTS];
};

/* What a program may ask to be told of as it happens (core/notify.c). */
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

/* Of a thread: what is to be told behind its section. */
struct notify_pending {
    uint32_t events; /* bit n: HEARD_n */
    struct notify_bad_free bad_free;
};

/* What a thread has used. */
struct cost_usage {
    uint64_t faults, switches;
};

/* An operation that is being timed (core/costs.c). */
struct cost_watch {
    uint32_t step;     /* in the row of operations that are: 0: none is under way */
    uint8_t operation; /* enum cost_work */
    uint8_t work;      /* the same: what goes on of it */
    bool pieces;       /* it is looked at piece by piece */
    bool is_nested;    /* another operation goes on in the midst of it, and is none of it: */
    uint8_t outside;   /* or the program's own code, called by it, so deep */
    uint8_t others;    /* how many of them there were */
    uint64_t nested_since, phase_since;
    uint64_t since;                 /* when the work that goes on began */
    int64_t ticks[COST_WORK_COUNT]; /* may be 0 or below: the clock has no such fine steps */
    uint32_t met;                   /* what has been done of it, a bit for each work */
    uint64_t kernel_ticks;          /* of them */
    uint64_t reason_ns;             /* that it has reason to take longer than others */
    struct cost_usage before;
};

#define HELPER_STACK_BYTES 65536u

/* Of a thread that has left the program's stack for its helper stack; lies on the former. */
struct helper_use {
    uintptr_t sp;  /* to which it will come back */
    uint64_t mask; /* of signals that were blocked */
    bool blocks;   /* more are, now */
};

/* Rare work is done here, with signals blocked (os/helper_stack.c). */
struct helper_stack {
    alignas(16) char room[HELPER_STACK_BYTES];
    struct helper_use *use; /* NULL: it is free */
};

#define LOCKS_HELD_MAX 8u
struct lock;

struct thread {
    /*
     * 0 outside; inside a critical section the stack pointer of its entry; an odd word: outside, and
     * in a callback that must not allocate (crit_is_inside).  Written by the owner
     * with plain stores; pairs with the membarrier of a fork that waits for quiet.
     */
    _Atomic uintptr_t crit;
    struct thread_record *record; /* its counters, in the run file */
    uint32_t record_index;        /* thread_records.c */
    bool keep_record;             /* an error or the program refers to it: it is not used again */
    int32_t cost_left;            /* operations until one is timed; below 0: this one is to be */
    uint32_t cost_weight;         /* for how many that stands; 0: the thread is new */
    bool timed;                   /* an operation is being timed */
    bool stacks_plain;            /* stacks are taken, and nobody times that */
    uint32_t cost_seed;
    uint32_t number; /* as in block words */
    uint32_t tid;
    int64_t balance; /* bytes allocated less bytes freed since it last told the image, */
    int64_t high;    /* and the most that this was */
    uint32_t locks;  /* how many it holds */
    struct lock *held[LOCKS_HELD_MAX];
    uint32_t lease_plus_1; /* of the fork this thread is making */
    uint32_t lease_epoch;
    bool is_fallback;    /* the struct shared by threads past their end: locked by the user */
    uint8_t after;       /* AFTER_*: what is to be done behind the section */
    uint8_t birth_flags; /* of blocks that it allocates now: BLOCK_FLAG_ROOT while `ignoring` */
    uint32_t ignoring;   /* depth of calls that ask for it */
    /* of calls that change what is mapped, made by this thread: written by it alone (mapped.c) */
    _Atomic uint64_t maps_begun;
    _Atomic uintptr_t
        maps_inside; /* where the outermost was made that has not ended; 0: none; odd: MAPS_SHARED */
    _Atomic uint64_t read_epoch; /* that it looks at tables since, + 1; 0: it does not (srcu.c) */
    int *error;                  /* its errno */
    struct thread *next;         /* list of all, or of the free ones */
    uintptr_t callback;          /* what crit is in that callback: an odd word */
    struct notify_pending pending_notifications;
    struct cost_watch cost;
    struct deferred deferred;
    struct cache_bin bin[SIZE_CLASSES];
    struct quarantine quarantine;
    struct stack_cache stack_cache;
    struct helper_stack
        helper; /* below it lie hints: what overflows it overwrites nothing that counts */
};

/* maps_inside of the struct of threads past their end: not where, but how many there are. */
#define MAPS_SHARED 1u
#define MAPS_SHARED_ONE 2u

#define AFTER_FALLBACK 1u /* the limbo struct is to be given back: always, it is shared */
#define AFTER_ERROR 2u    /* an error was found: --on-error */
#define AFTER_SIGNAL 4u   /* a signal that ends the program has come: fatal.c */
#define AFTER_NOTICE 8u   /* the program wants to hear what the heap gives back, or got: notice.c */

#define AFTER_NOTIFY 16u /* the program is to be told of something: notify.c */
#define AFTER_CALLBACK \
    32u /* always, in a callback that must not allocate: crit becomes odd again */

ALWAYS_INLINE bool crit_is_inside(uintptr_t crit)
{
    return crit && !(crit & 1);
}

ALWAYS_INLINE bool thread_is_inside(const struct thread *t)
{
    return crit_is_inside(
        atomic_load_explicit(&t->crit, memory_order_acquire)); /* pairs with section_end */
}

/* Events that somebody wants to be told of: bit n is HEARD_n. */
extern HIDDEN _Atomic uint32_t notify_wanted;

ALWAYS_INLINE bool notify_is_wanted(enum notify_event event)
{
    return unlikely(atomic_load_explicit(&notify_wanted, memory_order_relaxed) >> event & 1);
}

/* It happened in a section of this thread (NULL: not known): it is told behind it. */
ALWAYS_INLINE bool notify_defer(struct thread *t, enum notify_event event)
{
    if (!notify_is_wanted(event) || !t ||
        t->is_fallback) /* its user is past its end: no place for callbacks */
        return false;
    t->pending_notifications.events |= 1u << event;
    t->after |= AFTER_NOTIFY;
    return true;
}

/*
 * Of a counter that one thread alone writes: one instruction, for a handler may come in between and
 * count, too.  (Nobody else's processor is kept from anything: it is not atomic for others.)
 */
ALWAYS_INLINE void thread_count(_Atomic uint64_t *counter)
{
    __asm__ volatile("addq $1, %0" : "+m"(*counter) : : "memory", "cc");
}

extern HIDDEN __thread struct thread *self; /* NULL: not registered yet, or past its end */

enum self_state { SELF_REGISTERING = 1, SELF_GONE = 2, SELF_IN_FALLBACK = 4 };
extern HIDDEN __thread uint32_t self_state;

/* ---- locks ----------------------------------------------------------------------------------- */

/*
 * A futex mutex.  Locks are taken in the order of their rank, lowest first, never two of one rank;
 * taken only inside a critical section (so that a fork that found quiet finds no lock held), and
 * never held across a call into libc, the loader or user code.
 */
enum lock_rank {
    RANK_FALLBACK = 1,      /* the struct of threads past their end */
    RANK_THREADS = 2,       /* list of thread structs */
    RANK_CENTRAL = 3,       /* one size class */
    RANK_LARGE = 4,         /* quarantine of large blocks */
    RANK_CLIENT_BLOCKS = 4, /* blocks that the program makes itself */
    RANK_UNITS = 5,         /* runs of units, growth of the heap */
    RANK_COPY = 6,          /* copying a slab's records after a fork */
    RANK_PENDING = 6,       /* memory that somebody has to be told of */
    RANK_RETIRE = 7,        /* superseded records */
    RANK_RECORDS = 8,       /* free records of large blocks */
    RANK_RULES = 9,         /* growth of the table of rules */
    RANK_DEPOT = 9,         /* growth of the depot */
    RANK_MODULES = 9,       /* list of modules */
    RANK_ERRORS = 9,        /* list of errors */
    RANK_ANNOTATIONS = 9,   /* root regions that the program has named */
    RANK_MAPS = 9,          /* what is mapped */
    RANK_META = 10,         /* areas and segments */
    RANK_ENVIRONMENT = 11,  /* what shells find in it */
};

struct lock {
    _Atomic uint32_t word; /* 0: free; whose it is, and | LOCK_CONTENDED */
    uint32_t rank;
};

#define LOCK_CONTENDED 1u
#define LOCK_UNKNOWN_OWNER (1u << 31) /* whose is not known: that thread has no struct */

ALWAYS_INLINE uint32_t lock_owner_word(const struct thread *t)
{
    return t ? t->tid << 1 : LOCK_UNKNOWN_OWNER;
}

#define LOCK_INIT(r) \
    {                \
        0, (r)       \
    }

/*
 * Calls wait(about), which may sleep, with the stack and the signal mask that the program's
 * handlers may run with; NULL before start-up.
 */
extern HIDDEN bool (*lock_wait_hook)(bool (*wait)(void *), void *about);

void lock_take(struct lock *l);
bool lock_try(struct lock *l); /* false: somebody has it */
/*
 * false: nobody has dropped it for `ns` (below a second): a handler of the program's may keep its
 * holder from that.
 */
bool lock_take_within(struct lock *l, uint32_t ns);
void lock_drop(struct lock *l);
void lock_wake(struct lock *l); /* who waits for it, in the kernel */
/* In a forked child: the holder does not exist there, or is this thread, which does not hold it any more. */
void lock_reset(struct lock *l);
/* Drops what this thread holds, and wakes whom it was to: its section was left by siglongjmp, somewhere. */
void locks_abandon(void);
bool lock_is_mine(const struct lock *l); /* of a thread that has a struct */

/*
 * The same two in line, for the only lock that a thread holds.  false: it is not free, or not the
 * only one, and lock_take is to be asked.
 */
ALWAYS_INLINE bool lock_take_if_free(struct lock *l)
{
    uint32_t free = 0;
    struct thread *t = self;
    if (unlikely(!t || t->locks))
        return false;
    t->held[0] = l;
    t->locks = 1;
    atomic_signal_fence(memory_order_seq_cst); /* as in lock.c: first it is noted */
    if (likely(atomic_compare_exchange_strong_explicit(&l->word, &free, t->tid << 1,
                                                       memory_order_acquire, memory_order_relaxed)))
        return true; /* pairs with the exchange in lock_drop_only, and that in lock_drop */
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
    atomic_signal_fence(memory_order_seq_cst); /* as in lock.c: then it is forgotten */
    t->locks = 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A bounded line; overflow cuts, never fails. */
struct text {
    char *at;
    char *end; /* one before the last byte: room for the NUL */
};

struct text text_begin(char *buffer, size_t room);
void text_put(struct text *t, const char *s);
void text_put_n(struct text *t, const char *s, size_t n);
void text_decimal(struct text *t, uint64_t n);
void text_hex(struct text *t, uint64_t n);
char *text_end(struct text *t); /* puts the NUL, returns where */

/* Parses digits at *s and moves *s behind them; false: there is none, or it does not fit. */
bool text_parse_decimal(const char **s, uint64_t *out);
bool text_parse_hex(const char **s, uint64_t *out);
size_t text_length(const char *s);
bool text_equal(const char *a, const char *b);
bool text_starts(const char *s, const char *prefix);

#endif
