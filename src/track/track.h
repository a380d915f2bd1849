/*
 * track.h - the interface of track: operations on blocks, for blocks of the heap and client blocks.
 *
 *   track.c, free.c, resize.c, query.c, family.c  malloc and its like, errors of frees
 *   client_blocks.c   blocks of the program's own allocators
 *   stack.c           from a call to the id of its stack
 *   guarded.c         which blocks are guarded, and what a fault at a guard page reports (guarded.h)
 *   errors.c, error_sites.c, region.c  error records (errors.h)
 *   descriptors.c     descriptors left open or closed twice (descriptors.h)
 *   annotations.c, marks.c  leak annotations and checkpoints (annotations.h)
 *   costs.c           sampling profiler of rtcheck's own cost (costs.h)
 *
 * An operation enters a critical section (sync/section.h), takes the stack of the call, changes the
 * heap and leaves the section.  Memory is cleared and copied, and the program is notified, outside
 * of the section, because a fork waits for sections.  If no section can be entered, an allocation
 * comes from a reserve or from bootstrap memory, or fails.
 *
 * Data: the list of error records and its index, regions and marks of the program, sums of costs.
 * All other data belongs to heap, runfile, or the calling thread's struct.
 *
 * Locks: sites.lock (RANK_ERRORS); those of annotations, marks and costs (RANK_ANNOTATIONS).  All
 * have one rank, so no two are held at once.  They follow those of heap and precede that of
 * segments.
 *
 * track, maps, sync and init are one floor: an operation enters a section, which may start the
 * runtime or register a thread.
 */
#ifndef TRACK_H
#define TRACK_H

#include "heap.h"
#include "unwinder.h"

/* ---- stack.c --------------------------------------------------------------------------------- */

void stack_start(void);
uint32_t stack_put_cached(struct stack_cache *all, struct cached_stack *t);
/* Call it if stack_cache_update returned NULL. */
uint32_t stack_put_cold(struct stack_cache *all, const struct entry *at);
/*
 * Call it if t->stacks_plain is not set: a new thread, frames=0, or an operation timed by pieces.
 */
uint32_t stack_put_aside(struct thread *t, const struct entry *at);
uint32_t stack_put_walk(const struct entry *at, bool may_grow);

#ifdef RTC_ORACLE /* stack_oracle.c */
uint32_t stack_note_cached(const struct cached_stack *t, const struct entry *at, uint32_t id);
uint32_t stack_note_walk(const struct walk *w, const struct entry *at, uint32_t id);
uint32_t stack_compare_walk(const struct walk *w, uint32_t id);
#else
#define stack_note_cached(t, at, id) ((void)(at), (id))
#define stack_note_walk(w, at, id) (id)
#define stack_compare_walk(w, id) (id)
#endif

ALWAYS_INLINE uint32_t stack_id_of(struct stack_cache *all, struct cached_stack *cached,
                                   const struct entry *at)
{
    struct cached_frame_more *last = &cached->more[cached->count];
    if (!last->id)
        last->id = stack_put_cached(all, cached);
    return stack_note_cached(cached, at, last->id);
}

ALWAYS_INLINE uint32_t stack_put_plain(struct thread *t, const struct entry *at)
{
    struct stack_cache *all = &t->stack_cache;
    struct cached_stack *cached = stack_cache_update(all, at, false);
    return likely(cached) ? stack_id_of(all, cached, at) : stack_put_cold(all, at);
}

/* The id of this thread's stack at a call; 0: none. Inside a section. */
ALWAYS_INLINE uint32_t stack_put(struct thread *t, const struct entry *at)
{
    return likely(t->stacks_plain) ? stack_put_plain(t, at) : stack_put_aside(t, at);
}

/*
 * The program's call, as the frame of our function begins. So interceptors are compiled with frame
 * pointers and without tail calls.
 */
#define CALLER ((const struct entry *)__builtin_frame_address(0))

/* ---- track.c --------------------------------------------------------------------------------- */

/*
 * All preserve errno, except where they set ENOMEM. `at` is the program's call; its interceptor has
 * not returned yet. A handler that interrupted another call gets memory from a small reserve.
 */
void *track_alloc(size_t request, size_t align, uint32_t op, const struct entry *at);
/*
 * Records the requested alignment `given_align`. 0, and values that are not powers of two, count as
 * none.
 */
void *track_alloc_aligned(size_t request, size_t align, size_t given_align, uint32_t op,
                          const struct entry *at);
void *track_alloc_zeroed(size_t request, uint32_t op, const struct entry *at);
void *track_realloc(void *p, size_t request, uint32_t op, const struct entry *at);
void track_free(void *p, uint32_t op, const struct entry *at);
/* The same with the size that the caller passed. */
void track_free_sized(void *p, size_t given_size, uint32_t op, const struct entry *at);
/* The same with the alignment that the caller passed, and the size or SIZE_NOT_GIVEN. */
void track_free_aligned(void *p, size_t given_size, size_t align, uint32_t op,
                        const struct entry *at);
/*
 * Larger than any block, whatever the alignment. Only the runtime requests it, to fail without a
 * report.
 */
#define REQUEST_IMPOSSIBLE 0xffffff0000000000u
/* realloc(p, 0): free as glibc does, and warn. */
void track_free_by_realloc(void *p, uint32_t op, const struct entry *at);
/* Warn about an alignment that is not a power of two. */
void track_warn_alignment(uint64_t align, uint32_t op, const struct entry *at);
/* Refuse an allocation of an impossible size: NULL, with errno set. */
void *track_refuse(uint64_t request, uint32_t op, const struct entry *at);
/* Perform a free that a handler has deferred, with the stack of its call. */
void track_free_deferred(void *p, uint32_t stack, uint32_t op);
size_t track_usable(const void *p);
/* The same for the program's own call: a pointer that is no block is an error. */
size_t track_query(const void *p, uint32_t op, const struct entry *at);
/* The stack that allocated the live block around p; 0: no such block, or not known. */
uint32_t track_stack(const void *p);

struct track_totals {
    uint64_t live_blocks, live_bytes, allocs, frees, heap_bytes, free_bytes;
};

struct track_totals track_totals(void);

/* ---- client_blocks.c: blocks of the program's own allocators --------------------------------- */

/* false: see client_block_put. All of these fail in a handler that interrupted us. */
bool client_malloc(const void *p, uint64_t bytes, const struct entry *at);
/* false: p was not a live client block, which has been recorded as an error. */
bool client_free(const void *p, uint32_t op, const struct entry *at);
/* from == NULL: a new block. */
bool client_realloc(const void *from, const void *to, uint64_t bytes, uint32_t op,
                    const struct entry *at);
/* Free all client blocks that begin in this memory, and return their number. */
uint64_t client_free_all(const void *start, uint64_t bytes, const struct entry *at);

enum known_as { KNOWN_NOT, KNOWN_IN_HEAP, KNOWN_CLIENT_BLOCK };

struct known_block {
    uint64_t start, bytes;
};

/* Find the innermost live block around p. */
enum known_as client_find(const void *p, struct known_block *out);

#endif
