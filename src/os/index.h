/*
 * index.h - numbers found by hash: open addressing, lock-free to read and to add to.
 *
 * What a number means, and whether it is the one looked for, is its owner's business; beside each
 * stand 8 bits of its hash, so that owners seldom have to look at one that it is not.  An index
 * doubles under its owner's lock.  The old one's pages are given back at once: whoever still looks
 * into it finds nothing there, sees that the owner has another one by now, and looks again.
 */
#ifndef INDEX_H
#define INDEX_H

#include "base.h"

struct index {
    uint32_t mask;
    _Atomic uint32_t slot[];
};

#define INDEX_NUMBERS (1u << 24) /* they are below */

/* All empty, made for 7/8 of `slots` (a power of two) numbers; NULL: no memory. */
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

/* What stands there; 0 = nothing, and nothing further on. */
ALWAYS_INLINE uint32_t index_at(const struct index *x, uint32_t at)
{
    return atomic_load_explicit(&x->slot[at], memory_order_acquire); /* pairs with index_put */
}

ALWAYS_INLINE uint32_t index_number(uint32_t slot)
{
    return slot % INDEX_NUMBERS;
}

/* false: its number's hash is another. */
ALWAYS_INLINE bool index_may_be(uint32_t slot, uint64_t hash)
{
    return (slot ^ (uint32_t)hash) < INDEX_NUMBERS;
}

/* false: another thread was faster. */
ALWAYS_INLINE bool index_put(struct index *x, uint32_t at, uint64_t hash, uint32_t number)
{
    uint32_t expected = 0, slot = number | ((uint32_t)hash & ~(INDEX_NUMBERS - 1));
    return atomic_compare_exchange_strong(&x->slot[at], &expected, slot);
}

/* Numbers that may be put into it, all in all: looking for one that is not there ends at a gap. */
ALWAYS_INLINE uint32_t index_limit(const struct index *x)
{
    return x->mask;
}

ALWAYS_INLINE bool index_is_full(const struct index *x, uint32_t numbers)
{
    return !x || numbers >= x->mask - x->mask / 8; /* time to double it */
}

#endif
