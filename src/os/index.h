/*
 * index.h - a lock-free hash table from hashes to numbers: open addressing, linear probing, lookup
 * and insertion without a lock.
 *
 * The owner of an index defines the meaning of its numbers and compares keys.  Each slot holds 8
 * bits of the hash beside the number, so most mismatches are rejected without a look at the key.
 * An index is doubled under its owner's lock.  The pages of the old one are released at once.  A
 * concurrent reader of the old index then finds empty slots.  It compares the owner's pointer with
 * the index it searched and, if they differ, searches again.
 */
#ifndef INDEX_H
#define INDEX_H

#include "base.h"

struct index {
    uint32_t mask;
    _Atomic uint32_t slot[];
};

#define INDEX_NUMBERS (1u << 24) /* numbers are less than this */

/* Make an empty index for 7/8 of `slots` (a power of two) numbers.  NULL: no memory. */
struct index *index_make(uint32_t slots);
void index_retire(struct index *old);
uint64_t index_bytes(const struct index *x);

ALWAYS_INLINE uint32_t index_first(const struct index *x, uint64_t hash)
{
    return (uint32_t)hash & x->mask;
}

ALWAYS_INLINE uint32_t index_next(const struct index *x, uint32_t at)
{
    return (at + 1) & x->mask;
}

/* The content of slot `at`; 0: empty, which ends the probe sequence. */
ALWAYS_INLINE uint32_t index_at(const struct index *x, uint32_t at)
{
    return atomic_load_explicit(&x->slot[at], memory_order_acquire); /* pairs with index_put */
}

ALWAYS_INLINE uint32_t index_number(uint32_t slot)
{
    return slot % INDEX_NUMBERS;
}

/* false: the hash of the slot's number differs. */
ALWAYS_INLINE bool index_may_be(uint32_t slot, uint64_t hash)
{
    return (slot ^ (uint32_t)hash) < INDEX_NUMBERS;
}

/* false: another thread has filled the slot first. */
ALWAYS_INLINE bool index_put(struct index *x, uint32_t at, uint64_t hash, uint32_t number)
{
    uint32_t expected = 0, slot = number | ((uint32_t)hash & ~(INDEX_NUMBERS - 1));
    return atomic_compare_exchange_strong(&x->slot[at], &expected, slot);
}

/* Most numbers the index may hold: one slot stays empty, so that every unsuccessful search ends. */
ALWAYS_INLINE uint32_t index_limit(const struct index *x)
{
    return x->mask;
}

ALWAYS_INLINE bool index_is_full(const struct index *x, uint32_t numbers)
{
    return !x || numbers >= x->mask - x->mask / 8; /* time to double it */
}

#endif
