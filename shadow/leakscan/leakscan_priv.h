/*
 * leakscan_priv.h - declarations shared by the files of the mark phase.
 *
 *   reach.c            the classes, the order of the steps, lost blocks and cycles
 *   read_words.c       find the words that point into the heap, and their slots
 *   mark.c             from a word to the block that it points to, transitively
 *   kinds.c            records of blocks, compressed to two bytes for each slot
 *   groups.c           sums by allocation stack and class
 *   client.c           client blocks and hidden memory
 *   cxx_heuristics.c   interior pointers that count as pointers to the start
 */
#ifndef LEAKSCAN_PRIV_H
#define LEAKSCAN_PRIV_H

#include "leakscan.h"

#define REACH_BATCH 32u       /* blocks read together */
#define REACH_CANDIDATES 128u /* pointers looked up together */

/* The program's memory is read as words, regardless of its types. */
typedef uint64_t __attribute__((may_alias)) reach_word;

/*
 * Location of a pointer: its address, with an enum witness in the three lowest bits.  Register n: n
 * << 3 | WITNESS_REGISTER.
 */
#define WHERE_KIND 7ull

/* The slot that contains an address. */
struct reach_spot {
    uint64_t slot; /* number among all slots */
    uint64_t start;
    uint64_t inside; /* offset from the start */
};

/* A pointer into a block. */
struct reach_candidate {
    struct reach_spot spot;
    uint64_t where;
};

/* A counted block to be read. */
struct reach_found {
    uint64_t start;
    uint64_t bytes;
};

/* The pointer by which a block was found. */
struct reach_trail {
    uint64_t where;
    /* offset in the block << 24 | number of the root, or of the register's thread */
    uint64_t pointer;
};

#define TRAIL_NUMBER_BITS 24

static inline uint64_t trail_pointer(uint64_t inside, uint32_t number)
{
    return inside << TRAIL_NUMBER_BITS | (number & ((1u << TRAIL_NUMBER_BITS) - 1));
}

/* How to treat a pointer into an open block. */
enum reach_step {
    STEP_REACHABLE, /* to its start: mark it; to its inside: remember it */
    STEP_INDIRECT,  /* mark the block for any pointer */
    STEP_COUNT,     /* note that another block points to it */
    STEP_CYCLE,     /* tentatively mark the block */
};

/* Data of a heap unit, for finding slots. */
struct reach_unit {
    uint32_t first;
    uint16_t back;  /* units back to the start of its slab */
    uint16_t shape; /* 0: not in the table */
};

struct reach_shape {
    uint64_t magic;
    uint32_t slot_bytes;
    uint32_t slots;
};

#define SHAPES 64u

/*
 * The parts of a record that marking needs: the allocation stack in the lower half, then the
 * requested size and flags.
 */
#define NOTE_BYTES_SHIFT 32
#define NOTE_BYTES_MASK ((1ull << 24) - 1)
#define NOTE_LARGE (1ull << 56)     /* its slab entry has the size */
#define NOTE_UNCOUNTED (1ull << 57) /* inherited: its record may be the parent's, or unreliable */
#define NOTE_NEW (1ull << 58)

/* Blocks counted by a walk: those that it starts from, and those that it finds. */
enum reach_count { COUNT_OWNER, COUNT_FOUND, COUNTS };

/* All blocks with the same note. */
struct reach_kind {
    uint64_t note;
    uint32_t counted[COUNTS]; /* not yet added to their group */
};

#define KINDS_MAX UINT16_MAX /* kind 0 is reserved */

struct reach_scan {
    struct reach_heap heap;
    struct reach_rules rules;
    enum reach_step step;
    enum reach as[COUNTS];    /* the current classes */
    uint32_t root;            /* number of the root being read */
    uint64_t origin;          /* STEP_CYCLE: slot of the block where the walk started */
    uint64_t indirect_blocks; /* found from the current owner */
    uint64_t indirect_bytes;

    struct reach_unit *unit;
    struct reach_shape shape[SHAPES];

    struct reach_kind *kind;
    uint16_t *kind_at; /* by hash; 0: none */
    uint32_t kind_mask;
    uint32_t kinds, kinds_max;

    /* For each slot: its kind (0: read its record), and bits */
    uint16_t *kind_of;
    uint64_t *open;      /* live, and not classified yet */
    uint64_t *inside;    /* meaning depends on the step, see reach.c */
    uint64_t *waiting;   /* counted but not read: found while the queue was full */
    uint64_t bits;       /* size of each of the three bitmaps */
    uint64_t slow_bytes; /* larger blocks are read by client.c */
    /* address range of client blocks outside of the heap; 0: none */
    uint64_t client_low, client_high;
    struct reach_trail *trail; /* valid for some blocks with `inside` set */
    uint32_t slab;             /* the slab of the last slot looked up */
    uint64_t waiting_count;
    uint64_t waiting_from; /* index of the word where the last search ended */

    /* groups.c */
    struct leak_group *group;
    uint32_t *group_of; /* hash table: group number + 1, 0: none */
    uint32_t group_mask;
    uint32_t groups;
    uint32_t groups_max;

    /* mark.c: counted blocks to read, the current batch, and candidates */
    struct reach_found *queue; /* at most queue_mask + 1 entries */
    uint64_t queue_next, queue_end;
    uint64_t queue_mask, queue_left; /* free entries */
    uint64_t many;                   /* if so many wait, the queue is not used */
    uint32_t batched, candidates;
    struct reach_found batch[REACH_BATCH];
    struct reach_candidate candidate[REACH_CANDIDATES];
};

static inline uint64_t note_bytes(uint64_t note)
{
    return note >> NOTE_BYTES_SHIFT & NOTE_BYTES_MASK;
}

/* A block and its note. */
struct reach_block {
    uint64_t slot;
    uint64_t start;
    uint64_t request;
    uint64_t note;
};

static inline bool bit_is_set(const uint64_t *bits, uint64_t n)
{
    return bits[n / 64] >> n % 64 & 1;
}

static inline void bit_set(uint64_t *bits, uint64_t n)
{
    bits[n / 64] |= 1ull << n % 64;
}

static inline void bit_clear(uint64_t *bits, uint64_t n)
{
    bits[n / 64] &= ~(1ull << n % 64);
}

/*
 * Prefetch into the second-level cache.  The first level has few line fill buffers: while all are
 * in use the processor stalls, which doubled the total time.
 */
static inline void reach_prefetch(const void *address)
{
    __builtin_prefetch(address, 0, 2);
}

/* ---- client.c -------------------------------------------------------------------------------- */

struct reach_scan;
/* Call when all slabs are open. */
void reach_client_begin(struct reach_scan *r);
bool reach_client_at(const struct reach_heap *h, uint64_t address, struct reach_spot *s);
/* Like reach_read, with client blocks and hidden ranges skipped. */
void reach_client_read(struct reach_scan *r, const reach_word *words, uint64_t count,
                       uint64_t where);
void reach_client_read_block(struct reach_scan *r, struct reach_found f);

/* ---- reach.c --------------------------------------------------------------------------------- */

/* Mark a block as REACHABLE regardless of pointers. */
void reach_mark_reachable(struct reach_scan *r, uint64_t slot, uint64_t start);
/* Find the slot in the heap by its unit, without client blocks. */
bool reach_locate_by_unit(const struct reach_heap *h, uint64_t address, struct reach_spot *s);
/*
 * Slow path of reach_locate: large blocks, client blocks, and slabs of a shape that is not in the
 * table.
 */
bool reach_locate_slow(const struct reach_heap *h, uint64_t address, struct reach_spot *s);

static inline bool reach_locate(const struct reach_scan *r, uint64_t address, struct reach_spot *s)
{
    /* wraps below the heap: one comparison tests both ends */
    uint64_t offset = address - r->heap.base;
    if (offset >= r->heap.bytes)
        return false;
    const struct reach_unit *unit = &r->unit[offset >> RTC_UNIT_SHIFT];
    if (!unit->shape)
        return reach_locate_slow(&r->heap, address, s);
    const struct reach_shape *shape = &r->shape[unit->shape];
    uint64_t in_slab =
        (uint64_t)unit->back << RTC_UNIT_SHIFT | (offset & ((1u << RTC_UNIT_SHIFT) - 1));
    uint64_t slot = (in_slab >> 4) * shape->magic >> 32;
    if (slot >= shape->slots)
        return false;
    s->slot = unit->first + slot;
    s->inside = in_slab - slot * shape->slot_bytes;
    s->start = address - s->inside;
    return true;
}

/* The same, also for client blocks outside of the heap. */
static inline bool reach_locate_anywhere(const struct reach_scan *r, uint64_t address,
                                         struct reach_spot *s)
{
    return reach_locate(r, address, s) || (r->client_high && reach_client_at(&r->heap, address, s));
}

static inline const struct block_record *reach_record_of(const struct reach_slab *slab,
                                                         uint64_t slot)
{
    const char *records = slab->records;
    return (const void *)(records + (slot - slab->first) * slab->stride);
}

static inline const struct reach_slab *reach_slab_at(const struct reach_scan *r, uint64_t slot,
                                                     uint64_t start)
{
    const struct reach_heap *h = &r->heap;
    if (slot + h->client_slabs >= h->slots) /* each client block is a slab */
        return h->slab + (h->slabs - (h->slots - slot));
    return &r->heap.slab[r->heap.slab_of_unit[(start - r->heap.base) >> RTC_UNIT_SHIFT] - 1];
}

static inline const reach_word *reach_memory(uint64_t address)
{
    return (const reach_word *)(uintptr_t)address;
}

/* ---- kinds.c --------------------------------------------------------------------------------- */

/* Upper limit of the number of kinds. */
uint64_t reach_kinds_most(const struct reach_heap *h);
/* The kind of records with this note. */
uint16_t reach_kind(struct reach_scan *r, uint64_t note);
uint64_t reach_note(const struct reach_scan *r, const struct reach_slab *slab, uint64_t word,
                    uint64_t stacks);
/* Like reach_look, for kind 0: reads the record. */
struct reach_block reach_look_up(const struct reach_scan *r, uint64_t slot, uint64_t start);
/* The record's word. */
uint64_t reach_word_of(const struct reach_scan *r, const struct reach_block *b);

static inline struct reach_block reach_look(const struct reach_scan *r, uint64_t slot,
                                            uint64_t start)
{
    uint64_t note = r->kind[r->kind_of[slot]].note;
    if (__builtin_expect(!r->kind_of[slot], 0))
        return reach_look_up(r, slot, start);
    return (struct reach_block){slot, start, note_bytes(note), note};
}

static inline uint32_t reach_stack(const struct reach_block *b)
{
    return (uint32_t)b->note;
}

/* The slab of a slot; fast if the slot is near the previous one. */
const struct reach_slab *reach_slab_of(struct reach_scan *r, uint64_t slot);

/* Is the address inside the requested size of its block? */
bool reach_is_into(const struct reach_scan *r, const struct reach_spot *s);

/* ---- read_words.c ---------------------------------------------------------------------------- */

/* Scan `count` words, the first of which is at `where`. */
void reach_read(struct reach_scan *r, const reach_word *words, uint64_t count, uint64_t where);
/* The same for one word. */
void reach_enter(struct reach_scan *r, uint64_t value, uint64_t where);
/* Then: locate the blocks of all candidates. */
void reach_locate_all(struct reach_scan *r);
/* Visit the candidates, read the blocks of the batch, and locate the candidates found in them. */
void reach_read_batch(struct reach_scan *r);

/* ---- mark.c ---------------------------------------------------------------------------------- */

/* Visit all located candidates. */
void reach_visit_all(struct reach_scan *r);
/* Queue a counted block for the next flood. */
void reach_push(struct reach_scan *r, const struct reach_spot *s, uint64_t bytes);
void reach_wait(struct reach_scan *r, uint64_t slot);
/* Add a block to the batch regardless of the queue. */
void reach_read_block(struct reach_scan *r, const struct reach_block *b);
/* Read queued blocks, and the blocks found from them, until none is left. */
void reach_flood(struct reach_scan *r);

/* ---- groups.c -------------------------------------------------------------------------------- */

/* Count a block that is the first of its kind, or of kind 0: it may be the first of its group. */
uint64_t reach_count_first(struct reach_scan *r, const struct reach_spot *s, enum reach_count c,
                           struct reach_trail t);

/* Count the block at a spot as r->as[c], found by trail `t`.  Return its requested size. */
static inline uint64_t reach_count(struct reach_scan *r, const struct reach_spot *s,
                                   enum reach_count c, struct reach_trail t)
{
    struct reach_kind *k = &r->kind[r->kind_of[s->slot]];
    if (__builtin_expect(!k->counted[c]++, 0))
        return reach_count_first(r, s, c, t);
    return note_bytes(k->note);
}

/* Add the counts of kinds to their groups; call before r->as changes. */
void reach_settle(struct reach_scan *r);

/* Add the blocks found from an owner to the owner's group. */
void reach_count_indirect(struct reach_scan *r, const struct reach_spot *s, struct reach_trail t);

/* ---- cxx_heuristics.c ------------------------------------------------------------------------ */

/* Is a pointer to the end of a block one that new[] returns for an empty array? */
bool reach_is_empty_array(const struct reach_scan *r, const struct reach_block *b, uint64_t inside);

/* Is this an offset at which C++ or an allocator with headers keeps its only pointer to a block? */
bool reach_like_start(const struct reach_scan *r, const struct reach_block *b, uint64_t inside);

#endif
