/*
 * depot.c - call stacks by number.  So far a stack is one return address.
 *
 * Nodes lie in the run file, in chunks that only grow; the index is private: open addressing over
 * node ids, inserted by compare-and-swap after the node is complete, so looking up takes no lock.
 * It doubles, under a lock, when half full; the old one stays where it is for those who are
 * reading it.
 *
 * A forked child goes on with its parent's nodes, which never change, and begins a chunk of its
 * own: ids below image_header.first_depot_chunk are the parent's.
 */
#include "pool_priv.h"

#include <string.h>

#define CHUNKS_MAX 16384u /* 256 MiB of nodes */
#define INDEX_MIN 4096u

struct index {
    uint32_t mask;
    _Atomic uint32_t slot[];
};

static struct {
    struct lock lock;
    struct index *_Atomic index;
    struct segment *chunk[CHUNKS_MAX]; /* by chunk number */
    uint32_t chunks;
    uint32_t place; /* next in the last chunk */
    uint32_t nodes;
    bool full;
} depot = {.lock = LOCK_INIT(RANK_DEPOT)};

static uint32_t hash(uintptr_t pc)
{
    return (uint32_t)(pc * 0x9e3779b97f4a7c15ull >> 32);
}

static const struct depot_node *node_of(uint32_t id)
{
    return (struct depot_node *)segment_items(depot.chunk[depot_chunk_of(id)]) +
           depot_place_of(id);
}

static uint32_t look_up(const struct index *x, uintptr_t pc, uint32_t *at)
{
    for (uint32_t i = hash(pc) & x->mask;; i = (i + 1) & x->mask) {
        uint32_t id = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&x->slot[i],
                                           memory_order_acquire); /* pairs with insert */
        if (!id || node_of(id)->pc == pc) {
            *at = i;
            return id;
        }
    }
}

static struct index *index_make(uint32_t slots)
{
    struct index *x = os_map(align_up(sizeof *x + slots * sizeof *x->slot, PAGE_BYTES));
    if (os_failed(x))
        return NULL;
    x->mask = slots - 1;
    return x;
}

/* Caller holds the lock; false: no room. */
static bool index_ready(void)
{
    struct index *old = atomic_load_explicit(&depot.index, memory_order_relaxed);
    if (old && depot.nodes * 2 < old->mask)
        return true;
    struct index *new = index_make(old ? (old->mask + 1) * 2 : INDEX_MIN);
    if (!new)
        return old && depot.nodes < old->mask - 1;
    for (uint32_t i = 0; old && i <= old->mask; i++) {
        uint32_t id = atomic_load_explicit(&old->slot[i], memory_order_relaxed), at;
        if (id) {
            look_up(new, node_of(id)->pc, &at);
            atomic_store_explicit(&new->slot[at], id, memory_order_relaxed);
        }
    }
    atomic_store_explicit(&depot.index, new, memory_order_release);
    return true;
}

/* Caller holds the lock; 0: no room. */
static uint32_t node_make(uintptr_t pc)
{
    if (!depot.chunks || !depot.chunk[depot.chunks - 1] || depot.place == DEPOT_CHUNK_NODES) {
        if (depot.chunks == CHUNKS_MAX)
            return 0;
        struct segment *s = segment_take(SEGMENT_DEPOT, DEPOT_CHUNK_NODES,
                                         sizeof(struct depot_node), depot.chunks);
        if (!s)
            return 0;
        segment_publish(s);
        depot.chunk[depot.chunks++] = s;
        depot.place = 0;
    }
    struct segment *s = depot.chunk[depot.chunks - 1];
    struct depot_node *node = (struct depot_node *)segment_items(s) + depot.place;
    node->pc = pc;
    node->parent = 0;
    uint32_t id = depot_id(depot.chunks - 1, depot.place++);
    atomic_store_explicit(&s->count, depot.place, memory_order_release);
    depot.nodes++;
    return id;
}

static COLD uint32_t insert(uintptr_t pc)
{
    modules_note(pc);
    lock_take(&depot.lock);
    uint32_t id = 0, at;
    if (!depot.full && index_ready()) {
        struct index *x = atomic_load_explicit(&depot.index, memory_order_relaxed);
        id = look_up(x, pc, &at);
        if (!id && (id = node_make(pc)) != 0)
            atomic_store_explicit(&x->slot[at], id, memory_order_release);
        depot.full = !id;
    }
    lock_drop(&depot.lock);
    return id;
}

uint32_t depot_put(uintptr_t pc)
{
    struct index *x = atomic_load_explicit(&depot.index, memory_order_acquire);
    uint32_t at, id = x && pc ? look_up(x, pc, &at) : 0;
    return likely(id) ? id : pc ? insert(pc) : 0;
}

uint32_t depot_next_chunk(void)
{
    return depot.chunks;
}

void depot_after_fork(bool fresh)
{
    lock_reset(&depot.lock);
    depot.place = DEPOT_CHUNK_NODES; /* the rest of the parent's chunk is the parent's */
    depot.full = false;
    if (!fresh)
        return;
    atomic_store_explicit(&depot.index, NULL, memory_order_relaxed);
    depot.nodes = 0;
}
