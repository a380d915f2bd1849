/*
 * uninitialised.h - reads of memory that was not written since its allocation (uninitialised.c).
 */
#ifndef UNINITIALISED_H
#define UNINITIALISED_H

#include "heap.h"
#include "unwinder.h"

/* What a call has read: `bytes` of `length` from `start` on are uninitialised. */
struct uninitialised {
    uintptr_t start; /* 0: an argument, in a register or on the stack */
    uint64_t length;
    uintptr_t first; /* the first uninitialised byte */
    uint64_t bytes;
    uintptr_t block; /* to which they belong, or from which they were copied */
};

/*
 * The call `at` of the function `entry` has read `bytes` at `p`: search them for the fill of new blocks
 * (--malloc-fill=block), and record an error.  They can be read.  Preserves errno.  In a handler that
 * interrupted a section the error is only counted.
 */
void uninitialised_search(const void *p, uint64_t bytes, uint32_t entry, const struct entry *at);

/* The same, of memory that may be unreadable: that part is not searched, and in a sandbox nothing. */
void uninitialised_search_any(const void *p, uint64_t bytes, uint32_t entry,
                              const struct entry *at);

/* The same, of an argument. */
void uninitialised_value(uint64_t value, uint32_t entry, const struct entry *at);

#endif
