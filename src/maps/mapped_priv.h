/*
 * mapped_priv.h - what the files of the mapping table share.
 *
 *   mapped.c         the table, and its changes by each call
 *   mapped_begin.c   how it is made
 *   map_buffer.*     write buffer: the ranges that were mapped last
 *   mapped_copy.c    the copy in the run file
 *   mapped_kernel.c  comparison with the kernel's list
 */
#ifndef MAPPED_PRIV_H
#define MAPPED_PRIV_H

#include "init.h"
#include "maps.h"

struct map {
    alignas(64) struct lock lock;
    _Atomic bool ready;
    _Atomic bool begun; /* once set: a table that is not ready is to be made anew */
    bool copied; /* this image's part of the run file has the copy; false in a new forked child */
    /* A wait for the lock has timed out: do not wait again until it was free once. */
    _Atomic bool has_timed_out;
    uint32_t calls;            /* numbers given to calls */
    uint32_t born, born_calls; /* threads_announcements at its last change, and `calls` then */
    uint32_t image;            /* the image that `sum` and the copy belong to; 0: there are none */
    bool copying;              /* the table has all changes, but not yet all leaves' copies */
    struct map_sum *sum;       /* NULL: not taken yet */
    struct maps maps;
    struct segment **copy; /* each leaf's segment, */
    uint32_t copies;       /* for leaves of lower numbers than this at most */
    bool partial;          /* some leaf had no room */
};

extern HIDDEN struct map map;

/* Call under the lock. Readers outside see the old value or the new one. */
static inline uint64_t map_count(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed) + n;
    atomic_store_explicit(counter, now, memory_order_relaxed);
    return now;
}

static inline bool region_is_file(const struct map_region *r)
{
    return r->inode || r->device;
}

/* All functions below need the lock, except map_enter, which takes it. */

/* Clip r to [start, end); false: nothing is left. */
bool map_clip(struct map_region *r, uint64_t start, uint64_t end);
void map_put(const struct map_region *r);
void map_take_out(uint64_t start, uint64_t end);
/*
 * Enter a section and take the lock. The table is then complete, and this image's. false: not
 * available now.
 */
bool map_enter(struct section *s);
void map_exit(struct section *s);

/* ---- mapped_begin.c -------------------------------------------------------------------------- */

void map_begin(void);       /* make the table, or make it anew, if it is not ready */
void map_begin_again(void); /* in a forked child: the copy was its parent's */

/* ---- mapped_copy.c --------------------------------------------------------------------------- */

/* A seqlock: the epoch is odd during a change. */
ALWAYS_INLINE uint32_t copy_begin(struct segment *s)
{
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, epoch + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    return epoch;
}

/* The same if the epoch may be odd already, because a writer has left by a jump. */
ALWAYS_INLINE uint32_t copy_begin_again(struct segment *s)
{
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed) & ~1u;
    atomic_store_explicit(&s->epoch, epoch + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    return epoch;
}

ALWAYS_INLINE void copy_end(struct segment *s, uint32_t epoch)
{
    atomic_store_explicit(&s->epoch, epoch + 2, memory_order_release);
}

void map_copy_changed(void);
void map_copy_none(void); /* forget the copy of another image; then call: */
void map_copy_all(void);
void map_copy_rebuild(void); /* into the segments that exist */
/* Take a new map_sum in this image's part of the run file. */
void map_take_sum(uint32_t flags);

/* ---- mapped_kernel.c ------------------------------------------------------------------------- */

/* At first: make the table from the kernel's list. 0 or -errno. */
int map_read_all(void);
/* Replace the range by the kernel's state. */
void map_query_kernel(uint64_t start, uint64_t end);

#endif
