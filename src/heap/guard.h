/*
 * guard.h - guarded blocks: large blocks (UNIT_LARGE) with inaccessible pages on both sides, whose
 * own pages become inaccessible when they are freed (guard.c).  A load or store that leaves the
 * block's pages, or uses it after free, faults at the instruction.
 *
 * Functions are called as heap.h describes, inside a section, unless stated otherwise.
 */
#ifndef GUARD_H
#define GUARD_H

#include "heap.h"

#define GUARD_BYTES_MAX (1ull << 20) /* larger blocks are not guarded */

enum guard_edge {
    GUARD_EDGE_END,   /* the block ends where a guard page begins, or up to `gap` bytes before */
    GUARD_EDGE_START, /* it begins where a guard page ends */
};

#define GUARD_GAP_ALIGNED 15u /* a block is always aligned as malloc promises */

struct guard_place {
    enum guard_edge edge;
    /*
     * At the end, the most bytes between the block and its guard page.  With less than
     * GUARD_GAP_ALIGNED, the block may be aligned less than malloc promises.
     */
    uint32_t gap;
};

/*
 * Allocate a guarded block, as large_take does.  NULL: the block cannot be guarded: it is larger than
 * GUARD_BYTES_MAX or aligned to pages (which programs protect themselves), or there is no memory, or
 * without MADV_GUARD_INSTALL no further mapping.
 */
void *guard_take(size_t request, size_t align, struct guard_place place, bool *clean,
                 struct found *f);
/* The block's record is FREED: make its pages inaccessible, and quarantine it. */
void guard_give(const struct found *f);
bool guard_is_guarded(const struct found *f);

/* The next four are async-signal-safe and take no lock. */
enum guard_state {
    GUARD_NONE,   /* not in units of guarded blocks, or in the pages of a block in use */
    GUARD_CLOSED, /* inaccessible */
    GUARD_OPENED, /* accessible by guard_open */
};
enum guard_state guard_state_of(uintptr_t at);
/* Is the address in units of a guarded block that is aligned less than malloc promises? */
bool guard_is_misaligned(uintptr_t at);
/*
 * Make the pages around the address accessible: those before or after a block in use until it is
 * freed, else all pages of its units.
 */
void guard_open(uintptr_t at);
/* The same for all units, for a process that can no longer handle faults. */
void guard_open_all(void);

void guard_after_fork(bool trusted);
/* The accessible bytes of the run that begins at a unit; none if it is another unit of a run. */
struct heap_part guard_accessible(const struct unit *u);
/* The heap's pages have been replaced by accessible ones: make guard pages again. */
void guard_restore(void);

#endif
