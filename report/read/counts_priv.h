/*
 * counts_priv.h - blocks and bytes by stack id. A zeroed struct counts is empty.
 */
#ifndef COUNTS_PRIV_H
#define COUNTS_PRIV_H

#include <stdint.h>

struct count {
    uint32_t stack;
    uint64_t blocks;
    uint64_t bytes;
};

struct counts {
    struct count *items;
    uint32_t count;
    uint32_t *slots;     /* index in items + 1; 0 = empty */
    uint32_t slot_count; /* a power of two, at least twice `count` */
};

void counts_add(struct counts *c, uint32_t stack, uint64_t blocks, uint64_t bytes);
/* Remove all items but keep the memory. */
void counts_clear(struct counts *c);
void counts_free(struct counts *c);

#endif
