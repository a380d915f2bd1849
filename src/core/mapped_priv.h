/*
 * mapped_priv.h - what the files of the map of what is mapped share.
 *
 *   mapped.c         the map, and what each call does to it
 *   mapped_begin.c   where it comes from
 *   mapped_young.*   what was mapped last
 *   mapped_copy.c    their copy in the run file
 *   mapped_kernel.c  what the kernel says, compared with it
 */
#ifndef MAPPED_PRIV_H
#define MAPPED_PRIV_H

#include "core.h"

#define ADDRESSES_END (1ull << 47) /* above are the kernel's */

struct map {
    alignas(64) struct lock lock;
    _Atomic bool ready;
    _Atomic bool begun; /* once: where it is not ready it is to be made anew */
    bool copied; /* this image's part of the run file has the copy; not yet in a forked child */
    _Atomic bool
        has_timed_out; /* somebody has waited in vain: until it is free once nobody waits again */
    uint32_t calls;    /* numbers given out */
    uint32_t born, born_calls; /* what threads_announcements said, and calls when it changed */
    uint32_t image;            /* whose sum and copy they are; 0: there are none */
    bool copying;        /* all changes are in the map, and not yet in all of the leaves' copies */
    struct map_sum *sum; /* NULL: nobody's yet */
    struct maps maps;
    struct segment **copy; /* of each leaf, */
    uint32_t copies;       /* of those that are numbered below this at most */
    bool partial;          /* some of it had no room */
};

extern HIDDEN struct map map;

/* Under the lock; readers outside see one value or the other. */
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

/* All below: under the lock. */

/* What of r is in [start, end); false: nothing. */
bool map_clip(struct map_region *r, uint64_t start, uint64_t end);
void map_put(const struct map_region *r);
void map_take_out(uint64_t start, uint64_t end);
/* Inside a section, with the lock and a map that has everything, and is of this image; false: not now. */
bool map_enter(struct section *s);
void map_exit(struct section *s);

/* ---- mapped_begin.c -------------------------------------------------------------------------- */

void map_begin(void);       /* it is not ready: made, or made anew */
void map_begin_again(void); /* in a forked child: the copy was its parent's */

/* ---- mapped_copy.c --------------------------------------------------------------------------- */

/* Odd while it is changed: for a reader who looks meanwhile. */
ALWAYS_INLINE uint32_t copy_begin(struct segment *s)
{
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, epoch + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    return epoch;
}

/* Also where it is so already: who was writing it has left it. */
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
void map_copy_none(void); /* the present one is another image's; then: */
void map_copy_all(void);
void map_copy_rebuild(void); /* into the segments that there are */
/* A new one, in this image's part of the run file. */
void map_take_sum(uint32_t flags);

/* ---- mapped_kernel.c ------------------------------------------------------------------------- */

/* At first: the map becomes what the kernel says.  0 or -errno. */
int map_read_all(void);
/* The range becomes that. */
void map_query_kernel(uint64_t start, uint64_t end);

#endif
