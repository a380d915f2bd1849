/*
 * poison.c - memory that the program itself has poisoned, e.g. the free parts of an arena.
 *
 * Poison is a value of byte shadow, so it exists only with --access=full.  A granule whose end is poisoned
 * has the number of bytes before the poison; one whose start is poisoned and whose end is not cannot be
 * described, and stays accessible.  The shadow of memory outside of the heap is made writable when it is
 * poisoned for the first time.
 *
 * Two threads that poison parts of one granule at the same time race, as with ASan.
 */
#include "heap_priv.h"
#include "byte_shadow.h"
#include "format/plan.h"

#include <sys/mman.h>

#define GRANULE 8u
#define REGION_MOST (1ull << 40)

_Atomic bool byte_shadow_has_poison;

static uint8_t *shadow_of(uintptr_t at)
{
    return (uint8_t *)(at / GRANULE + PLAN_SHADOW);
}

/* Some bytes of the granule are accessible. */
static bool is_open(uint8_t shadow)
{
    return shadow < GRANULE;
}

static bool is_memory(uintptr_t at, uint64_t bytes)
{
    return byte_shadow_is_on && bytes && bytes <= REGION_MOST && at < ADDRESSES_END &&
           bytes <= ADDRESSES_END - at && !byte_shadow_contains(at) &&
           !byte_shadow_contains(at + bytes - 1);
}

static bool is_in_heap(uintptr_t at, uint64_t bytes)
{
    return at >= heap.base && at + bytes <= heap_space_end();
}

static bool make_writable(uintptr_t at, uint64_t bytes)
{
    uintptr_t first = align_down((uintptr_t)shadow_of(at), PAGE_BYTES),
              end = align_up((uintptr_t)shadow_of(at + bytes - 1) + 1, PAGE_BYTES);
    if (is_in_heap(at, bytes))
        return true;
    return !os_sandboxed() && !os_protect((void *)first, end - first, PROT_READ | PROT_WRITE);
}

static bool may_be_poisoned(uintptr_t at, uint64_t bytes)
{
    return atomic_load_explicit(&byte_shadow_has_poison, memory_order_relaxed) &&
           is_memory(at, bytes);
}

/* The granule has `kept` bytes before the poison, which reaches to its end. */
static void poison_granule(uint8_t *s, uint8_t kept)
{
    if (is_open(*s) && (*s == 0 || *s > kept))
        *s = kept ? kept : BYTE_SHADOW_POISONED;
}

void byte_shadow_poison(uintptr_t at, uint64_t bytes)
{
    uintptr_t end = at + bytes;
    uint8_t *s = shadow_of(at), *last = shadow_of(end), tail = end % GRANULE;
    if (!is_memory(at, bytes) || !make_writable(at, bytes))
        return;
    atomic_store_explicit(&byte_shadow_has_poison, true, memory_order_relaxed);
    for (; s < last; s++, at = align_down(at, GRANULE) + GRANULE)
        poison_granule(s, at % GRANULE);
    if (tail && is_open(*last) && *last && *last <= tail) /* nothing accessible follows */
        poison_granule(last, at % GRANULE);
}

/* Its first bytes become accessible; 0: all. */
static void unpoison_granule(uint8_t *s, uint8_t first)
{
    bool is_less = is_open(*s) && *s && (first == 0 || *s < first);
    if (*s == BYTE_SHADOW_POISONED || is_less)
        *s = first;
}

#define PAGE_COVERS ((uintptr_t)GRANULE * PAGE_BYTES)

/* Shadow outside of the heap's may be closed: then nothing there was poisoned. */
static bool is_closed(uintptr_t at)
{
    return !is_in_heap(at, 1) && !os_is_readable((uintptr_t)shadow_of(at));
}

/* The first granule from `granule` on whose shadow can be read; the one before it could be, or there is none. */
static uintptr_t next_open(uintptr_t granule, uintptr_t at)
{
    while ((granule <= at || granule % PAGE_COVERS == 0) && is_closed(granule))
        granule = align_down(granule, PAGE_COVERS) + PAGE_COVERS;
    return granule;
}

void byte_shadow_unpoison(uintptr_t at, uint64_t bytes)
{
    uintptr_t end = at + bytes, granule = align_down(at, GRANULE);
    if (!may_be_poisoned(at, bytes))
        return;
    for (; (granule = next_open(granule, at)) < end; granule += GRANULE) {
        uint8_t *s = shadow_of(granule);
        if (*s) /* no writes to shadow that was never poisoned */
            unpoison_granule(s, end - granule < GRANULE ? end % GRANULE : 0);
    }
}

/* The first poisoned byte of a granule, which may be before `at`; 0: none. */
static uintptr_t poison_in(uintptr_t granule)
{
    uint8_t s = *shadow_of(granule);
    return s == BYTE_SHADOW_POISONED ? granule : is_open(s) && s ? granule + s : 0;
}

uint64_t byte_shadow_unpoisoned(uintptr_t at, uint64_t bytes)
{
    uintptr_t end = at + bytes, granule = align_down(at, GRANULE);
    if (!may_be_poisoned(at, bytes))
        return bytes;
    for (; (granule = next_open(granule, at)) < end; granule += GRANULE) {
        uintptr_t poisoned = poison_in(granule);
        if (poisoned && poisoned < end)
            return poisoned > at ? poisoned - at : 0;
    }
    return bytes;
}
