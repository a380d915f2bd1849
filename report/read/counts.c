/*
 * counts.c - blocks and bytes by stack id: a hash table with open addressing.
 */
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "counts_priv.h"

static uint32_t counts_slot(const struct counts *c, uint32_t stack)
{
    uint32_t i = (stack * 0x9e3779b1u) & (c->slot_count - 1);

    while (c->slots[i] != 0 && c->items[c->slots[i] - 1].stack != stack)
        i = (i + 1) & (c->slot_count - 1);
    return i;
}

static void counts_widen(struct counts *c)
{
    c->slot_count = c->slot_count ? 2 * c->slot_count : 64;
    free(c->slots);
    c->slots = xalloc(calloc(c->slot_count, sizeof c->slots[0]));
    for (uint32_t i = 0; i < c->count; i++)
        c->slots[counts_slot(c, c->items[i].stack)] = i + 1;
}

void counts_add(struct counts *c, uint32_t stack, uint64_t blocks, uint64_t bytes)
{
    uint32_t slot;

    if (2 * (uint64_t)c->count >= c->slot_count)
        counts_widen(c);
    slot = counts_slot(c, stack);
    if (c->slots[slot] == 0) {
        c->items = grow(c->items, c->count, sizeof c->items[0]);
        c->items[c->count] = (struct count){.stack = stack};
        c->slots[slot] = ++c->count;
    }
    c->items[c->slots[slot] - 1].blocks += blocks;
    c->items[c->slots[slot] - 1].bytes += bytes;
}

void counts_clear(struct counts *c)
{
    c->count = 0;
    if (c->slots)
        memset(c->slots, 0, c->slot_count * sizeof c->slots[0]);
}

void counts_free(struct counts *c)
{
    free(c->items);
    free(c->slots);
}
