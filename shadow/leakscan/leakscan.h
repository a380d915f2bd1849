/*
 * leakscan.h - interface of leakscan: reachability of blocks, the mark phase of the leak check.
 *
 * The caller lists the slabs of the heap, passes the words of all roots and registers, and gets one
 * group for each allocation stack and class of reachability (enum reach): number, bytes, and an
 * example with the pointer that refers to it.  reach.c has the definition of the classes.
 *
 *   roots, registers ---> read_words ---> mark ---> groups
 *                             ^             |
 *                             +-- words <---+   of each block found
 *
 * Call reach_begin; reach_root and reach_live_register for each root; reach_inside; reach_register
 * for each other register; reach_lost; reach_groups.
 *
 * The program's threads must be stopped: its memory is read in place.  No function makes a system
 * call, takes a lock, allocates (the caller provides scratch memory) or has static variables.
 */
#ifndef LEAKSCAN_H
#define LEAKSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow.h"

/* A slab, or one large block. */
struct reach_slab {
    _Alignas(64) uint64_t start; /* address of its first slot */
    const void *records;         /* block_records, `stride` bytes apart; constant during the scan */
    uint64_t request;            /* size of a large block */
    uint64_t magic;              /* for a slab: slot = (offset >> 4) * magic >> 32 */
    uint32_t stride;
    uint32_t slot_bytes; /* 0: a large block */
    uint32_t slots;      /* 1 for a large block */
    uint32_t first;      /* slots of all slabs before this one */
    bool inherited;      /* its blocks are not reported by this image */
};

struct reach_range {
    uint64_t start, end;
};

struct reach_heap {
    uint64_t base;
    uint64_t bytes;
    const uint32_t *slab_of_unit;  /* slab number + 1; 0: none. bytes >> RTC_UNIT_SHIFT entries */
    const struct reach_slab *slab; /* sorted by address */
    uint32_t slabs;
    uint32_t slots;  /* of all slabs */
    uint32_t stacks; /* upper limit of their blocks' stack ids */
    /*
     * The last `client_slabs` slabs are client blocks at any address.  They are represented like
     * large blocks, sorted, and do not overlap.  A pointer into a client block belongs only to that
     * block.  Hidden memory is not scanned, except client blocks in it.
     */
    uint32_t client_slabs;
    uint32_t hidden_count;
    const struct reach_range *hidden;
};

struct reach_rules {
    bool strict;         /* a pointer inside a block never counts as one to its start */
    uint32_t mark_since; /* blocks with this mark or a later one are new */
    /*
     * Can this word be the address of a virtual table?  Called only for candidates of a C++ base
     * class.
     */
    bool (*is_table)(void *about, uint64_t word);
    /*
     * Find the next piece of [*at, end) with data, and set *at and *piece_end (multiples of 8).
     * Return false at the end.  Called only for blocks of at least REACH_SPARSE_BYTES, and for
     * blocks outside of the heap; `has_gaps`: for all blocks.  NULL: scan all.
     */
    bool (*next_piece)(void *about, uint64_t *at, uint64_t end, uint64_t *piece_end);
    bool has_gaps;
    void *about;
};

/* Smaller blocks share their pages: slots of slabs. */
#define REACH_SPARSE_BYTES (32u << 10)

struct reach_scan;

/*
 * Bytes of scratch memory for this heap; `least`: the minimum.  With less than the full size, scans
 * are slower if many blocks are found at once.  Few pages of the full size are used.
 */
uint64_t reach_room(const struct reach_heap *h, bool least);
/*
 * Start a scan.  `scratch`: zeroed, aligned like a block.  Return NULL if `bytes` is too small.
 * The description of the heap must stay valid until the end.  All records are read here, except those
 * of large and client blocks; no block's contents.  Blocks with BLOCK_FLAG_ROOT are in use, with all that is
 * reachable from them.
 */
struct reach_scan *reach_begin(void *scratch, uint64_t bytes, const struct reach_heap *h,
                               const struct reach_rules *rules);
/*
 * Scan `count` words of root number `root`, at address `at` (a multiple of 8): mark the blocks that
 * they point to, transitively. root 0: these blocks are in use by rule.  The words may be a copy;
 * words of blocks are read in place.
 */
void reach_root(struct reach_scan *r, const uint64_t *words, uint64_t count, uint64_t at,
                uint32_t root);
/*
 * The same for a live register of a thread.  `number`: a DWARF number or DWARF_VECTORS + i, as
 * below.
 */
void reach_live_register(struct reach_scan *r, uint64_t value, uint32_t number, uint32_t thread);
/* After the last root, call in this order: interior pointers, registers, lost blocks. */
void reach_inside(struct reach_scan *r);
void reach_register(struct reach_scan *r, uint64_t value, uint32_t number, uint32_t thread);
void reach_lost(struct reach_scan *r);
/*
 * Then return the groups of all live blocks, unordered.  Inherited blocks are in no group.  A group
 * without own blocks represents an inherited owner of indirectly lost blocks.
 */
struct leak_group *reach_groups(const struct reach_scan *r, uint32_t *count);

#endif
