/*
 * guarded_stacks.c - guard the blocks of given allocation stacks: --catch, which names findings of an
 * earlier run.
 *
 * Each stack's key (format/stack_key.h) is computed at the stack's first allocation.  The result is
 * kept in a direct-mapped table by stack id, because all allocations are looked up.  The table is mapped
 * when it is needed: programs without --catch may have little address space.
 */
#include "track_priv.h"
#include "guarded.h"

#include "format/stack_key.h"

static_assert(GUARD_GAP_ALIGNED == STACK_KEY_GAP_MAX, "one limit");

#define KEPT 8192u /* a power of two */
#define NOT_WANTED 0xffu

/* stack id << 8 | index of the wanted stack, or NOT_WANTED; 0: empty.  Constant after start-up. */
static _Atomic uint64_t *kept;

bool guarded_stacks_start(void)
{
    void *table = kept ? kept : os_map(KEPT * sizeof *kept);
    if (os_failed(table))
        return false;
    kept = table;
    return true;
}

static uint64_t frame_key(uint64_t key, uint64_t word)
{
    struct module_place place;
    if (!modules_place(depot_module(word), &place))
        return stack_key_add(key, 0, 0);
    return stack_key_add(key, place.key, depot_address(word) - place.bias);
}

static uint64_t key_of(uint32_t stack)
{
    uint64_t word[STACK_KEY_FRAMES], key = STACK_KEY_INITIAL;
    uint32_t count = depot_get(stack, word, STACK_KEY_FRAMES);
    for (uint32_t i = 0; i < count && !(word[i] & DEPOT_PC_EXACT); i++)
        key = frame_key(key, word[i]);
    return key;
}

static COLD uint32_t search(uint32_t stack)
{
    const struct guard_stacks *wanted = &rt.options.guard.stacks;
    uint64_t key = key_of(stack);
    uint32_t i = 0;
    while (i < wanted->count && wanted->of[i].key != key)
        i++;
    return i == wanted->count ? NOT_WANTED : i;
}

const struct guard_stack *guarded_stack(uint32_t stack)
{
    if (!stack || !kept)
        return NULL;
    _Atomic uint64_t *place = &kept[(uint32_t)(stack * 0x9e3779b97f4a7c15ull >> 40) % KEPT];
    uint64_t entry = atomic_load_explicit(place, memory_order_relaxed);
    if (entry >> 8 != stack) {
        entry = (uint64_t)stack << 8 | search(stack);
        atomic_store_explicit(place, entry, memory_order_relaxed);
    }
    uint32_t i = (uint8_t)entry;
    return i == NOT_WANTED ? NULL : &rt.options.guard.stacks.of[i];
}
