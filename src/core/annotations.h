/*
 * annotations.h - what the program itself says about leaks (annotations.c), and marks that it sets in time (marks.c).
 */
#ifndef ANNOTATIONS_H
#define ANNOTATIONS_H

#include "pool.h"

/* Memory that the program wants to be searched for pointers, or not. */
struct root_region {
    uintptr_t start;
    uint64_t bytes;
    uint64_t life; /* client_block_life */
};

struct annotations {
    _Atomic uint32_t mark; /* of blocks that are allocated now */
    bool ignoring;         /* somebody has asked for some block to be ignored */
};

extern HIDDEN struct annotations annotations;

ALWAYS_INLINE uint32_t annotations_mark_now(void)
{
    return atomic_load_explicit(&annotations.mark, memory_order_relaxed);
}

/* From now on blocks are of the next mark: its number; 0: there are no more (BLOCK_MARK_MASK). */
uint32_t annotations_next_mark(void);
/* What this thread allocates until as many calls of annotations_resume_new is no leak.  Signal-safe. */
void annotations_ignore_new(void);
void annotations_resume_new(void);
/* The block that p points into is no leak, and what it holds is none.  false: there is no such block. */
bool annotations_ignore(const void *p);
/* The same of `to`, which takes the place of `from`, if that is one. */
void annotations_ignore_moved(const void *from, const void *to);
/* false: there is no memory for it, or it is none.  A region may be added several times. */
bool annotations_add_root(uintptr_t start, uint64_t bytes);
/* false: it was not added, or removed as often. */
bool annotations_remove_root(uintptr_t start, uint64_t bytes);
/* All of them, while nobody adds or removes one. */
const struct root_region *annotations_roots(uint32_t *count);
/* The same of memory that is not to be searched, as long as the heap's block lives that it lies in. */
bool annotations_hide(uintptr_t start, uint64_t bytes);
bool annotations_show(uintptr_t start, uint64_t bytes);
const struct root_region *annotations_hidden(uint32_t *count);
/* Where the two lists lie, which have pointers to what they name; 0: there is none. */
void annotations_lists(uintptr_t start[2], uintptr_t end[2]);
void annotations_after_fork(void);

/* ---- marks.c --------------------------------------------------------------------------------- */

/* annotations_next_mark, and how much there is is written down.  false: there are no more, or not here. */
bool marks_next(void);
void marks_after_fork(void);

#endif
