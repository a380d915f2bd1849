/*
 * shadow.h - interface of shadow: pure rules about memory, over the mapped run-file format.
 *
 *   layout.c     geometry of the run file: header, tables, areas, segments, leases
 *   block.c      life cycle of a block: the only writer of a record's state word
 *   classify.c   from an address in a slab to a slot and a verdict
 *   verify*.c    the definition of a valid file (verify_priv.h)
 *   program.c    does the loader preload a library into this program? (program.h)
 *
 * No function makes a system call, takes a lock, allocates, or has static variables.  The runtime
 * uses these functions to decide, and the reporter to explain.  All are async-signal-safe.
 * Functions that write document the race that they resolve.
 *
 * The rooms below obey the same rules: ranges/ (maps.h), the table of mapped ranges, and leakscan/
 * (leakscan.h), the mark phase of the leak check.
 */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bits.h"
#include "format/format.h"

/* ---- layout.c: the file's geometry ----------------------------------------------------------- */

struct run_shape {
    uint64_t area_bytes;
    uint32_t area_count;
    uint64_t heap_bytes; /* of each heap; 0 unless heap=file */
    uint32_t heap_count;
    uint64_t start_ns;
    uint32_t mode; /* enum run_mode */
    uint32_t uid;
    uint32_t launcher_pid;
    const char *host;
    const char *options;
    const char *folder; /* of the file; NULL: it is a memfd */
};

/*
 * Initialise *run (zeroed memory at the start of a new file), the magic last. -EINVAL: invalid
 * shape.
 */
int run_header_init(struct run_header *run, const struct run_shape *shape);

/* End of the area and lease tables of a valid run, in area 0. */
static inline uint64_t run_leases_end(const struct run_header *run)
{
    uint64_t areas = run->area_table_offset + run->area_count * sizeof(struct area_entry);
    uint64_t leases = run->lease_table_offset + run->lease_count * sizeof(struct lease);
    return areas > leases ? areas : leases;
}

static inline uint64_t run_unchecked_end(const struct run_header *run)
{
    return run->unchecked_offset
               ? run->unchecked_offset + RTC_UNCHECKED_COUNT * sizeof(struct unchecked_record)
               : run_leases_end(run);
}

/* End of all tables of a valid run, in area 0.  The space after it belongs to the launcher. */
static inline uint64_t run_tables_end(const struct run_header *run)
{
    return run->heap_table_offset
               ? run->heap_table_offset + RTC_HEAPS_MAX * sizeof(struct heap_slot)
               : run_unchecked_end(run);
}

/* The table of run->heap_count slots.  Invalid in a run without it (heap_table_offset is 0). */
static inline struct heap_slot *run_heap_slots(const struct run_header *run)
{
    return (struct heap_slot *)(void *)((char *)(uintptr_t)run + run->heap_table_offset);
}

static inline uint64_t heap_owner(uint32_t pid, uint32_t image)
{
    return (uint64_t)pid << 32 | image;
}

/*
 * The table of RTC_UNCHECKED_COUNT records.  Invalid in a run without it (unchecked_offset is 0).
 */
static inline struct unchecked_record *run_unchecked(const struct run_header *run)
{
    return (struct unchecked_record *)(uintptr_t)((const char *)run + run->unchecked_offset);
}

/*
 * Histogram bucket in cost_record's tables for an operation of so many ticks, and the least value
 * of a bucket.
 */
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

/* Length of a run file of this shape. */
uint64_t run_file_bytes(const struct run_shape *shape);
/* How many heaps of this size a file is to have; 0: of none. */
uint32_t run_heap_count(uint64_t heap_bytes);

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
 * HELD or EXECED -> FREE, if the lease has not changed since the caller read it: meanwhile it may
 * have been freed and taken for another pid.
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

/* ---- block.c: life cycle of a block; the only writer of its state ---------------------------- */

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

/* 1 + the binary logarithm of an alignment; 0: no alignment was requested. */
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

/* Properties of a new block, for block_publish. */
struct block_birth {
    enum block_family family;
    uint32_t flags;
    uint32_t mark;
    uint32_t thread;
    uint32_t size;  /* requested bytes; 0 for large blocks, which have them in their record */
                    /* | align_code of the alignment << BLOCK_ALIGN_SHIFT - BLOCK_SIZE_SHIFT */
    uint32_t stack; /* depot id */
};

/*
 * NEVER or FREE -> LIVE.  The caller owns the slot.  Concurrent readers see the old record or the
 * new one.
 */
void block_publish(struct block_record *b, const struct block_birth *birth);

/*
 * LIVE -> FREED.  If several threads free a block concurrently, exactly one gets true, and must
 * pass on the slot.  For the others it is a double free.  *was: the word found.  INHERITED counts
 * as LIVE: the first free in a child with unreliable records is accepted.
 */
bool block_retire(struct block_record *b, uint32_t thread, uint32_t stack, uint64_t *was);

/* FREED -> FREE: the block leaves the quarantine.  Only the owner of the slot may call this. */
void block_forget(struct block_record *b);

/*
 * LIVE -> LIVE with another size and stack (realloc in place).  Return false, without a change, if
 * the block is no longer live.  *was: the word found.
 */
bool block_resize(struct block_record *b, const struct block_birth *birth, uint64_t *was);

/* Add `flags` to a LIVE block; return false if it is not live. */
bool block_flag(struct block_record *b, uint32_t flags);

/* Read a consistent snapshot of a record; return false if a concurrent writer prevents it. */
bool block_read(const struct block_record *b, uint64_t *word, uint64_t *stacks);

/* Copy the records of a slab after a fork; `inherited`: the copy is the child's. */
void block_copy(struct block_record *to, const struct block_record *from, uint32_t count,
                uint32_t stride, bool inherited);

/* Set every record of a slab to INHERITED: the parent's records are unreliable. */
void block_distrust(struct block_record *to, uint32_t count, uint32_t stride);

/* ---- classify.c: classify an address in a slab of equal slots -------------------------------- */

enum verdict {
    PTR_FOREIGN, /* not in our heap, or in a part of it without blocks */
    PTR_START,   /* the start of a slot that contains a block or a freed block */
    PTR_INSIDE,  /* inside a slot: block, slack or redzone */
    PTR_UNUSED,  /* a slot never allocated, or the tail after the slab's last slot */
};

struct slot_position {
    enum verdict verdict;
    uint32_t slot;
    uint32_t offset; /* from the start of the slot */
};

/* Classify `offset` (from the start of the slab). */
struct slot_position classify_in_slab(uint64_t offset, uint32_t slot_bytes, uint32_t slots);

/* ---- depot.c: stack ids ---------------------------------------------------------------------- */

static inline uint32_t depot_id(uint32_t chunk, uint32_t node_index)
{
    return chunk << DEPOT_CHUNK_SHIFT | (node_index + 1);
}

static inline uint32_t depot_chunk_of(uint32_t id)
{
    return id >> DEPOT_CHUNK_SHIFT;
}

/* Index in its chunk; >= DEPOT_CHUNK_NODES for an id that depot_id cannot return. */
static inline uint32_t depot_index_of(uint32_t id)
{
    return (id & ((1u << DEPOT_CHUNK_SHIFT) - 1)) - 1;
}

/* The parent number of an outermost frame. */
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

/*
 * Hash of a stack: combines the hash of its outer frames (a root for the outermost) with one more
 * frame.
 */
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

/* ---- verify.c: validation of a run file ------------------------------------------------------ */

struct verify_error {
    const char *what; /* static text, NULL: valid */
    uint64_t offset;  /* in the file */
};

/* Verify the run header and its tables; `file_bytes`: the size reported by the file system. */
bool verify_run(const struct run_header *run, uint64_t file_bytes, struct verify_error *err);

/* Verify the launcher's record, a copy of the data at run_header.launcher_offset of a valid run. */
bool verify_launcher(const struct launcher_record *launcher, uint64_t offset,
                     struct verify_error *err);

/*
 * Verify one area, a copy in memory: head, image header (ordinal 0), segments up to used_bytes, and
 * each item in them.  `bytes`: size of the copy; `index`: number of the area in the run.
 */
bool verify_area(const void *area, uint64_t bytes, const struct run_header *run, uint32_t index,
                 struct verify_error *err);

#endif
