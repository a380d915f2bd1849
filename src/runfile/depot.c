/*
 * depot.c - the stack depot: call stacks (backtraces) by number, deduplicated.
 *
 * A stack is a path in a tree from its outermost frame: a node adds one frame to its parent.  Nodes
 * are in the run file, in chunks that only grow.  A node is complete before it can be found, and
 * never changes.  A private index (os/index.h) finds nodes by the hash of all their frames.
 * Lookups and insertions take no lock; growth of the chunks or the index does (RANK_DEPOT, then
 * that of segment.c).
 *
 * A node matches if its frame and 32 bits of hash are equal, and the 32 bits of its parent: with a
 * million stacks, two are confused once in 10^10 runs.
 *
 * The budget is CHUNKS_MAX chunks.  The last sixteenth is for stacks cut to their innermost frames,
 * of which there are fewer.
 *
 * A forked child continues with its parent's nodes and starts a new chunk: ids below
 * image_header.first_depot_chunk belong to the parent.
 */
#include "index.h"
#include "runfile_priv.h"

#include <string.h>

#define CHUNK_BYTES (DEPOT_CHUNK_NODES * sizeof(struct depot_node))
#define CHUNKS_MAX (INDEX_NUMBERS >> DEPOT_CHUNK_SHIFT) /* 255 MiB */
#define CHUNKS_WHOLE (CHUNKS_MAX - CHUNKS_MAX / 16)     /* beyond it stacks are cut */
#define SHORT_FRAMES 8u
#define SPARE_NODES 128u /* a new chunk is made when fewer are left: handlers cannot */
#define INDEX_MIN 4096u
#define ADD_TRIES 4u

static struct {
    struct lock lock;
    struct index *_Atomic index;
    struct segment *_Atomic chunk[CHUNKS_MAX]; /* by chunk number */
    _Atomic uint32_t next;                     /* index of the next node over all chunks */
    _Atomic uint32_t nodes;
} depot = {.lock = LOCK_INIT(RANK_DEPOT)};

/* Search key: a frame and the stack outside of it. */
struct wanted {
    uint64_t pc;
    uint64_t hash;
    uint64_t outer; /* hash of the frames outside of it */
};

static struct depot_node *node_of(uint32_t id)
{
    struct segment *s =
        atomic_load_explicit(&depot.chunk[depot_chunk_of(id)], memory_order_relaxed);
    return (struct depot_node *)segment_items(s) + depot_index_of(id);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static bool is_outer(uint32_t parent, uint64_t hash)
{
    return depot_is_root(parent) ? hash == parent : node_of(parent)->tag == depot_tag(hash);
}

static bool is_wanted(const struct depot_node *n, const struct wanted *w)
{
    return n->tag == depot_tag(w->hash) &&
           atomic_load_explicit(&n->pc, memory_order_relaxed) == w->pc &&
           is_outer(n->parent, w->outer);
}

static uint32_t look(const struct index *x, const struct wanted *w, uint32_t *at)
{
    uint32_t hash = depot_tag(w->hash);
    for (uint32_t i = index_first(x, hash);; i = index_next(x, i)) {
        uint32_t slot = index_at(x, i), id = index_number(slot);
        *at = i;
        if (!slot || (index_may_be(slot, hash) && is_wanted(node_of(id), w)))
            return id;
    }
}

static uint32_t find(const struct wanted *w)
{
    struct index *x = atomic_load_explicit(&depot.index, memory_order_acquire), *now;
    for (; x; x = now) {
        uint32_t at, id = look(x, w, &at);
        now = atomic_load_explicit(&depot.index, memory_order_acquire);
        if (id || now == x)
            return id;
    }
    return 0;
}

/* ---- growth, with the lock held -------------------------------------------------------------- */

static void chunk_make(uint32_t number)
{
    if (number >= CHUNKS_MAX || atomic_load(&depot.chunk[number]))
        return;
    struct segment *s =
        segment_take(SEGMENT_DEPOT, DEPOT_CHUNK_NODES, sizeof(struct depot_node), number);
    if (!s)
        return;
    atomic_store(&s->count, DEPOT_CHUNK_NODES); /* each node's pc shows whether it is complete */
    segment_publish(s);
    atomic_store_explicit(&depot.chunk[number], s, memory_order_release);
    atomic_fetch_add_explicit(&image()->depot_bytes, CHUNK_BYTES, memory_order_relaxed);
}

/*
 * Double the index.  A node that another thread adds meanwhile may be made twice, with no other
 * harm.
 */
static void index_grow(void)
{
    struct index *old = atomic_load_explicit(&depot.index, memory_order_relaxed);
    if (!index_is_full(old, atomic_load_explicit(&depot.nodes, memory_order_relaxed)))
        return;
    struct index *new = index_make(old ? (old->mask + 1) * 2 : INDEX_MIN);
    if (!new)
        return;
    for (uint32_t i = 0; old && i <= old->mask; i++) {
        uint32_t id = index_number(index_at(old, i)), hash = id ? node_of(id)->tag : 0;
        uint32_t at = index_first(new, hash);
        while (id && !index_put(new, at, hash, id))
            at = index_next(new, at);
    }
    atomic_store_explicit(&depot.index, new, memory_order_release);
    atomic_fetch_add_explicit(&image()->depot_bytes,
                              index_bytes(new) - (old ? index_bytes(old) : 0),
                              memory_order_relaxed);
    if (old)
        index_retire(old);
}

static bool is_ready(uint32_t chunk)
{
    return chunk < CHUNKS_MAX && atomic_load_explicit(&depot.chunk[chunk], memory_order_acquire);
}

static bool needs_growth(void)
{
    uint32_t next = atomic_load_explicit(&depot.next, memory_order_relaxed);
    return index_is_full(atomic_load_explicit(&depot.index, memory_order_acquire),
                         atomic_load_explicit(&depot.nodes, memory_order_relaxed)) ||
           !is_ready((next + SPARE_NODES) / DEPOT_CHUNK_NODES);
}

static void grow_on_helper(void *unused)
{
    (void)unused;
    uint32_t next = atomic_load_explicit(&depot.next, memory_order_relaxed);
    lock_take(&depot.lock);
    chunk_make(next / DEPOT_CHUNK_NODES);
    chunk_make((next + SPARE_NODES) / DEPOT_CHUNK_NODES);
    index_grow();
    lock_drop(&depot.lock);
}

static void grow(void)
{
    helper_call(grow_on_helper, NULL);
}

/* ---- insertion ------------------------------------------------------------------------------- */

/* Allocate a node; 0: no space. */
static uint32_t index_take(void)
{
    uint32_t next = atomic_load_explicit(&depot.next, memory_order_relaxed);
    do
        if (!is_ready(next / DEPOT_CHUNK_NODES))
            return 0;
    while (!atomic_compare_exchange_weak(&depot.next, &next, next + 1));
    return depot_id(next / DEPOT_CHUNK_NODES, next % DEPOT_CHUNK_NODES);
}

/* Allocate an id for a node of the index.  It is counted first, so that the index is never full. */
static uint32_t id_take(const struct index *x)
{
    uint32_t before = atomic_fetch_add_explicit(&depot.nodes, 1, memory_order_relaxed);
    uint32_t id = before < index_limit(x) ? index_take() : 0;
    if (!id)
        atomic_fetch_sub_explicit(&depot.nodes, 1, memory_order_relaxed);
    return id;
}

/*
 * Allocate an id for a new node, and return the index for it.  Between growth and allocation other
 * threads may use up the space; then it is tried again.
 */
static uint32_t new_id(struct index **x, bool may_grow)
{
    uint32_t id = 0;
    for (unsigned tries = may_grow ? ADD_TRIES : 1; tries > 0 && !id; tries--) {
        if (may_grow && needs_growth())
            grow();
        *x = atomic_load_explicit(&depot.index, memory_order_acquire);
        id = *x ? id_take(*x) : 0;
    }
    return id;
}

static uint32_t add(const struct wanted *w, uint32_t parent, bool may_grow)
{
    struct index *x;
    uint32_t id = new_id(&x, may_grow), at;
    if (!id)
        return 0;
    struct depot_node *n = node_of(id);
    n->parent = parent;
    n->tag = depot_tag(w->hash);
    atomic_store_explicit(&n->pc, w->pc, memory_order_release); /* readers: pc 0 = incomplete */
    atomic_fetch_add_explicit(&image()->depot_nodes, 1, memory_order_relaxed);
    for (;;) {
        uint32_t known = look(x, w, &at);
        if (known || index_put(x, at, n->tag, id)) /* pairs with index_at */
            return known ? known : id;
    }
}

static uint32_t find_or_add(const struct wanted *w, uint32_t parent, bool may_grow)
{
    uint32_t id = find(w);
    return id ? id : add(w, parent, may_grow);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool is_nearly_full(void)
{
    return atomic_load_explicit(&depot.next, memory_order_relaxed) / DEPOT_CHUNK_NODES >=
           CHUNKS_WHOLE;
}

uint32_t depot_put(const uint64_t *pc, uint32_t count, uint32_t end, bool may_grow)
{
    if (is_nearly_full() && count > SHORT_FRAMES) {
        count = SHORT_FRAMES;
        end = STACK_BUDGET;
    }
    uint32_t parent = depot_root(end);
    uint64_t outer = parent;
    while (count && parent) {
        count--;
        struct wanted w = {pc[count], depot_hash(outer, pc[count]), outer};
        parent = find_or_add(&w, parent, may_grow);
        outer = w.hash;
    }
    return depot_is_root(parent) ? 0 : parent;
}

static struct wanted wanted_of(const struct cached_stack *t, uint32_t i)
{
    return (struct wanted){t->more[i].word, t->more[i].hash, t->more[i - 1].hash};
}

/* Not all frames fit: keep the innermost ones, as long as there is space for those. */
static uint32_t put_short(const struct cached_stack *t, bool may_grow)
{
    uint64_t pc[SHORT_FRAMES];
    uint32_t count = t->count < SHORT_FRAMES ? t->count : SHORT_FRAMES;
    for (uint32_t i = 0; i < count; i++)
        pc[i] = t->more[t->count - i].word;
    return depot_put(pc, count, STACK_BUDGET, may_grow);
}

/* The innermost frame with a known id, or one that the lookup finds; 0: none. */
static uint32_t find_known(struct cached_stack *t)
{
    uint32_t i = t->count;
    for (; i > 0 && !t->more[i].id; i--) {
        struct wanted w = wanted_of(t, i);
        t->more[i].id = find(&w);
        if (t->more[i].id)
            break;
    }
    return i;
}

uint32_t depot_find_cached(const struct cached_stack *t)
{
    struct wanted w = wanted_of(t, t->count);
    return find(&w);
}

uint32_t depot_put_cached(struct cached_stack *t, bool may_grow)
{
    uint32_t i = find_known(t), parent = i ? t->more[i].id : depot_root(t->end);
    if (i < t->count && is_nearly_full())
        return put_short(t, may_grow);
    if (i < t->count)
        atomic_fetch_add_explicit(&image()->depot_stacks, 1, memory_order_relaxed);
    while (i < t->count) {
        struct wanted w = wanted_of(t, ++i);
        parent = t->more[i].id = add(&w, parent, may_grow);
        if (!parent)
            return put_short(t, may_grow);
    }
    return parent;
}

bool depot_has(uint32_t id)
{
    return is_ready(depot_chunk_of(id)) && depot_index_of(id) < DEPOT_CHUNK_NODES &&
           atomic_load_explicit(&node_of(id)->pc, memory_order_acquire);
}

uint32_t depot_get(uint32_t id, uint64_t *pc, uint32_t room)
{
    uint32_t n = 0;
    for (; !depot_is_root(id) && n < room; id = node_of(id)->parent)
        pc[n++] = atomic_load_explicit(&node_of(id)->pc, memory_order_relaxed);
    return n;
}

uint32_t depot_next_chunk(void)
{
    return (atomic_load(&depot.next) + DEPOT_CHUNK_NODES - 1) / DEPOT_CHUNK_NODES;
}

void depot_after_fork(bool fresh)
{
    uint32_t first = depot_next_chunk();
    lock_reset(&depot.lock);
    for (uint32_t i = first; i < CHUNKS_MAX && atomic_load(&depot.chunk[i]); i++)
        atomic_store(&depot.chunk[i], NULL); /* the parent's spare chunk */
    /* the rest of the last chunk belongs to the parent */
    atomic_store(&depot.next, first * DEPOT_CHUNK_NODES);
    if (!fresh)
        return;
    atomic_store(&depot.index, NULL);
    atomic_store(&depot.nodes, 0);
}
