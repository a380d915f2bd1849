/*
 * reach_priv.h - what the files of the leak check's marking know of each other and nobody else does.
 */
#ifndef REACH_PRIV_H
#define REACH_PRIV_H

#include "shadow.h"

#define REACH_BATCH 32u       /* blocks that are read together */
#define REACH_CANDIDATES 128u /* pointers that are looked at together */

/* The program's memory: whatever it stored there, it is read as words. */
typedef uint64_t __attribute__((may_alias)) reach_word;

/*
 * Where a pointer lies: its address and, in the three bits below, the enum witness that says whose
 * that is.  Register n: n << 3 | WITNESS_REGISTER.
 */
#define WHERE_KIND 7ull

/* The slot that an address falls into. */
struct reach_spot {
    uint64_t slot; /* of all */
    uint64_t start;
    uint64_t inside; /* bytes from there */
};

/* A pointer into some block. */
struct reach_candidate {
    struct reach_spot spot;
    uint64_t where;
};

/* What is to be read of a block that is counted. */
struct reach_found {
    uint64_t start;
    uint64_t bytes;
};

/* What was seen to point to a block. */
struct reach_trail {
    uint64_t where;
    uint64_t pointer; /* how far inside << 24 | number of the root, or of the register's thread */
};

#define TRAIL_NUMBER_BITS 24

static inline uint64_t trail_pointer(uint64_t inside, uint32_t number)
{
    return inside << TRAIL_NUMBER_BITS | (number & ((1u << TRAIL_NUMBER_BITS) - 1));
}

/* What is done with a pointer into a block that is still open. */
enum reach_step {
    STEP_REACHABLE, /* to its start: held.  To its inside: remembered */
    STEP_INDIRECT,  /* found, wherever it points */
    STEP_COUNT,     /* the block is led to by another one */
    STEP_CYCLE,     /* found if it is led to, for the moment */
};

/* Of a unit of the heap, what is needed to find the slot. */
struct reach_unit {
    uint32_t first;
    uint16_t back;  /* units, to the start of its slab */
    uint16_t shape; /* 0: not in the table */
};

struct reach_shape {
    uint64_t magic;
    uint32_t slot_bytes;
    uint32_t slots;
};

#define SHAPES 64u

/*
 * What the marking needs of a record: the stack that allocated in the lower half, then the bytes asked
 * for and bits.
 */
#define NOTE_BYTES_SHIFT 32
#define NOTE_BYTES_MASK ((1ull << 24) - 1)
#define NOTE_LARGE (1ull << 56)     /* its slab says how many bytes */
#define NOTE_UNCOUNTED (1ull << 57) /* inherited: its record may be the parent's, or not known */
#define NOTE_NEW (1ull << 58)

/* What a walk counts: what it begins at, and what it comes to. */
enum reach_count { COUNT_OWNER, COUNT_FOUND, COUNTS };

/* All blocks of which the same is to be noted. */
struct reach_kind {
    uint64_t note;
    uint32_t counted[COUNTS]; /* and not yet in their group */
};

#define KINDS_MAX UINT16_MAX /* kind 0 is none */

struct reach_scan {
    struct reach_heap heap;
    struct reach_rules rules;
    enum reach_step step;
    enum reach as[COUNTS];    /* what is counted now */
    uint32_t root;            /* number of the one that is being read */
    uint64_t origin;          /* STEP_CYCLE: slot of the block that the walk began at */
    uint64_t indirect_blocks; /* found behind the owner that the walk began at */
    uint64_t indirect_bytes;

    struct reach_unit *unit;
    struct reach_shape shape[SHAPES];

    struct reach_kind *kind;
    uint16_t *kind_at; /* by hash; 0: none */
    uint32_t kind_mask;
    uint32_t kinds, kinds_max;

    /* Of each slot: its kind, 0: its record says it, and bits */
    uint16_t *kind_of;
    uint64_t *open;      /* live, and not yet known how it is reached */
    uint64_t *inside;    /* remembered: by the step, see reach.c */
    uint64_t *waiting;   /* counted, and still to be read: found when the queue was full */
    uint64_t bits;       /* of each of the three */
    uint64_t slow_bytes; /* blocks of so many are read by reach_client.c */
    uint64_t client_low, client_high; /* around blocks outside of the heap; 0: there are none */
    struct reach_trail *trail;        /* valid for some that are remembered */
    uint32_t slab;                    /* that the last slot looked for was in */
    uint64_t waiting_count;
    uint64_t waiting_from; /* word in which the last one was */

    /* reach_groups.c */
    struct leak_group *group;
    uint32_t *group_of; /* by hash: number + 1, 0 = none */
    uint32_t group_mask;
    uint32_t groups;
    uint32_t groups_max;

    /* reach_flood.c: counted and not yet read; on their way; seen there */
    struct reach_found *queue; /* queue_mask + 1 at most */
    uint64_t queue_next, queue_end;
    uint64_t queue_mask, queue_left; /* that may enter now */
    uint64_t many;                   /* that wait: all go there */
    uint32_t batched, candidates;
    struct reach_found batch[REACH_BATCH];
    struct reach_candidate candidate[REACH_CANDIDATES];
};

static inline uint64_t note_bytes(uint64_t note)
{
    return note >> NOTE_BYTES_SHIFT & NOTE_BYTES_MASK;
}

/* A block, and what is noted of it. */
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
 * Into the second cache: the first has few places for what is on its way, and while they are all
 * taken the processor waits, which doubled the time of everything.
 */
static inline void reach_prefetch(const void *address)
{
    __builtin_prefetch(address, 0, 2);
}

/* ---- reach_client.c --------------------------------------------------------------------------- */

struct reach_scan;
/* When all slabs are open. */
void reach_client_begin(struct reach_scan *r);
bool reach_client_at(const struct reach_heap *h, uint64_t address, struct reach_spot *s);
/* As reach_read, where not all of it may be searched. */
void reach_client_read(struct reach_scan *r, const reach_word *words, uint64_t count,
                       uint64_t where);
void reach_client_read_block(struct reach_scan *r, struct reach_found f);

/* ---- reach.c --------------------------------------------------------------------------------- */

/* In use, whoever points to it. */
void reach_mark_reachable(struct reach_scan *r, uint64_t slot, uint64_t start);
/* The slot of a slab or large block of the heap. */
bool reach_locate_by_unit(const struct reach_heap *h, uint64_t address, struct reach_spot *s);
/* Falls it into a large block, one that lies apart, or into a slab of a shape that is not in the table? */
bool reach_locate_slow(const struct reach_heap *h, uint64_t address, struct reach_spot *s);

static inline bool reach_locate(const struct reach_scan *r, uint64_t address, struct reach_spot *s)
{
    uint64_t offset = address - r->heap.base; /* wraps below the heap: one test for both ends */
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

/* The same where it may be outside of the heap. */
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
    if (slot + h->client_slabs >= h->slots) /* each is a slab */
        return h->slab + (h->slabs - (h->slots - slot));
    return &r->heap.slab[r->heap.slab_of_unit[(start - r->heap.base) >> RTC_UNIT_SHIFT] - 1];
}

static inline const reach_word *reach_memory(uint64_t address)
{
    return (const reach_word *)(uintptr_t)address;
}

/* ---- reach_kinds.c --------------------------------------------------------------------------- */

/* Room in the table for all kinds that there may be. */
uint64_t reach_kinds_most(const struct reach_heap *h);
/* The kind of a record that says this. */
uint16_t reach_kind(struct reach_scan *r, uint64_t note);
uint64_t reach_note(const struct reach_scan *r, const struct reach_slab *slab, uint64_t word,
                    uint64_t stacks);
/* As reach_look; of kind 0. */
struct reach_block reach_look_up(const struct reach_scan *r, uint64_t slot, uint64_t start);
/* All that its record says. */
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

/* The slab that a slot is in; the next one asked for is best one near by. */
const struct reach_slab *reach_slab_of(struct reach_scan *r, uint64_t slot);

/* Does the pointer that led to this spot point into its block? */
bool reach_is_into(const struct reach_scan *r, const struct reach_spot *s);

/* ---- reach_read.c ---------------------------------------------------------------------------- */

/* Looks at `count` words, the first of which lies at `where`. */
void reach_read(struct reach_scan *r, const reach_word *words, uint64_t count, uint64_t where);
/* The same with a word that was found otherwise. */
void reach_enter(struct reach_scan *r, uint64_t value, uint64_t where);
/* Then: looks up what they all point to. */
void reach_locate_all(struct reach_scan *r);
/* All of that with the blocks of the batch, when what was looked at before is seen. */
void reach_read_batch(struct reach_scan *r);

/* ---- reach_flood.c --------------------------------------------------------------------------- */

/* Sees what was looked up. */
void reach_visit_all(struct reach_scan *r);
/* Counted, and to be read by the next flood. */
void reach_push(struct reach_scan *r, const struct reach_spot *s, uint64_t bytes);
void reach_wait(struct reach_scan *r, uint64_t slot);
/* Reads a block, whatever else waits. */
void reach_read_block(struct reach_scan *r, const struct reach_block *b);
/* Reads what was found, and what is found by that, until there is nothing more. */
void reach_flood(struct reach_scan *r);

/* ---- reach_groups.c -------------------------------------------------------------------------- */

/* The first of its kind, or one of kind 0: it may be the first of its group. */
uint64_t reach_count_first(struct reach_scan *r, const struct reach_spot *s, enum reach_count c,
                           struct reach_trail t);

/* Counts the block that a spot is in as r->as[c], by what `t` says.  Returns the bytes asked for. */
static inline uint64_t reach_count(struct reach_scan *r, const struct reach_spot *s,
                                   enum reach_count c, struct reach_trail t)
{
    struct reach_kind *k = &r->kind[r->kind_of[s->slot]];
    if (__builtin_expect(!k->counted[c]++, 0))
        return reach_count_first(r, s, c, t);
    return note_bytes(k->note);
}

/* What was counted goes into its groups: before r->as changes. */
void reach_settle(struct reach_scan *r);

/* Counts what was found behind an owner, in the group that it is counted in. */
void reach_count_indirect(struct reach_scan *r, const struct reach_spot *s, struct reach_trail t);

/* ---- reach_cxx.c ----------------------------------------------------------------------------- */

/* Is a pointer right behind a block what new[] gives for an array of nothing? */
bool reach_is_empty_array(const struct reach_scan *r, const struct reach_block *b, uint64_t inside);

/* Is a pointer that far inside a block what C++ and allocators with headers keep instead of its start? */
bool reach_like_start(const struct reach_scan *r, const struct reach_block *b, uint64_t inside);

#endif
