/*
 * shadow.h - the door of shadow: what we know about memory, as pure rules over the mapped format.
 *
 * Nothing here makes a system call, takes a lock, allocates, or keeps a variable of its own.  The
 * same functions run inside the checked process, where they decide, and outside, where they
 * explain.  All are signal-safe; those that write say which race they settle.
 */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtcheck/bits.h"
#include "rtcheck/format.h"

/* ---- layout.c: the file's geometry ----------------------------------------------------------- */

struct run_shape {
    uint64_t area_bytes;
    uint32_t area_count;
    uint64_t heap_bytes; /* heap=file, else 0 */
    uint64_t start_ns;
    uint32_t mode; /* enum run_mode */
    uint32_t uid;
    uint32_t launcher_pid;
    const char *host;
    const char *options;
};

/* Fills *run (zeroed memory at the start of a new file), the magic last.  -EINVAL: shape is off. */
int run_header_init(struct run_header *run, const struct run_shape *shape);

/* Where the area and lease tables of a good run end, in area 0. */
static inline uint64_t run_leases_end(const struct run_header *run)
{
    uint64_t areas = run->area_table_offset + run->area_count * sizeof(struct area_entry);
    uint64_t leases = run->lease_table_offset + run->lease_count * sizeof(struct lease);
    return areas > leases ? areas : leases;
}

/* Where all tables of a good run end, in area 0: what lies behind is the launcher's. */
static inline uint64_t run_tables_end(const struct run_header *run)
{
    return run->unchecked_offset
               ? run->unchecked_offset + RTC_UNCHECKED_COUNT * sizeof(struct unchecked_record)
               : run_leases_end(run);
}

/* RTC_UNCHECKED_COUNT of them; not in a run without (unchecked_offset is 0). */
static inline struct unchecked_record *run_unchecked(const struct run_header *run)
{
    return (struct unchecked_record *)(uintptr_t)((const char *)run + run->unchecked_offset);
}

/* The place of an operation that took so many ticks in cost_record's tables, and the least that is there. */
static inline uint32_t cost_time_class(uint64_t ticks)
{
    if (ticks < 4)
        return (uint32_t)ticks;
    unsigned log2 = log2_floor(ticks);
    uint32_t class = (log2 - 1) * 4 + (uint32_t)(ticks >> (log2 - 2) & 3);
    return class < COST_TIMES ? class : COST_TIMES - 1;
}

static inline uint64_t cost_time_least(uint32_t class)
{
    return class < 4 ? class : (uint64_t)(4 + class % 4) << (class / 4 - 1);
}

/* Length of the file that a shape asks for. */
uint64_t run_file_bytes(const struct run_shape *shape);

/* Offset in the file of area number `area`. */
static inline uint64_t area_offset(const struct run_header *run, uint32_t area)
{
    return (uint64_t)area * run->area_bytes;
}

static inline uint64_t area_owner(enum area_state state, uint32_t image)
{
    return (uint64_t)state << 32 | image;
}

static inline enum area_state area_owner_state(uint64_t owner)
{
    return (enum area_state)(owner >> 32);
}

static inline uint32_t area_owner_image(uint64_t owner)
{
    return (uint32_t)owner;
}

/*
 * HELD or LEFT -> FREE, if it is still the lease that was looked at: between look and step it may
 * have been freed and taken again, then for another pid.
 */
void lease_release(struct lease *l, uint32_t state, uint32_t pid);

/* The items of a segment. */
static inline void *segment_items(const struct segment *s)
{
    return (char *)(uintptr_t)s + sizeof *s;
}

/* Bytes of a segment of `capacity` items. */
static inline uint64_t segment_bytes(uint32_t capacity, uint32_t item_bytes)
{
    return align_up(sizeof(struct segment) + (uint64_t)capacity * item_bytes, RTC_SEGMENT_ALIGN);
}

/* ---- block.c: a block's life; the only writer of its state ----------------------------------- */

static inline enum block_state word_state(uint64_t word)
{
    return (enum block_state)(word >> BLOCK_STATE_SHIFT & BLOCK_STATE_MASK);
}

static inline enum block_family word_family(uint64_t word)
{
    return (enum block_family)(word >> BLOCK_FAMILY_SHIFT & BLOCK_FAMILY_MASK);
}

static inline uint32_t word_flags(uint64_t word)
{
    return (uint32_t)(word >> BLOCK_FLAGS_SHIFT & BLOCK_FLAGS_MASK);
}

static inline uint32_t word_mark(uint64_t word)
{
    return (uint32_t)(word >> BLOCK_MARK_SHIFT & BLOCK_MARK_MASK);
}

static inline uint32_t word_generation(uint64_t word)
{
    return (uint32_t)(word >> BLOCK_GEN_SHIFT & BLOCK_GEN_MASK);
}

static inline uint32_t word_thread(uint64_t word)
{
    return (uint32_t)(word >> BLOCK_THREAD_SHIFT & BLOCK_THREAD_MASK);
}

static inline uint32_t word_size(uint64_t word)
{
    return (uint32_t)(word >> BLOCK_SIZE_SHIFT) & BLOCK_SIZE_MASK;
}

/* 1 + the binary logarithm of an alignment; 0: none was asked for. */
static inline uint32_t word_align(uint64_t word)
{
    return (uint32_t)(word >> BLOCK_ALIGN_SHIFT);
}

static inline uint32_t align_code(uint64_t align)
{
    return is_pow2(align) ? log2_floor(align) + 1 : 0;
}

static inline uint64_t align_of_code(uint32_t code)
{
    return code ? 1ull << (code - 1) : 0;
}

/* What a new block is, for block_publish. */
struct block_birth {
    enum block_family family;
    uint32_t flags;
    uint32_t mark;
    uint32_t thread;
    uint32_t size;  /* bytes asked for; 0 for large blocks, which keep it in their record */
                    /* | align_code of the alignment << BLOCK_ALIGN_SHIFT - BLOCK_SIZE_SHIFT */
    uint32_t stack; /* depot id */
};

/* NEVER or FREE -> LIVE.  The caller owns the slot; readers outside see the old or the new. */
void block_publish(struct block_record *b, const struct block_birth *birth);

/*
 * LIVE -> FREED.  Of all callers that race for one block exactly one gets true, and with it the
 * right (and duty) to hand the slot on; the others hold a duplicate free.  *was = the word seen.
 * INHERITED counts as LIVE: the first free in a child that could not know is believed.
 */
bool block_retire(struct block_record *b, uint32_t thread, uint32_t stack, uint64_t *was);

/* FREED -> FREE: leaves the quarantine.  Only its owner may call. */
void block_forget(struct block_record *b);

/*
 * LIVE -> LIVE with another size and stack (realloc in place).  false: not live any more, nothing
 * was changed.  *was = the word seen.
 */
bool block_resize(struct block_record *b, const struct block_birth *birth, uint64_t *was);

/* Adds `flags` to those of a block that is LIVE; false: it is not. */
bool block_flag(struct block_record *b, uint32_t flags);

/* A consistent picture of one record that others may be changing; false: still changing. */
bool block_read(const struct block_record *b, uint64_t *word, uint64_t *stacks);

/* Copies the records of a slab for a fork's other side; `inherited`: the child's copy. */
void block_copy(struct block_record *to, const struct block_record *from, uint32_t count,
                uint32_t stride, bool inherited);

/* Makes every record of a slab INHERITED: what the parent had is not to be trusted. */
void block_distrust(struct block_record *to, uint32_t count, uint32_t stride);

/* ---- classify.c: what is this address, in a slab of equal slots ------------------------------ */

enum verdict {
    PTR_FOREIGN, /* not in our heap, or in a part of it that holds no block */
    PTR_START,   /* the start of a slot that holds or held a block */
    PTR_INSIDE,  /* inside a slot: block, slack or redzone */
    PTR_UNUSED,  /* a slot never given out, or the tail of a slab behind the last slot */
};

struct slot_position {
    enum verdict verdict;
    uint32_t slot;
    uint32_t offset; /* from the start of the slot */
};

/* Where `offset` (from the start of the slab) falls. */
struct slot_position classify_in_slab(uint64_t offset, uint32_t slot_bytes, uint32_t slots);

/* ---- depot.c: ids of stacks ------------------------------------------------------------------ */

static inline uint32_t depot_id(uint32_t chunk, uint32_t node_index)
{
    return chunk << DEPOT_CHUNK_SHIFT | (node_index + 1);
}

static inline uint32_t depot_chunk_of(uint32_t id)
{
    return id >> DEPOT_CHUNK_SHIFT;
}

/* Place within its chunk; >= DEPOT_CHUNK_NODES for an id that depot_id never made. */
static inline uint32_t depot_index_of(uint32_t id)
{
    return (id & ((1u << DEPOT_CHUNK_SHIFT) - 1)) - 1;
}

/* What stands for the parent of an outermost frame. */
static inline uint32_t depot_root(uint32_t end)
{
    return DEPOT_ROOT - end;
}

static inline bool depot_is_root(uint32_t parent)
{
    return parent == 0 || parent > DEPOT_ROOT - STACK_END_COUNT; /* 0: minor version 0 */
}

static inline enum stack_end depot_end(uint32_t root)
{
    return root ? (enum stack_end)(DEPOT_ROOT - root) : STACK_WHOLE;
}

/* Hash of a stack: of its outer frames' hash - a root, for the outermost - and one more frame. */
static inline uint64_t depot_hash(uint64_t outer, uint64_t pc)
{
    uint64_t h = (outer ^ pc) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 32;
}

static inline uint32_t depot_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

static inline uint64_t depot_address(uint64_t pc)
{
    return pc & (DEPOT_PC_EXACT - 1);
}

static inline uint32_t depot_module(uint64_t pc)
{
    return (uint32_t)(pc >> DEPOT_MODULE_SHIFT);
}

/* ---- reach.c: which blocks the program can still get at -------------------------------------- */

/* A slab, or one large block. */
struct reach_slab {
    _Alignas(64) uint64_t start; /* address of its first slot */
    const void *records; /* block_records, `stride` bytes apart; they do not change meanwhile */
    uint64_t request;    /* of a large block */
    uint64_t magic;      /* of a slab: slot = (offset >> 4) * magic >> 32 */
    uint32_t stride;
    uint32_t slot_bytes; /* 0: a large block */
    uint32_t slots;      /* 1 for it */
    uint32_t first;      /* slots of all slabs before this one */
    bool inherited;      /* its blocks are no finding of this image */
};

struct reach_range {
    uint64_t start, end;
};

struct reach_heap {
    uint64_t base;
    uint64_t bytes;
    const uint32_t
        *slab_of_unit; /* number of the slab + 1; 0: none.  bytes >> RTC_UNIT_SHIFT of them */
    const struct reach_slab *slab; /* by address */
    uint32_t slabs;
    uint32_t slots;  /* of all of them */
    uint32_t stacks; /* stack ids that their blocks have, at most */
    /*
     * The last `apart` slabs are blocks that lie anywhere, as large ones, by address, none in
     * another of them.  Nothing else is looked for where they lie.  Hidden memory is not read, but
     * for such blocks in it.
     */
    uint32_t client_slabs;
    uint32_t hidden_count;
    const struct reach_range *hidden;
};

struct reach_rules {
    bool strict;         /* a pointer inside a block is never as good as one to its start */
    uint32_t mark_since; /* blocks of this mark and later are new */
    /* Could this word be the address of a virtual table?  Only asked of what C++ would leave. */
    bool (*is_table)(void *about, uint64_t word);
    /*
     * The next piece of [*at, end) that may hold anything, to *piece_end; *at becomes its start, and both are
     * multiples of 8.  false: there is none.  Only asked of blocks of REACH_SPARSE_BYTES, and of
     * those outside of the heap; NULL: all may.
     */
    bool (*next_piece)(void *about, uint64_t *at, uint64_t end, uint64_t *piece_end);
    void *about;
};

#define REACH_SPARSE_BYTES (1u << 20)

struct reach_scan;

/*
 * Bytes of scratch that are enough for this heap, or with `least` those that it cannot do without:
 * fewer than enough make it slower where much is found at once.  Of what is enough few are touched.
 */
uint64_t reach_room(const struct reach_heap *h, bool least);
/*
 * `scratch` is zeroed, and aligned as any block; NULL: `bytes` are too few.  The heap's description
 * stays until the end.  Blocks that say BLOCK_FLAG_ROOT are marked, with all that they hold.
 */
struct reach_scan *reach_begin(void *scratch, uint64_t bytes, const struct reach_heap *h,
                               const struct reach_rules *rules);
/*
 * `count` words that lie, or lay, at address `at` (a multiple of 8) in root number `root`: marks what
 * they point to, and what that points to; number 0: blocks that are in use by rule.  Words of blocks are
 * read where the blocks are.
 */
void reach_root(struct reach_scan *r, const uint64_t *words, uint64_t count, uint64_t at,
                uint32_t root);
/* The same of a register of a thread that is in use; DWARF's numbers and WITNESS_VECTOR, as below. */
void reach_live_register(struct reach_scan *r, uint64_t value, uint32_t number, uint32_t thread);
/* Behind the last root, in this order: pointers to the inside; registers; what is left. */
void reach_inside(struct reach_scan *r);
void reach_register(struct reach_scan *r, uint64_t value, uint32_t number, uint32_t thread);
void reach_lost(struct reach_scan *r);
/*
 * Then: the groups of all live blocks, ordered by nothing.  Inherited blocks are in none; a group
 * without blocks of its own stands for an inherited one, for what is found behind it.
 */
const struct leak_group *reach_groups(const struct reach_scan *r, uint32_t *count);

/* ---- verify.c: what a good file is ----------------------------------------------------------- */

struct verify_error {
    const char *what; /* static text, NULL = nothing wrong */
    uint64_t offset;  /* in the file */
};

/* The run header and its tables; `file_bytes` is what the file system says. */
bool verify_run(const struct run_header *run, uint64_t file_bytes, struct verify_error *err);

/* What the launcher has told, read into memory from run_header.launcher_offset of a good run. */
bool verify_launcher(const struct launcher_record *launcher, uint64_t offset,
                     struct verify_error *err);

/*
 * One area, read into memory: head, image header (ordinal 0), segments up to used_bytes and every
 * item in them.  `bytes` is what was read; `index` the area's place in the run.
 */
bool verify_area(const void *area, uint64_t bytes, const struct run_header *run, uint32_t index,
                 struct verify_error *err);

/* ---- maps.c: what is mapped ------------------------------------------------------------------ */

#define MAP_LEAF_REGIONS 32u

struct map_leaf {
    uint8_t order[MAP_LEAF_REGIONS]; /* places of its ranges, by address */
    uint32_t count;
    uint32_t used;         /* bit n: a range is in place n */
    uint32_t changed;      /* bit n: place n is not as it was when that was asked last */
    uint32_t next_changed; /* 0: it is not in the list */
    uint32_t next_free;
    struct map_region region[MAP_LEAF_REGIONS];
};

/* One at a time may change it, and nobody look meanwhile. */
struct maps {
    struct map_leaf *leaf;
    uint32_t *order;
    uint32_t room, made, leaves; /* leaves: all that fit, that were ever used, that are */
    uint32_t free;
    uint32_t changed;
    struct map_spot {
        uint32_t k, i;     /* the i-th range of the k-th leaf */
    } last;                /* what was looked for last, and where is looked first */
    uint32_t count;        /* of ranges */
    uint64_t called_bytes; /* in those that are MAP_CALLED */
};

/* Storage, the caller's, that is enough for so many ranges; aligned as for uint64_t. */
size_t maps_bytes(uint32_t regions);
void maps_init(struct maps *m, void *storage, size_t bytes);

/*
 * As the kernel does it: a new mapping takes the place of whatever was there; a removed or protected
 * range may have holes.  false: no room, nothing was changed.
 */
bool maps_put(struct maps *m, const struct map_region *r);
bool maps_remove(struct maps *m, uint64_t start, uint64_t end);
bool maps_protect(struct maps *m, uint64_t start, uint64_t end, uint8_t protection);

/* Takes out the range from `start` to `end`, if there is one that is just that: *out. */
bool maps_take(struct maps *m, uint64_t start, uint64_t end, struct map_region *out);

/* The first range that ends above `at`; NULL: there is none.  Valid until the next change. */
const struct map_region *maps_find(struct maps *m, uint64_t at);
/* Is nothing there? */
bool maps_is_free(struct maps *m, uint64_t start, uint64_t end);

/*
 * Who keeps a copy: the number + 1 of a leaf that has changed since it was last given here, and which of its
 * places have; 0: there is none.  One that is empty now is in use no more.
 */
uint32_t maps_next_changed(struct maps *m, uint32_t *slots_mask);
/* All has been copied, and is told when it changes from now on. */
void maps_forget_changes(struct maps *m);

/* In order, apart, and joined: what must hold at any time. */
bool maps_is_valid(const struct maps *m);

#endif
