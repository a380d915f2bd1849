/*
 * bootstrap.c - an allocator for calls before start-up: from the loader, and from constructors of
 * other libraries that run before the environment can be read.
 *
 * A bump arena: its blocks are recognised by address and never reused.  Their sizes are in a
 * parallel table, one entry per granule, for realloc and malloc_usable_size.
 */
#include "heap.h"

#define ARENA_BYTES (256u << 10)
#define GRANULE 16u

static _Alignas(4096) char arena[ARENA_BYTES];
static uint32_t request_of[ARENA_BYTES / GRANULE];
static _Atomic size_t used;

void *bootstrap_take(size_t request, size_t align)
{
    if (align < GRANULE)
        align = GRANULE;
    if (request >= ARENA_BYTES || align > PAGE_BYTES)
        return NULL;
    size_t seen = atomic_load_explicit(&used, memory_order_relaxed), start, end;
    do {
        start = align_up(seen, align);
        end = start + align_up(request + 1, GRANULE);
        if (end > ARENA_BYTES)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&used, &seen, end, memory_order_relaxed,
                                                    memory_order_relaxed));
    request_of[start / GRANULE] = (uint32_t)request;
    return arena + start;
}

bool bootstrap_owns(const void *p)
{
    return (uintptr_t)p - (uintptr_t)arena < ARENA_BYTES;
}

void bootstrap_range(uintptr_t *start, uintptr_t *end)
{
    *start = (uintptr_t)arena;
    *end = *start + atomic_load_explicit(&used, memory_order_relaxed);
}

size_t bootstrap_request(const void *p)
{
    return request_of[((uintptr_t)p - (uintptr_t)arena) / GRANULE];
}
