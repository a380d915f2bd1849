/*
 * quarantine.c - freed blocks wait here before their slots are used again, first in, first out.
 *
 * Each thread has its own: the price of a quarantine is cache footprint, so it is small (the
 * freelist-vol option, 256 KiB), and all threads together stay below ALL_BYTES_MAX.  What a dying
 * thread holds goes to the struct of threads past their end.  Large blocks wait in large.c.
 *
 * Blocks are filled as they enter: whole up to FILL_WHOLE, head and tail beyond.
 */
#include "pool_priv.h"

#include <string.h>

#define ALL_BYTES_MAX (16ull << 20)
#define THREADS_AT_FULL_SHARE 63u /* with the default budget all of them fit */
#define FILL_WHOLE 4096u
#define FILL_ENDS 64u

struct pool_knobs pool_knobs = {256u << 10, -1, 0xfd};

static void fill(void *block, uint64_t request)
{
    if (pool_knobs.free_fill < 0)
        return;
    if (request <= FILL_WHOLE) {
        memset(block, pool_knobs.free_fill, request);
        return;
    }
    memset(block, pool_knobs.free_fill, FILL_ENDS);
    memset((char *)block + request - FILL_ENDS, pool_knobs.free_fill, FILL_ENDS);
}

static uint64_t budget(void)
{
    uint64_t share = ALL_BYTES_MAX / (threads_alive() + 1);
    return pool_knobs.quarantine_bytes < share ? pool_knobs.quarantine_bytes : share;
}

static void evict(struct thread *t, uint32_t go)
{
    struct quarantine *q = &t->quarantine;
    void *block = q->slot[q->head++ % QUARANTINE_SLOTS];
    struct found f = pool_find_hot(block);
    q->bytes -= size_class[f.kind - 1].slot_bytes;
    block_forget(pool_record_hot(&f, go));
    slab_give(t, f.kind - 1, block);
}

static void enter(struct thread *t, void *block, uint32_t class, uint32_t go)
{
    struct quarantine *q = &t->quarantine;
    if (unlikely(q->tail - q->head == QUARANTINE_SLOTS))
        evict(t, go);
    q->slot[q->tail++ % QUARANTINE_SLOTS] = block;
    q->bytes += size_class[class].slot_bytes;
    if (likely(q->bytes <= pool_knobs.quarantine_bytes && threads_alive() < THREADS_AT_FULL_SHARE))
        return;
    for (uint64_t limit = budget(); q->bytes > limit;)
        evict(t, go);
}

void quarantine_push(struct thread *t, const struct found *f, void *block, uint64_t request,
                     uint32_t go)
{
    fill(block, request);
    if (is_slab(f->kind))
        enter(t, block, f->kind - 1, go);
    else
        large_give(f);
}

void quarantine_drain(struct thread *t, uint32_t go)
{
    struct quarantine *q = &t->quarantine;
    if (q->head == q->tail)
        return;
    struct thread *limbo = threads_limbo_take();
    for (; q->head != q->tail; q->head++) {
        void *block = q->slot[q->head % QUARANTINE_SLOTS];
        enter(limbo, block, pool_find_hot(block).kind - 1, go);
    }
    q->bytes = 0;
    threads_limbo_drop();
}
