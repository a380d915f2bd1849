/*
 * client_blocks.c - client blocks: blocks of custom allocators, which the program records by
 * itself.
 *
 * They may be in heap blocks, mappings or static data.  A treap by address finds the block of any
 * address: no node has a higher priority than its parent, and priorities are hashes of addresses,
 * so the depth stays small.  The treap is in private memory, which the kernel copies at a fork.
 * For readers of the run file each block that this image recorded has a copy there.
 *
 * A freed client block stays in the treap until its memory is recorded again or FREED_MAX others
 * were freed, so that a double free is detected.  A heap block that contains client blocks may be
 * freed and reused without their being freed first.  Each client block stores the lifetime of its
 * heap block, and ends with it.
 *
 * Lock: RANK_CLIENT_BLOCKS, then those of copy.c and segment.c.
 */
#include "heap_priv.h"

#include <string.h>

#define FREED_MAX 1024u
#define COPIES 126u /* with the segment header: one page */
#define NODES_FIRST_BYTES 65536u
#define NODES_BYTES_MAX (4u << 20)

static struct {
    struct lock lock;
    struct client_block *root;
    struct client_block *vacant; /* linked by .high */
    struct client_block *fresh, *fresh_end;
    uint64_t node_bytes; /* size of the next mapping for nodes */
    struct client_block *freed[FREED_MAX];
    uint32_t freed_next;
    _Atomic uint32_t count, own; /* nodes; live blocks that this image recorded */
    struct segment *copies;
    uint64_t next_chunk;
} all = {.lock = LOCK_INIT(RANK_CLIENT_BLOCKS), .node_bytes = NODES_FIRST_BYTES};

/* ---- the tree -------------------------------------------------------------------------------- */

static uint64_t end_of(const struct client_block *n)
{
    return client_block_start(n) + (n->bytes ? n->bytes : 1); /* 0 bytes still occupy the start */
}

static void insert(struct client_block *n)
{
    struct client_block **at = &all.root, **low = &n->low, **high = &n->high;
    while (*at && (*at)->priority >= n->priority)
        at = client_block_start(n) < client_block_start(*at) ? &(*at)->low : &(*at)->high;
    struct client_block *below = *at;
    *at = n;
    while (below) /* split the subtree at n's start address */
        if (client_block_start(below) < client_block_start(n)) {
            *low = below;
            low = &below->high;
            below = *low;
        } else {
            *high = below;
            high = &below->low;
            below = *high;
        }
    *low = *high = NULL;
}

static void take_out(const struct client_block *n)
{
    struct client_block **at = &all.root, *low = n->low, *high = n->high;
    while (*at != n)
        at = client_block_start(n) < client_block_start(*at) ? &(*at)->low : &(*at)->high;
    while (low && high)
        if (low->priority > high->priority) {
            *at = low;
            at = &low->high;
            low = *at;
        } else {
            *at = high;
            at = &high->low;
            high = *at;
        }
    *at = low ? low : high;
}

/* The last node that starts at this address or below. */
static struct client_block *last_up_to(uint64_t address)
{
    struct client_block *best = NULL;
    for (struct client_block *n = all.root; n;)
        if (client_block_start(n) <= address) {
            best = n;
            n = n->high;
        } else {
            n = n->low;
        }
    return best;
}

/* The client block, live or freed, that contains the address. */
static struct client_block *at_address(uint64_t address)
{
    struct client_block *n = last_up_to(address);
    return n && address < end_of(n) ? n : NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_live(const struct client_block *n)
{
    return word_state(atomic_load_explicit(&n->block.word, memory_order_relaxed)) == BLOCK_LIVE;
}

static bool is_own(const struct client_block *n)
{
    return n->image == image_number();
}

/* Was the heap block freed that contains it? */
static bool is_stale(const struct client_block *n, uint32_t write_epoch)
{
    uint64_t life;
    return n->life && (!client_block_life(client_block_start(n), n->bytes, write_epoch, &life) ||
                       life != n->life);
}

static struct client_block *node_take(void)
{
    struct client_block *n = all.vacant;
    if (n) {
        all.vacant = n->high;
        return n;
    }
    if (all.fresh == all.fresh_end) {
        n = os_map(all.node_bytes);
        if (os_failed(n))
            return NULL;
        all.fresh = n;
        all.fresh_end = n + all.node_bytes / sizeof *n;
        all.node_bytes *= all.node_bytes < NODES_BYTES_MAX ? 2 : 1;
    }
    return all.fresh++;
}

static void node_drop(struct client_block *n)
{
    take_out(n);
    if (all.freed[n->freed_at % FREED_MAX] == n)
        all.freed[n->freed_at % FREED_MAX] = NULL;
    if (is_own(n)) {
        all.own -= is_live(n);
        if (n->copy)
            block_forget(&n->copy->block);
    }
    block_forget(&n->block);
    n->high = all.vacant;
    all.vacant = n;
    all.count--;
}

/* Allocate a copy in the run file; NULL: no space, readers do not see this block. */
static struct client_block_record *copy_take(void)
{
    if (!all.copies || atomic_load_explicit(&all.copies->count, memory_order_relaxed) == COPIES) {
        all.copies = segment_take(SEGMENT_CLIENT_BLOCKS, COPIES, sizeof(struct client_block_record),
                                  all.next_chunk++);
        if (!all.copies)
            return NULL;
        segment_publish(all.copies);
    }
    uint32_t n = atomic_load_explicit(&all.copies->count, memory_order_relaxed);
    atomic_store_explicit(&all.copies->count, n + 1, memory_order_release);
    return (struct client_block_record *)segment_items(all.copies) + n;
}

static void copy_put(struct client_block *n, const struct block_birth *birth)
{
    if (!n->copy || !is_own(n)) /* a reused node keeps its own image's copy */
        n->copy = copy_take();
    n->image = image_number();
    if (!n->copy)
        return;
    atomic_store_explicit(&n->copy->start, client_block_start(n), memory_order_relaxed);
    atomic_store_explicit(&n->copy->bytes, n->bytes, memory_order_relaxed);
    block_publish(&n->copy->block, birth);
}

/* ---- recording ------------------------------------------------------------------------------- */

/* Remove freed and stale blocks from these bytes; false: a block in use overlaps them. */
static bool make_room(uint64_t start, uint64_t end, uint32_t write_epoch)
{
    struct client_block *n = last_up_to(end - 1);
    for (; n && end_of(n) > start; n = last_up_to(end - 1)) {
        if (is_live(n) && !is_stale(n, write_epoch))
            return false;
        node_drop(n);
    }
    return true;
}

static bool put(uint64_t start, uint64_t bytes, uint64_t life, const struct block_birth *birth,
                uint32_t write_epoch)
{
    struct client_block *n =
        make_room(start, start + (bytes ? bytes : 1), write_epoch) ? node_take() : NULL;
    if (!n)
        return false;
    n->not_start = ~start;
    n->bytes = bytes;
    n->life = life;
    n->priority = (uint32_t)(start * 0x9e3779b97f4a7c15ull >> 32);
    copy_put(n, birth);
    block_publish(&n->block, birth);
    insert(n);
    all.count++;
    all.own++;
    return true;
}

bool client_block_put(uint64_t start, uint64_t bytes, const struct block_birth *birth,
                      uint32_t write_epoch)
{
    uint64_t end, life;
    if (!start || !checked_add(start, bytes ? bytes : 1, &end) || end >= ADDRESSES_END ||
        !client_block_life(start, bytes, write_epoch, &life))
        return false;
    lock_take(&all.lock);
    bool done = put(start, bytes, life, birth, write_epoch);
    lock_drop(&all.lock);
    return done;
}

/* ---- freeing --------------------------------------------------------------------------------- */

static void retire(struct client_block *n, uint32_t thread, uint32_t stack)
{
    uint64_t was;
    block_retire(&n->block, thread, stack, &was);
    if (is_own(n)) {
        all.own--;
        if (n->copy)
            block_retire(&n->copy->block, thread, stack, &was);
    }
    struct client_block **freed_slot = &all.freed[all.freed_next % FREED_MAX];
    if (*freed_slot)
        node_drop(*freed_slot);
    n->freed_at = all.freed_next++;
    *freed_slot = n;
}

static enum verdict verdict_of(const struct client_block *n, uint64_t at, struct client_block *out)
{
    if (!n)
        return PTR_FOREIGN;
    memcpy((void *)out, (const void *)n, sizeof *out);
    uint64_t word = atomic_load_explicit(&n->block.word, memory_order_relaxed);
    /* It ended with its heap block: a free by the program is still valid. */
    if (word_state(word) == BLOCK_FREE)
        atomic_init(&out->block.word, (word & ~(uint64_t)BLOCK_STATE_MASK) | (uint64_t)BLOCK_LIVE);
    return at == client_block_start(n) ? PTR_START : PTR_INSIDE;
}

enum verdict client_block_retire(uint64_t at, uint32_t thread, uint32_t stack,
                                 struct client_block *was)
{
    lock_take(&all.lock);
    struct client_block *n = at_address(at);
    enum verdict verdict = verdict_of(n, at, was);
    if (verdict == PTR_START && is_live(n))
        retire(n, thread, stack);
    lock_drop(&all.lock);
    return verdict;
}

uint64_t client_block_retire_all(uint64_t start, uint64_t end, uint32_t thread, uint32_t stack)
{
    uint64_t count = 0;
    lock_take(&all.lock);
    for (uint64_t at = end; at > start;) {
        struct client_block *n = last_up_to(at - 1);
        if (!n || client_block_start(n) < start)
            break;
        at = client_block_start(n); /* continue below it: retire() may drop nodes */
        if (is_live(n)) {
            retire(n, thread, stack);
            count++;
        }
    }
    lock_drop(&all.lock);
    return count;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

bool client_block_life(uint64_t start, uint64_t bytes, uint32_t write_epoch, uint64_t *life)
{
    struct found f = pool_find((const void *)(uintptr_t)start);
    struct found last = pool_find((const void *)(uintptr_t)(start + (bytes ? bytes - 1 : 0)));
    *life = 0;
    if (f.verdict == PTR_FOREIGN || last.verdict == PTR_FOREIGN)
        return f.verdict == last.verdict;
    if ((f.verdict != PTR_START && f.verdict != PTR_INSIDE) || slab_is_unrecorded(&f))
        return false;
    const struct block_record *b = pool_look(&f, write_epoch);
    uint64_t word, stacks, inside = pool_inside(&f, start);
    for (unsigned tries = 0; !block_read(b, &word, &stacks) && tries < 100; tries++)
        ;
    uint64_t request = pool_request(&f, b, word);
    *life = stacks >> 32 << 8 | word_generation(word) | 1ull << 63;
    return (word_state(word) == BLOCK_LIVE || word_state(word) == BLOCK_INHERITED) &&
           inside <= request && bytes <= request - inside;
}

enum verdict client_block_find(uint64_t at, uint32_t write_epoch, struct client_block *out)
{
    if (!all.count)
        return PTR_FOREIGN;
    lock_take(&all.lock);
    struct client_block *n = at_address(at);
    enum verdict verdict = n && is_stale(n, write_epoch) ? PTR_FOREIGN : verdict_of(n, at, out);
    lock_drop(&all.lock);
    return verdict;
}

bool client_block_flag(uint64_t at, uint32_t flags)
{
    if (!all.count)
        return false;
    lock_take(&all.lock);
    struct client_block *n = at_address(at);
    bool done = n && block_flag(&n->block, flags);
    lock_drop(&all.lock);
    return done;
}

uint32_t client_block_count(void)
{
    return all.count;
}

bool client_block_has_own(void)
{
    return all.own;
}

/*
 * The block ended with its heap block.  Its node stays, so that a later free is accepted as valid.
 */
static void end_with_heaps(struct client_block *n)
{
    block_forget(&n->block);
    if (is_own(n)) {
        all.own--;
        if (n->copy)
            block_forget(&n->copy->block);
    }
}

static void visit_below(struct client_block *n,
                        void (*visit)(void *about, const struct client_block *n), void *about)
{
    for (; n; n = n->high) {
        visit_below(n->low, visit, about);
        if (!is_live(n))
            continue;
        if (is_stale(n, 0))
            end_with_heaps(n);
        else
            visit(about, n);
    }
}

void client_block_visit(void (*visit)(void *about, const struct client_block *n), void *about)
{
    if (!atomic_load(&all.lock.word)) /* else a thread was killed while it changed the tree */
        visit_below(all.root, visit, about);
}

bool client_block_is_inherited(const struct client_block *n)
{
    return !is_own(n);
}

/* ---- forks ----------------------------------------------------------------------------------- */

void client_block_after_fork(bool trusted)
{
    lock_reset(&all.lock);
    all.own = 0;
    all.copies = NULL;
    all.next_chunk = 0;
    if (trusted)
        return;
    all.root = all.vacant = all.fresh = all.fresh_end = NULL; /* the tree may be half changed */
    memset(all.freed, 0, sizeof all.freed);
    all.count = 0;
}
