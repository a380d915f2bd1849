/*
 * mapped.h - what is mapped, and by whom; what is not to be unmapped; what the heap gives back.
 */
#ifndef MAPPED_H
#define MAPPED_H

#include "nonlocal_exit.h"
#include "pool.h"
#include "unwinder.h"

/* ---- mapped*.c: what is mapped, and by whom -------------------------------------------------- */

#define MAPPED_KEPT 8u

/* A call on its way; on the caller's stack. */
struct mapped_call {
    const struct entry
        *at;          /* where the program made it, while it is made; NULL: it changes nothing */
    struct thread *t; /* that makes it, from its beginning on; NULL: nothing is done */
    bool tried;  /* to begin; where it interrupted us that fails, and a comparison will find out */
    bool more;   /* than there is room for went */
    bool unmaps; /* it is to be counted as one that does, when it takes; and: it was */
    bool counted;
    bool whole; /* all that it takes was in the map, as far as is known */
    bool old;   /* that may be the stack of a thread: there was none since when it was mapped */
    uint32_t count;
    uint64_t around, around_end;         /* what the first of it was a part of */
    struct map_region kept[MAPPED_KEPT]; /* what it takes away */
};

/* What mremap moves; `keeps`: the old place stays mapped. */
struct mapped_move {
    uint64_t from, from_end, to, to_end;
    bool keeps;
};

/*
 * Around each call that changes what is mapped: at, begin or take before it is made, one of new to protected
 * after it, end.  All take whole pages; nothing is done for an empty range.  errno stays as it is.
 */
ALWAYS_INLINE void mapped_at(struct mapped_call *c, const struct entry *at)
{
    c->at = at;
    c->t = NULL;
    c->tried = c->more = c->unmaps = c->counted = c->old = false;
    c->whole = true;
    c->count = 0;
}

void mapped_begin_slow(struct mapped_call *c);

/*
 * Before the kernel does anything.  Who only counts for himself needs no section; and where a
 * thread has begun one before there is a map.
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

/* The same, and takes out what is about to go. */
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

/* Of [start, end) the pieces that shmdt(at) detaches; the first is one of them. */
void mapped_take_attachment(struct mapped_call *c, uint64_t start, uint64_t end, uint64_t at);
/* Where, and what it is: the rest of *what is filled in here. */
void mapped_new(struct mapped_call *c, struct map_region *what);
/* The same of what libc or the loader have mapped for themselves: nobody's call. */
void mapped_new_of_libc(struct mapped_call *c, struct map_region *what);
/* Something was unmapped, or it was to be (c->unmaps, when it took), and was not. */
void mapped_unmapped(struct mapped_call *c, bool gone);
/* What was taken of this range is there as it was. */
void mapped_unchanged(struct mapped_call *c, uint64_t start, uint64_t end);
void mapped_moved(struct mapped_call *c, const struct mapped_move *m);
/* The kernel is to be asked what became of it. */
void mapped_query_kernel(struct mapped_call *c, uint64_t start, uint64_t end);
/* From `start` to the first hole. */
void mapped_protected(struct mapped_call *c, uint64_t start, uint64_t end, int protection);
/* The range around an address. */
bool mapped_find(uint64_t at, struct map_region *out);
/*
 * Compares with what the kernel has, and mends: how many differences there were.  -errno: it cannot be
 * asked; -EAGAIN: other threads were at it, so not all is certain.
 */
long mapped_compare(void);
/* The same at the end, after which what is mapped is told. */
void mapped_finish(void);
void mapped_after_fork(void);
void mapped_abandon(
    void); /* a jump has left the section of this thread: before its locks are dropped */
uint64_t mapped_bytes(void); /* by calls, that are mapped still */
void mapped_nonlocal_exit(
    const struct jump *j);          /* out of the calls of this thread, whose ends will not come */
bool mapped_live(uint64_t *ranges); /* how many that is; false: it cannot be looked at now */

/* ---- unmap.c: what is not to be unmapped ----------------------------------------------------- */

/*
 * Tells it, when [start, end), which c has taken, is about to be.  true: some of it is ours, and is
 * to stay.
 */
bool unmap_look(const struct mapped_call *c, uintptr_t start, uintptr_t end);

ALWAYS_INLINE bool unmap_is_heap(uintptr_t start, uintptr_t end)
{
    return start < heap.base + atomic_load_explicit(&heap.bytes, memory_order_relaxed) &&
           end > heap.base;
}

/* Else it is all in the map, and nobody else's. */
ALWAYS_INLINE bool unmap_is_special(const struct mapped_call *c, uintptr_t start, uintptr_t end)
{
    return !c->whole || c->old || unmap_is_heap(start, end);
}

ALWAYS_INLINE bool unmap_has_ours(const struct mapped_call *c, uintptr_t start, uintptr_t end)
{
    return unlikely(unmap_is_special(c, start, end)) && unmap_look(c, start, end);
}

bool unmap_refuse(const struct mapped_call *c, uint32_t op, uintptr_t start, uintptr_t end,
                  bool over);

/*
 * The same of [start, end), which is about to be mapped over or moved by this call.  true: that is
 * not to be made.
 */
ALWAYS_INLINE bool unmap_refuses(const struct mapped_call *c, uint32_t op, uintptr_t start,
                                 uintptr_t end, bool over)
{
    return start < end && unlikely(!c->t || !c->whole || unmap_is_heap(start, end)) &&
           unmap_refuse(c, op, start, end, over);
}

/* ---- notice.c -------------------------------------------------------------------------------- */

/* Of the heap: these pages are about to go back to the kernel, and: these have come. */
struct notice_callbacks {
    void (*releasing)(void *at, size_t bytes);
    void (*became_usable)(void *at, size_t bytes);
    /* discards by this madvise: ours, or the next one */
    int (*discard)(int (*by)(void *, size_t, int), void *at, size_t bytes);
};
void notice_start(const struct notice_callbacks
                      *to); /* once: before anybody listens, from our constructor at last */
/*
 * What there is of the heap, in bytes from its beginning: who listens already is told of all that
 * comes later.
 */
uint64_t notice_existing(void);
/* Behind a section: tells of what is due, and does it. */
void notice_deliver(void);

/* ---- dispatched.c: what came of events=all --------------------------------------------------- */

struct dispatched {
    _Atomic uint64_t calls; /* of this process, or its thread's parent before the fork was seen */
    _Atomic uint64_t
        reported; /* of them, those that change what is mapped and came by no function of ours */
    _Atomic uint64_t uncovered; /* threads that go on without */
};

extern HIDDEN struct dispatched *dispatched;

struct dispatched_record {
    bool is_requested; /* for events=all */
    int error;
    uint32_t call_ns, measured;
};

struct dispatched_record dispatched_state(void);
void dispatched_start(void); /* before there are any */
/* err: there is none, and why; else what a call costs more, as `measured` calls have shown. */
void dispatched_begin(int err, uint32_t ns, uint32_t measured);
void dispatched_count_reported(void);
void dispatched_write(void); /* writes down how many there were */
void dispatched_after_fork(void);

#endif
