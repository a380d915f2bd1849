/*
 * reach_here.h - a heap with blocks made by the test, and the leak scan's marking of it.
 *
 *   unit 0      a slab of 16-byte slots       unit 7      nothing
 *   unit 1      a slab of 48-byte slots       unit 8, 9   a large block
 *   unit 2      a slab of 80-byte slots       unit 10     a large block
 *   unit 3-6    a slab of 2560-byte slots     unit 11     a slab of 80-byte slots, all inherited
 *
 * Every block gets its own stack id, so the group with that id has the block's class.
 */
#ifndef REACH_HERE_H
#define REACH_HERE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "leakscan.h"

#include <cmocka.h>

#define UNIT (1u << RTC_UNIT_SHIFT)
#define UNITS 12u
#define SLABS 7u

enum { TINY, SMALL, MIDDLE, WIDE, LARGE, LARGE_TOO, PARENTS };

static const struct {
    uint32_t slot_bytes;
    uint32_t unit;
    uint32_t units;
} shape[SLABS] = {{16, 0, 1}, {48, 1, 1}, {80, 2, 1}, {2560, 3, 4},
                  {0, 8, 2},  {0, 10, 1}, {80, 11, 1}};

static struct {
    _Alignas(1 << RTC_UNIT_SHIFT) unsigned char memory[UNITS * UNIT];
    struct block_record record[SLABS][UNIT / 16];
    struct reach_slab slab[SLABS];
    uint32_t slab_of_unit[UNITS];
    struct reach_heap heap;
    struct reach_rules rules;
    uint32_t blocks;   /* number of blocks made, and stack id of the last */
    uint64_t extra;    /* bytes of scratch memory beyond the minimum */
    uint64_t root[64]; /* at address ROOT_AT */
    uint32_t roots;
    const void *memory_too; /* a root at its real address */
    uint64_t memory_words;
    uint64_t reg[16]; /* register n of thread n + 100 */
    uint32_t regs;
    uint64_t live_reg[4]; /* register n of thread n + 200, which counts as a root */
    uint32_t live_regs;
    struct leak_group *group;
    uint32_t groups;
} here;

#define ROOT_AT 0x7ffd00001000ull
#define ROOT_NUMBER 77u

static inline void here_begin(void)
{
    free(here.group);
    memset(&here, 0, sizeof here);
    here.heap = (struct reach_heap){.base = (uintptr_t)here.memory,
                                    .bytes = sizeof here.memory,
                                    .slab_of_unit = here.slab_of_unit,
                                    .slab = here.slab,
                                    .slabs = SLABS};
    here.rules.mark_since = UINT32_MAX;
    here.extra = 1 << 20;
    for (uint32_t i = 0; i < SLABS; i++) {
        struct reach_slab *s = &here.slab[i];
        for (uint32_t u = 0; u < shape[i].units; u++)
            here.slab_of_unit[shape[i].unit + u] = i + 1;
        s->start = here.heap.base + (uint64_t)shape[i].unit * UNIT;
        s->records = here.record[i];
        s->stride = sizeof here.record[i][0];
        s->slot_bytes = shape[i].slot_bytes;
        s->slots = 1;
        if (s->slot_bytes) {
            s->slots = shape[i].units * UNIT / s->slot_bytes;
            s->magic = ((1ull << 32) + s->slot_bytes / 16 - 1) / (s->slot_bytes / 16);
        }
        s->first = here.heap.slots;
        s->inherited = i == PARENTS;
        here.heap.slots += s->slots;
    }
}

static inline uint64_t here_word(enum block_state state, uint64_t flags, uint64_t mark,
                                 uint64_t bytes)
{
    return (uint64_t)state | flags << BLOCK_FLAGS_SHIFT | mark << BLOCK_MARK_SHIFT |
           7ull << BLOCK_THREAD_SHIFT | bytes << BLOCK_SIZE_SHIFT;
}

/* A live block of `bytes` in a slot, of this image; its stack id is the number of blocks so far. */
static inline uint64_t *here_put(uint32_t slab, uint32_t slot, uint64_t bytes)
{
    struct block_record *b = &here.record[slab][slot];
    if (!here.slab[slab].slot_bytes)
        here.slab[slab].request = bytes;
    atomic_init(&b->word,
                here_word(BLOCK_LIVE, 0, MARK_FIRST, here.slab[slab].slot_bytes ? bytes : 0));
    atomic_init(&b->stacks, (uint64_t)++here.blocks << 32 | 0xdead);
    return (uint64_t *)(uintptr_t)(here.slab[slab].start +
                                   (uint64_t)slot * here.slab[slab].slot_bytes);
}

static inline void here_root(const void *pointer)
{
    here.root[here.roots++] = (uintptr_t)pointer;
}

/* Run the scan and copy the groups exactly; the scratch memory is freed. */
static inline void here_run(void)
{
    if (!here.heap.stacks)
        here.heap.stacks = here.blocks;
    uint64_t bytes = reach_room(&here.heap, true) + here.extra;
    void *scratch = calloc(1, bytes);
    assert_null(reach_begin(scratch, reach_room(&here.heap, true) - 1, &here.heap, &here.rules));
    struct reach_scan *r = reach_begin(scratch, bytes, &here.heap, &here.rules);
    assert_non_null(r);
    reach_root(r, here.root, here.roots, ROOT_AT, ROOT_NUMBER);
    if (here.memory_words)
        reach_root(r, here.memory_too, here.memory_words, (uintptr_t)here.memory_too,
                   ROOT_NUMBER + 1);
    for (uint32_t i = 0; i < here.live_regs; i++)
        reach_live_register(r, here.live_reg[i], i, i + 200);
    reach_inside(r);
    for (uint32_t i = 0; i < here.regs; i++)
        reach_register(r, here.reg[i], i, i + 100);
    reach_lost(r);
    const struct leak_group *groups = reach_groups(r, &here.groups);
    free(here.group);
    here.group = calloc(here.groups + 1, sizeof *here.group);
    memcpy(here.group, groups, here.groups * sizeof *here.group);
    free(scratch);
}

/* The group of a block whose stack id is unique. */
static inline const struct leak_group *here_group(uint32_t stack)
{
    const struct leak_group *found = NULL;
    for (uint32_t i = 0; i < here.groups; i++) {
        if (here.group[i].stack == stack) {
            assert_null(found);
            found = &here.group[i];
        }
    }
    assert_non_null(found);
    return found;
}

static inline void here_end(void)
{
    free(here.group);
    here.group = NULL;
}

#define REACH(stack) (here_group(stack)->reach)

static inline void *here_byte(const uint64_t *block, uint64_t inside)
{
    return (void *)((uintptr_t)block + inside);
}

#endif
