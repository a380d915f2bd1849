/*
 * byte_shadow.c - the shadow of the heap: redzones, freed blocks and slots that were never allocated.
 *
 * Its 16 TiB are reserved, and inaccessible but for the shadow of three kinds of memory:
 *
 *   - the heap: readable and writable;
 *   - addresses at which programs usually have memory (usual[]): a page of zeros;
 *   - other addresses: opened by the fault of the first check that reads it, in pieces of OPENED_BYTES,
 *     writable, since a piece may contain shadow of the heap or of memory that the program has poisoned.
 *
 * So wild pointers into the shadow fault as they do without it, in the program, in libc and in the
 * kernel; and of a check of such a pointer, too, since the shadow of the shadow is never opened.
 *
 * Shadow that becomes 0 is released by the page if it is large: a block of 1 GiB has 128 MiB of it.
 */
#include "heap_priv.h"
#include "byte_shadow.h"
#include "format/plan.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define GRANULE 8u
#define RELEASED_MIN (64u << 10)

bool byte_shadow_is_on;

static uint8_t *shadow_of(uintptr_t at)
{
    return (uint8_t *)(at / GRANULE + PLAN_SHADOW);
}

/* Executables with fixed addresses; position-independent ones, and brk; mappings and stacks. */
static const struct {
    uintptr_t start, end;
} usual[] = {{0, PLAN_SHADOW}, {0x550000000000, 0x570000000000}, {0x700000000000, ADDRESSES_END}};

#define SHADOW_END (PLAN_SHADOW + BYTE_SHADOW_BYTES)
#define HEAP_BYTES_LEAST (1ull << 40) /* it may grow */
#define OPENED_BYTES (1ull << 32)

bool byte_shadow_contains(uintptr_t at)
{
    return byte_shadow_is_on && at - PLAN_SHADOW < BYTE_SHADOW_BYTES;
}

/* The shadow of [first, end): whole pages of it. */
static int open_shadow(uintptr_t first, uintptr_t end, int protection)
{
    uint8_t *from = shadow_of(align_down(first, GRANULE * PAGE_BYTES));
    return os_protect(from, (size_t)(shadow_of(end) - from), protection);
}

bool byte_shadow_open(uintptr_t at)
{
    uintptr_t covered = (at - PLAN_SHADOW) * GRANULE,
              first = align_down(covered, GRANULE * OPENED_BYTES),
              end = first + GRANULE * OPENED_BYTES;
    if (!byte_shadow_contains(at) || byte_shadow_contains(covered) || os_sandboxed())
        return false;
    if (byte_shadow_contains(first))
        first = SHADOW_END;
    return !open_shadow(first, end < ADDRESSES_END ? end : ADDRESSES_END, PROT_READ | PROT_WRITE);
}

static int open_heaps_shadow(void)
{
    uintptr_t end = heap_space_end();
    if (end < heap.base + HEAP_BYTES_LEAST)
        end = heap.base + HEAP_BYTES_LEAST;
    return open_shadow(heap.base, end < ADDRESSES_END ? end : ADDRESSES_END,
                       PROT_READ | PROT_WRITE);
}

int byte_shadow_start(void)
{
    void *at = os_reserve((void *)(uintptr_t)PLAN_SHADOW, BYTE_SHADOW_BYTES, true);
    if (os_failed(at))
        return -ENOMEM;
    os_no_huge(at, BYTE_SHADOW_BYTES);
    os_dont_dump(at, BYTE_SHADOW_BYTES);
    int err = 0;
    for (unsigned i = 0; i < countof(usual) && !err; i++)
        err = open_shadow(usual[i].start, usual[i].end, PROT_READ);
    if (!err)
        err = open_heaps_shadow();
    byte_shadow_is_on = !err;
    return err;
}

/* Whole pages become zero pages, if there are enough to be worth a system call. */
static void clear(uint8_t *from, uint8_t *to)
{
    uint8_t *first = (uint8_t *)align_up((uintptr_t)from, PAGE_BYTES),
            *end = (uint8_t *)align_down((uintptr_t)to, PAGE_BYTES);
    if (to - from < (ptrdiff_t)RELEASED_MIN || os_release(first, (size_t)(end - first))) {
        memset(from, 0, (size_t)(to - from));
        return;
    }
    memset(from, 0, (size_t)(first - from));
    memset(end, 0, (size_t)(to - end));
}

void byte_shadow_allow(const void *block, uint64_t bytes, const void *end)
{
    uintptr_t start = (uintptr_t)block, last = start + bytes;
    uint8_t *at = shadow_of(last);
    clear(shadow_of(start), at);
    if (last % GRANULE)
        *at++ = last % GRANULE;
    if (at < shadow_of((uintptr_t)end))
        memset(at, BYTE_SHADOW_REDZONE, (size_t)(shadow_of((uintptr_t)end) - at));
}

void byte_shadow_forbid(const void *at, uint64_t bytes, unsigned why)
{
    uint8_t *from = shadow_of((uintptr_t)at),
            *to = shadow_of(align_up((uintptr_t)at + bytes, GRANULE));
    memset(from, (int)why, (size_t)(to - from));
}

void block_allow(const void *block, uint64_t bytes)
{
    struct found f = pool_find(block);
    const char *end = NULL;
    if (is_slab(f.kind) && !is_reserve(f.kind))
        end = (const char *)block - f.offset + size_class[f.kind - 1].slot_bytes;
    else if (f.kind == UNIT_LARGE)
        end = (const char *)unit_address(f.head) + note_of(f.head)->units * (uint64_t)UNIT_BYTES;
    if (end)
        byte_shadow_allow(block, bytes, end);
}
