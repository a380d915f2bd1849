/*
 * reach_priv.h - what the files of the leak check's marking know of each other and nobody else does.
 */
#ifndef REACH_PRIV_H
#define REACH_PRIV_H

#include "shadow.h"

#define REACH_AHEAD 32u /* blocks, and pointers, whose lines are on their way while another is read */

/* The program's memory: whatever it stored there, it is read as words. */
typedef uint64_t __attribute__((may_alias)) reach_word;

/*
 * Where a pointer lies: its address and, in the three bits below, the enum witness that says whose
 * that is.  Register n: n << 3 | WITNESS_REGISTER.
 */
#define WHERE_KIND 7ull

/* A word that may be a pointer. */
struct reach_candidate {
    uint64_t value;
    uint64_t where;
};

/* A block that was found, or, with no witness, one that is counted: read it from byte `where` on. */
struct reach_found {
    uint64_t where;
    uint32_t slab;
    uint32_t slot; /* of the slab */
};

/* What was seen to point to a block. */
struct reach_trail {
    uint64_t where;
    uint64_t pointer; /* how far inside << 24 | number of the root, or of the register's thread */
};

#define TRAIL_NUMBER_BITS 24
#define TRAIL_READ UINT64_MAX /* pointer: read it again where it lies, it is still there */

static inline uint64_t trail_pointer(uint64_t inside, uint32_t number)
{
    return inside << TRAIL_NUMBER_BITS | (number & ((1u << TRAIL_NUMBER_BITS) - 1));
}

/* What is done with a pointer into a block that is still open. */
enum reach_step {
    STEP_HELD,   /* to its start: held.  To its inside: remembered */
    STEP_BEHIND, /* found, wherever it points */
    STEP_COUNT,  /* the block is led to by another one */
    STEP_CIRCLE, /* found if it is led to, for the moment */
};

struct reach_scan {
    struct reach_heap heap;
    struct reach_rules rules;
    enum reach_step step;
    enum reach as;         /* what is found now */
    const uint64_t *words; /* of the root that is being read, */
    uint64_t words_at;     /* where they lie, */
    uint32_t root;         /* and its number */
    uint64_t origin;       /* STEP_COUNT: bit of the block that is read; STEP_CIRCLE: of the first */
    uint64_t behind_blocks; /* found behind the owner that the walk began at */
    uint64_t behind_bytes;

    /* A bit for each 16 bytes of the heap, which says something of the block that starts there */
    uint64_t *open;    /* live, and not yet known how it is reached */
    uint64_t *inside;  /* remembered: by the step, see reach.c */
    uint64_t *waiting; /* counted, and still to be read: found when the stack was full */
    uint64_t bits;     /* of each of the three */
    struct reach_trail *trail; /* for each slot; valid for some that are remembered */
    uint64_t waiting_count;
    uint64_t waiting_from; /* no bit below it waits */

    /* reach_groups.c */
    struct leak_group *group;
    uint32_t *group_of; /* by hash: number + 1, 0 = none */
    uint32_t group_mask;
    uint32_t groups;
    uint32_t groups_max;

    /* reach_flood.c: seen, found and not yet read */
    struct reach_candidate candidate[REACH_AHEAD];
    uint32_t candidates;
    struct reach_found ring[REACH_AHEAD];
    uint32_t ring_next;
    uint32_t ring_count;
    struct reach_found *stack;
    uint64_t depth;
    uint64_t depth_max;
};

/* A block, and what its record says. */
struct reach_block {
    const struct reach_slab *slab;
    uint32_t slot;
    uint64_t start;
    uint64_t request;
    uint64_t word;
    uint32_t stack;
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

/* The slot that an address falls into. */
struct reach_spot {
    uint32_t slab;
    uint32_t slot;   /* of the slab */
    uint64_t bit;    /* of its start */
    uint64_t inside; /* bytes from there */
};

static inline bool reach_locate(const struct reach_heap *h, uint64_t address, struct reach_spot *s)
{
    uint64_t offset = address - h->base; /* wraps below the heap: one test for both ends */
    if (offset >= h->bytes)
        return false;
    uint32_t number = h->slab_of_unit[offset >> RTC_UNIT_SHIFT];
    if (!number)
        return false;
    const struct reach_slab *slab = h->slab + (number - 1);
    uint64_t in_slab = address - slab->start;
    uint64_t slot = slab->slot_bytes ? (in_slab >> 4) * slab->magic >> 32 : 0;
    if (slot >= slab->slots)
        return false;
    s->slab = number - 1;
    s->slot = (uint32_t)slot;
    s->inside = in_slab - slot * slab->slot_bytes;
    s->bit = (offset - s->inside) >> 4;
    return true;
}

static inline const struct block_record *reach_record(const struct reach_slab *slab, uint32_t slot)
{
    return (const struct block_record *)((uintptr_t)slab->records + (uintptr_t)slot * slab->stride);
}

static inline const reach_word *reach_memory(uint64_t address)
{
    return (const reach_word *)(uintptr_t)address;
}

static inline struct reach_trail *reach_trail_of(const struct reach_scan *r, uint32_t slab, uint32_t slot)
{
    return &r->trail[r->heap.slab[slab].first + slot];
}

static inline struct reach_block reach_look(const struct reach_scan *r, uint32_t slab, uint32_t slot)
{
    struct reach_block b = {.slab = &r->heap.slab[slab], .slot = slot};
    uint64_t stacks;
    (void)block_read(reach_record(b.slab, slot), &b.word, &stacks);
    b.stack = (uint32_t)(stacks >> 32);
    b.start = b.slab->start + (uint64_t)slot * b.slab->slot_bytes;
    b.request = b.slab->request;
    if (b.slab->slot_bytes) /* of an inherited one it is not known: all of it may be used */
        b.request = word_state(b.word) == BLOCK_INHERITED ? b.slab->slot_bytes - 1 : word_size(b.word);
    return b;
}

/* Its record may be the parent's, or what the child could not copy. */
static inline bool reach_is_inherited(const struct reach_block *b)
{
    return b->slab->inherited || word_state(b->word) == BLOCK_INHERITED ||
           word_mark(b->word) == MARK_INHERITED;
}

/* Does the pointer that led to this spot point into its block? */
bool reach_is_into(const struct reach_scan *r, const struct reach_spot *s);

/* ---- reach_flood.c ------------------------------------------------------------------------------ */

/* Looks at `count` words, the first of which lies at `where`.  What they point to is seen later. */
void reach_read(struct reach_scan *r, const reach_word *words, uint64_t count, uint64_t where);
/* Until all that was looked at is seen. */
void reach_see_all(struct reach_scan *r);
/* Found, and to be read by the next flood. */
void reach_push(struct reach_scan *r, struct reach_found f);
/* Counted already, and to be read by the next flood. */
void reach_wait(struct reach_scan *r, uint64_t bit);
/* Reads what was found, and what is found by that, until there is nothing more. */
void reach_flood(struct reach_scan *r);

/* ---- reach_groups.c ------------------------------------------------------------------------------ */

/* Counts a block that is reached like that, by what `t` says. */
void reach_count(struct reach_scan *r, const struct reach_block *b, enum reach as, struct reach_trail t);
/* Counts what was found behind it, which is counted in the same group. */
void reach_count_behind(struct reach_scan *r, const struct reach_block *b, enum reach as,
                        struct reach_trail t);

/* ---- reach_cxx.c ---------------------------------------------------------------------------------- */

/* Is a pointer right behind a block what new[] gives for an array of nothing? */
bool reach_is_empty_array(const struct reach_block *b, uint64_t inside);

/* Is a pointer that far inside a block what C++ and allocators with headers keep instead of its start? */
bool reach_like_start(const struct reach_rules *rules, const struct reach_block *b, uint64_t inside);

#endif
