/*
 * mapped.h - the interface of maps: which ranges are mapped, and which calls mapped them.
 *
 *   mapped*.c, map_buffer.c  the mapping table, changed around each call that maps or unmaps
 *   unmap.c       checks of calls that unmap or replace memory of blocks, stacks or the runtime
 *   dispatched.c  statistics of events=all: here, because init clears them after a fork and exit
 *                 writes them; src/dispatch counts
 *
 * The notices of heap memory (sync/notice.c) are declared here too.
 *
 * A call takes old ranges out before the system call, and puts new ones in after it: the kernel may
 * give the addresses to another thread in between.  Other changes are found by a comparison with
 * /proc/self/maps.  The table is made at the first such call; the rules of changes are those of
 * shadow/ranges.
 *
 * Data: `map` (mapped_priv.h) is private memory with a copy in the run file, one segment for each
 * leaf, which is a seqlock.  A call in progress is a struct mapped_call on its caller's stack.
 *
 * Lock: map.lock (RANK_MAPS), inside a section, followed by that of segments.  The wait for it is
 * bounded, because garbage collectors stop threads at any point; without it a change is not
 * recorded.  It is not held during the system call.
 */
#ifndef MAPPED_H
#define MAPPED_H

#include "nonlocal_exit.h"
#include "heap.h"
#include "unwinder.h"

/* ---- mapped*.c: the mapping table ------------------------------------------------------------ */

#define MAPPED_KEPT 8u

/* A call in progress that may change mappings; on the caller's stack. */
struct mapped_call {
    /* Call site in the program, valid while the call executes; NULL: it changes nothing. */
    const struct entry *at;
    struct thread *t; /* the calling thread, from mapped_begin on; NULL: nothing is recorded */
    /*
     * mapped_begin was tried. In a handler that interrupted us it fails, and a comparison will find
     * the changes.
     */
    bool tried;
    bool more; /* more ranges were taken out than `kept` has room for */
    /* unmaps: count the call as an unmap when it takes ranges out. counted: that was done. */
    bool unmaps;
    bool counted;
    bool whole; /* all that it takes out was in the table */
    uint8_t by; /* enum error_entry of the call, for crashes at what it unmaps; 0: others */
    bool old;   /* a thread may have begun since it was mapped, so it may be a stack */
    uint32_t count;
    uint64_t around, around_end;         /* the whole range that kept[0] was a part of */
    struct map_region kept[MAPPED_KEPT]; /* ranges that the call removes */
};

/* A move by mremap; `keeps`: the old range stays mapped. */
struct mapped_move {
    uint64_t from, from_end, to, to_end;
    bool keeps;
};

/*
 * Around each call that changes mappings. Before it: mapped_at, then mapped_begin or mapped_take.
 * After it: one of mapped_new to mapped_protected, then mapped_end. Ranges are whole pages; empty
 * ones are ignored. errno is preserved.
 */
ALWAYS_INLINE void mapped_at(struct mapped_call *c, const struct entry *at)
{
    c->at = at;
    c->t = NULL;
    c->tried = c->more = c->unmaps = c->counted = c->old = false;
    c->whole = true;
    c->by = ENTRY_MUNMAP;
    c->count = 0;
}

void mapped_begin_slow(struct mapped_call *c);

/*
 * Call before the system call. A thread that only writes its own counters needs no section, and if
 * it has begun a call before, the table exists.
 */
ALWAYS_INLINE void mapped_begin(struct mapped_call *c)
{
    struct thread *t = self;
    if (unlikely(c->tried) || unlikely(!t) ||
        unlikely(atomic_load_explicit(&t->crit, memory_order_relaxed)) ||
        unlikely(atomic_load_explicit(&t->maps_inside, memory_order_relaxed)) ||
        unlikely(!atomic_load_explicit(&t->maps_begun, memory_order_relaxed))) {
        mapped_begin_slow(c);
        return;
    }
    c->tried = true;
    c->t = t;
    atomic_store_explicit(&t->maps_inside, (uintptr_t)c->at, memory_order_relaxed);
    thread_count(&t->maps_begun);
}

/* The same, and take out the ranges that the call will remove. */
void mapped_take(struct mapped_call *c, uint64_t start, uint64_t end);
void mapped_end_inside(struct thread *t);

ALWAYS_INLINE void mapped_end(struct mapped_call *c)
{
    if (unlikely(!c->t))
        return;
    if (unlikely(atomic_load_explicit(&c->t->maps_inside, memory_order_relaxed) !=
                 (uintptr_t)c->at)) {
        mapped_end_inside(c->t);
        return;
    }
    atomic_store_explicit(&c->t->maps_inside, 0,
                          memory_order_release); /* pairs with calls_in_progress */
}

/*
 * Was the address in one of the last 1,024 ranges that calls were to unmap?  *stack, *by: of the
 * last such call, as in struct mapped_call.  Signal-safe.
 */
bool mapped_was_unmapped(uint64_t at, uint32_t *stack, uint32_t *by);
void mapped_forget_unmapped(void); /* in a forked child, which may number its stacks anew */
/* Take out the pieces of [start, end) that shmdt(at) detaches; the first range is one of them. */
void mapped_take_attachment(struct mapped_call *c, uint64_t start, uint64_t end, uint64_t at);
/*
 * Record a new range. The caller sets its bounds and attributes, this function the other fields of
 * *what.
 */
void mapped_new(struct mapped_call *c, struct map_region *what);
/* The same for a range that libc or the loader mapped for itself, without a call of the program. */
void mapped_new_of_libc(struct mapped_call *c, struct map_region *what);
/* The call has unmapped something (gone), or has failed after it was counted as an unmap. */
void mapped_unmapped(struct mapped_call *c, bool gone);
/* The ranges taken out of [start, end) are still mapped: put them back. */
void mapped_unchanged(struct mapped_call *c, uint64_t start, uint64_t end);
void mapped_moved(struct mapped_call *c, const struct mapped_move *m);
/* Replace the range by the kernel's present state. */
void mapped_query_kernel(struct mapped_call *c, uint64_t start, uint64_t end);
/* Set the protection from `start` to the first hole. */
void mapped_protected(struct mapped_call *c, uint64_t start, uint64_t end, int protection);
/* Find the range around an address. */
bool mapped_find(uint64_t at, struct map_region *out);
/*
 * Compare the table with the kernel's list, correct it, and return the number of differences.
 * -errno: the list cannot be read. -EAGAIN: other threads were changing mappings, so the result is
 * not certain.
 */
long mapped_compare(void);
/* The same at the end, before the mappings are reported. */
void mapped_finish(void);
void mapped_after_fork(void);
/* A jump has left this thread's section: call before its locks are dropped. */
void mapped_abandon(void);
uint64_t mapped_bytes(void); /* that calls have mapped and that are still mapped */
/* A jump leaves calls of this thread, which will not end. */
void mapped_nonlocal_exit(const struct jump *j);
bool mapped_live(uint64_t *ranges); /* *ranges: mapped by calls; false: not available now */

/* ---- unmap.c: invalid unmaps ----------------------------------------------------------------- */

/*
 * [start, end), which c has taken out, is about to be unmapped: report an error if it must not be.
 * true: some of it is the runtime's, and must stay mapped.
 */
bool unmap_look(const struct mapped_call *c, uintptr_t start, uintptr_t end);

ALWAYS_INLINE bool unmap_is_heap(uintptr_t start, uintptr_t end)
{
    return start < heap.base + atomic_load_explicit(&heap.bytes, memory_order_relaxed) &&
           end > heap.base;
}

/* false: all of it is in the table, and is not the runtime's. */
ALWAYS_INLINE bool unmap_is_special(const struct mapped_call *c, uintptr_t start, uintptr_t end)
{
    return !c->whole || c->old || unmap_is_heap(start, end);
}

ALWAYS_INLINE bool unmap_has_own(const struct mapped_call *c, uintptr_t start, uintptr_t end)
{
    return unlikely(unmap_is_special(c, start, end)) && unmap_look(c, start, end);
}

bool unmap_refuse(const struct mapped_call *c, uint32_t op, uintptr_t start, uintptr_t end,
                  bool over);

/*
 * [start, end) is about to be mapped over, or moved, by this call. true: the call must be refused.
 */
ALWAYS_INLINE bool unmap_refuses(const struct mapped_call *c, uint32_t op, uintptr_t start,
                                 uintptr_t end, bool over)
{
    return start < end && unlikely(!c->t || !c->whole || unmap_is_heap(start, end)) &&
           unmap_refuse(c, op, start, end, over);
}

/* ---- notice.c -------------------------------------------------------------------------------- */

/*
 * Callbacks for heap memory: before pages return to the kernel, and after new ones became usable.
 */
struct notice_callbacks {
    void (*releasing)(void *at, size_t bytes);
    void (*became_usable)(void *at, size_t bytes);
    /* Discard the pages by this madvise: ours, or the next definition. */
    int (*discard)(int (*by)(void *, size_t, int), void *at, size_t bytes);
};
/* Call once: before the first listener, at the latest in our constructor. */
void notice_start(const struct notice_callbacks *to);
/*
 * Usable bytes from the start of the heap. Later ones are notified to listeners that exist before
 * this call.
 */
uint64_t notice_existing(void);
/* Call after a section: deliver pending notices, and release the memory. */
void notice_deliver(void);

/* ---- dispatched.c: statistics of events=all -------------------------------------------------- */

struct dispatched {
    _Atomic uint64_t calls; /* of this process; also of its parent, until the fork is detected */
    /* Of these, calls that change mappings and came through no function of ours. */
    _Atomic uint64_t reported;
    _Atomic uint64_t uncovered; /* threads that run without dispatch */
};

extern HIDDEN struct dispatched *dispatched;

struct dispatched_record {
    bool is_requested; /* events=all is set */
    int error;
    uint32_t call_ns, measured;
};

struct dispatched_record dispatched_state(void);
void dispatched_start(void); /* before any are counted */
/*
 * err: why there is no dispatch, or 0. ns: the additional cost of a call, as `measured` calls have
 * shown.
 */
void dispatched_begin(int err, uint32_t ns, uint32_t measured);
void dispatched_count_reported(void);
void dispatched_write(void); /* copy the counters to the run file */
void dispatched_after_fork(void);

#endif
