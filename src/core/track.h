/*
 * track.h - the front desk of all allocations, and of blocks that the program makes itself; the stacks of
 * their calls.
 */
#ifndef TRACK_H
#define TRACK_H

#include "pool.h"
#include "unwinder.h"

/* ---- stack.c --------------------------------------------------------------------------------- */

void stack_start(void);
uint32_t stack_put_cached(struct stack_cache *all, struct cached_stack *t);
uint32_t stack_put_cold(struct stack_cache *all,
                        const struct entry *at); /* stack_cache_update returned none */
uint32_t stack_put_aside(struct thread *t,
                         const struct entry *at); /* none is wanted, or it is timed */
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

/* The number of this thread's stack at a call; 0: none.  Inside a section. */
ALWAYS_INLINE uint32_t stack_put(struct thread *t, const struct entry *at)
{
    return likely(t->stacks_plain) ? stack_put_plain(t, at) : stack_put_aside(t, at);
}

/*
 * The program's call, as our frame begins.  So rooms of interceptors keep frame pointers and leave by
 * returning, not by a jump into the next function.
 */
#define CALLER ((const struct entry *)__builtin_frame_address(0))

/* ---- track.c: the front desk ----------------------------------------------------------------- */

/*
 * All preserve errno except where they say ENOMEM; `at` is the program's call, whose interceptor
 * has not returned yet.  Signal-safe in so far as a handler that interrupted another call is
 * served from a small reserve.
 */
void *track_alloc(size_t request, size_t align, uint32_t op, const struct entry *at);
/* Keeps in the record with which alignment it was `asked` for; any value: 0 and others than powers of two are none. */
void *track_alloc_aligned(size_t request, size_t align, size_t given_align, uint32_t op,
                          const struct entry *at);
void *track_alloc_zeroed(size_t request, uint32_t op, const struct entry *at);
void *track_realloc(void *p, size_t request, uint32_t op, const struct entry *at);
void track_free(void *p, uint32_t op, const struct entry *at);
/* The same with the size that the block is said to have. */
void track_free_sized(void *p, size_t given_size, uint32_t op, const struct entry *at);
/* The same of a function that is told the alignment, and the size, or SIZE_NOT_GIVEN. */
void track_free_aligned(void *p, size_t given_size, size_t align, uint32_t op,
                        const struct entry *at);
/* More than any block has, whatever the alignment: asked for by us alone, to fail without a word. */
#define REQUEST_IMPOSSIBLE 0xffffff0000000000u
/* realloc(p, 0): frees, as glibc does, and warns. */
void track_free_by_realloc(void *p, uint32_t op, const struct entry *at);
/* Warns of an alignment that is no power of two. */
void track_warn_alignment(uint64_t align, uint32_t op, const struct entry *at);
/* An allocation whose size cannot be; NULL, with errno. */
void *track_refuse(uint64_t request, uint32_t op, const struct entry *at);
/* A free that a handler left to be done, with the stack it was made at. */
void track_free_deferred(void *p, uint32_t stack, uint32_t op);
size_t track_usable(const void *p);
/* The same for the program's own call, of which a pointer that is no block is an error. */
size_t track_query(const void *p, uint32_t op, const struct entry *at);
/* The stack that allocated the live block that p points into; 0: there is none, or it is not known. */
uint32_t track_stack(const void *p);

struct track_totals {
    uint64_t live_blocks, live_bytes, allocs, frees, heap_bytes, free_bytes;
};

struct track_totals track_totals(void);

/* ---- client_blocks.c: blocks that the program makes itself ----------------------------------- */

/* false: see client_block_put; or in a handler that interrupted us, as all of these. */
bool client_malloc(const void *p, uint64_t bytes, const struct entry *at);
/* false: it was none, which has been written down. */
bool client_free(const void *p, uint32_t op, const struct entry *at);
/* `from` NULL: it is new. */
bool client_realloc(const void *from, const void *to, uint64_t bytes, uint32_t op,
                    const struct entry *at);
/* All that begin in this memory: how many. */
uint64_t client_free_all(const void *start, uint64_t bytes, const struct entry *at);

enum known_as { KNOWN_NOT, KNOWN_IN_HEAP, KNOWN_CLIENT_BLOCK };

struct known_block {
    uint64_t start, bytes;
};

/* The live block that p points into, the innermost. */
enum known_as client_find(const void *p, struct known_block *out);

#endif
