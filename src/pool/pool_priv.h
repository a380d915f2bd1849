/*
 * pool_priv.h - what the files of pool know of each other and nobody else does.
 */
#ifndef POOL_PRIV_H
#define POOL_PRIV_H

#include "pool.h"

#define SLOT_WORDS (SLOTS_MAX / 64)

/* Private table beside heap.unit, indexed the same way; meaning depends on the head's kind. */
struct unit_note {
    uint32_t next, prev; /* list of partly free slabs, or of free runs; unit numbers, 0 = end */
    uint16_t free_slots; /* slab: bits set below */
    uint8_t listed;      /* slab: is it in the list of its class? */
    uint8_t dirty;       /* free run: may hold other than zeros */
    uint32_t hint;       /* slab: first word that may have a bit */
    uint64_t free[SLOT_WORDS]; /* slab: free slots */
};

extern struct unit_note *unit_note;

ALWAYS_INLINE uint32_t unit_number(const struct unit *u)
{
    return (uint32_t)(u - heap.unit);
}

ALWAYS_INLINE struct unit_note *note_of(const struct unit *u)
{
    return unit_note + (u - heap.unit);
}

#endif
