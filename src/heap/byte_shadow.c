/*
 * byte_shadow.c - the shadow of the heap: redzones, freed blocks and slots that were never allocated.
 *
 * The whole shadow is one mapping of 16 TiB without memory, so that checks of any address can read it:
 * outside of the heap it is a page of zeros.  The shadow of the shadow itself is part of it.
 *
 * Shadow that becomes 0 is released by the page if it is large: a block of 1 GiB has 128 MiB of it.
 */
#include "heap_priv.h"
#include "byte_shadow.h"
#include "format/plan.h"

#include <errno.h>
#include <string.h>

#define GRANULE 8u
#define RELEASED_MIN (64u << 10)

bool byte_shadow_is_on;

static uint8_t *shadow_of(uintptr_t at)
{
    return (uint8_t *)(at / GRANULE + PLAN_SHADOW);
}

int byte_shadow_start(void)
{
    void *at = os_reserve((void *)(uintptr_t)PLAN_SHADOW, BYTE_SHADOW_BYTES, true);
    if (os_failed(at))
        return -ENOMEM;
    os_no_huge(at, BYTE_SHADOW_BYTES);
    os_dont_dump(at, BYTE_SHADOW_BYTES);
    int err = os_allow(at, BYTE_SHADOW_BYTES);
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
