/*
 * annotations.h - leak annotations by the program (annotations.c) and marks (checkpoints) that it
 * sets (marks.c).
 */
#ifndef ANNOTATIONS_H
#define ANNOTATIONS_H

#include "heap.h"

/* A region that a leak scan searches for pointers (root), or does not search (hidden). */
struct root_region {
    uintptr_t start;
    uint64_t bytes;
    uint64_t life; /* hidden: that of the heap block around it, by client_block_life */
};

struct annotations {
    _Atomic uint32_t mark; /* the present mark, recorded in each new block */
    bool ignoring;         /* set once any block is ignored, never reset */
};

extern HIDDEN struct annotations annotations;

ALWAYS_INLINE uint32_t annotations_mark_now(void)
{
    return atomic_load_explicit(&annotations.mark, memory_order_relaxed);
}

/* Start the next mark and return its number; 0: all marks up to BLOCK_MARK_MASK are used. */
uint32_t annotations_next_mark(void);
/*
 * Ignore blocks that this thread allocates, until as many calls of annotations_resume_new.
 * Signal-safe.
 */
void annotations_ignore_new(void);
void annotations_resume_new(void);
/* Ignore the block that p points into, and all blocks that it reaches. false: no such block. */
bool annotations_ignore(const void *p);
/* Ignore the block at `to`, which replaces that at `from`, if the latter is ignored. */
void annotations_ignore_moved(const void *from, const void *to);
/* false: no memory, or the region is empty or overflows. A region may be added several times. */
bool annotations_add_root(uintptr_t start, uint64_t bytes);
/* false: the region was not added, or already removed as often as it was added. */
bool annotations_remove_root(uintptr_t start, uint64_t bytes);
/* Return all root regions. No thread may add or remove one meanwhile. */
const struct root_region *annotations_roots(uint32_t *count);
/* The same for hidden regions. One within a heap block is valid only while that block lives. */
bool annotations_hide(uintptr_t start, uint64_t bytes);
bool annotations_show(uintptr_t start, uint64_t bytes);
const struct root_region *annotations_hidden(uint32_t *count);
/*
 * Return the extents of both arrays, which leak scans must not search: they hold the regions'
 * addresses. 0: no array.
 */
void annotations_lists(uintptr_t start[2], uintptr_t end[2]);
void annotations_after_fork(void);

/* ---- marks.c --------------------------------------------------------------------------------- */

/*
 * Start the next mark and write a mark_record. false: all marks are used, or no section can be
 * entered.
 */
bool marks_next(void);
void marks_after_fork(void);

#endif
