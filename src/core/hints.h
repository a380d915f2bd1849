/*
 * hints.h - what the program itself says about leaks (hints.c), and marks that it sets in time (marks.c).
 */
#ifndef HINTS_H
#define HINTS_H

#include "pool.h"

/* Memory that the program wants to be searched for pointers, or not. */
struct root_region {
    uintptr_t start;
    uint64_t bytes;
    uint64_t life; /* recorded_life */
};

struct hints {
    _Atomic uint32_t mark; /* of blocks that are allocated now */
    bool ignoring;         /* somebody has asked for some block to be ignored */
};

extern HIDDEN struct hints hints;

ALWAYS_INLINE uint32_t hints_mark_now(void)
{
    return atomic_load_explicit(&hints.mark, memory_order_relaxed);
}

/* From now on blocks are of the next mark: its number; 0: there are no more (BLOCK_MARK_MASK). */
uint32_t hints_next_mark(void);
/* What this thread allocates until as many calls of hints_heed_new is no leak.  Signal-safe. */
void hints_ignore_new(void);
void hints_heed_new(void);
/* The block that p points into is no leak, and what it holds is none.  false: there is no such block. */
bool hints_ignore(const void *p);
/* The same of `to`, which takes the place of `from`, if that is one. */
void hints_ignore_moved(const void *from, const void *to);
/* false: there is no memory for it, or it is none.  A region may be added several times. */
bool hints_add_root(uintptr_t start, uint64_t bytes);
/* false: it was not added, or removed as often. */
bool hints_remove_root(uintptr_t start, uint64_t bytes);
/* All of them, while nobody adds or removes one. */
const struct root_region *hints_roots(uint32_t *count);
/* The same of memory that is not to be searched, as long as the heap's block lives that it lies in. */
bool hints_hide(uintptr_t start, uint64_t bytes);
bool hints_show(uintptr_t start, uint64_t bytes);
const struct root_region *hints_hidden(uint32_t *count);
/* Where the two lists lie, which have pointers to what they name; 0: there is none. */
void hints_lists(uintptr_t start[2], uintptr_t end[2]);
void hints_after_fork(void);

/* ---- marks.c --------------------------------------------------------------------------------- */

/* hints_next_mark, and how much there is is written down.  false: there are no more, or not here. */
bool marks_next(void);
void marks_after_fork(void);

#endif
