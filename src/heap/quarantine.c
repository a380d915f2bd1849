/*
 * quarantine.c - freed blocks wait in a FIFO before their slots are reused, to detect double free
 * and use-after-free writes.
 *
 * Each thread has its own quarantine.  It costs cache footprint, so it is small (the freelist-vol
 * option, 256 KiB), and all threads together stay below ALL_BYTES_MAX.  A thread that ends moves
 * its blocks to the fallback thread's.  Large blocks are in large.c.
 *
 * Blocks are filled when they enter, and the fill is checked when they leave (redzone.h).
 */
#include "byte_shadow.h"
#include "heap_priv.h"

#define ALL_BYTES_MAX (16ull << 20)
#define NEAR 4u                   /* prefetch distance in evictions */
#define THREADS_AT_FULL_SHARE 63u /* default budgets fit ALL_BYTES_MAX */

struct pool_knobs pool_knobs = {.quarantine_bytes = 256u << 10,
                                .malloc_fill = -1,
                                .free_fill = FILL_OF_BLOCK,
                                .redzone_bytes = 1,
                                .redzone_reach = REDZONE_REACH,
                                .redzone_tail = REDZONE_TAIL};

static uint64_t budget(void)
{
    uint64_t share = ALL_BYTES_MAX / (threads_alive() + 1);
    return pool_knobs.quarantine_bytes < share ? pool_knobs.quarantine_bytes : share;
}

static void (*report_damage)(const struct damage *);

void quarantine_set_reporter(void (*visit)(const struct damage *))
{
    report_damage = visit;
}

void quarantine_report(const struct damage *d)
{
    if (report_damage)
        report_damage(d);
}

static COLD void check_evicted(void *block, uint64_t word, uint32_t write_epoch)
{
    struct found f = pool_find(block);
    uint64_t request = word_size(word), now, stacks;
    struct damage d;
    if (!redzone_damage(&f, block, request, word, write_epoch, &d) &&
        (!block_read(pool_look(&f, write_epoch), &now, &stacks) ||
         !fill_damage(block, request, word, stacks, &d)))
        return;
    quarantine_report(&d);
}

void quarantine_check_large(struct unit *head, struct large_record *r)
{
    uint64_t request = atomic_load_explicit(&r->request, memory_order_relaxed), word, stacks;
    struct damage d;
    if (block_read(&r->block, &word, &stacks) && word_state(word) == BLOCK_FREED &&
        large_damage(head, request, word, stacks, &d))
        quarantine_report(&d);
}

/* The block and its record will be read soon. */
ALWAYS_INLINE void prefetch_block(const void *block)
{
    struct found f = pool_find_slot(block);
    uint64_t owner = atomic_load_explicit(&f.head->owner, memory_order_relaxed);
    __builtin_prefetch(block);
    __builtin_prefetch(segment_record(owner_pointer(owner), f.slot), 1);
}

/* Check the block and set its record to FREE; returns the class of its slot. */
ALWAYS_INLINE uint32_t leave(struct quarantine *q, void *block, uint32_t write_epoch)
{
    struct found f = pool_find_slot(block);
    uint32_t class = f.kind - 1, slot_bytes = size_class[class].slot_bytes;
    struct block_record *b = pool_record_slot(&f, write_epoch);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_relaxed);
    /* another state: a child that does not trust inherited records */
    if (unlikely(!freed_is_intact(block, slot_bytes, word_size(word))) &&
        word_state(word) == BLOCK_FREED)
        check_evicted(block, word, write_epoch);
    q->bytes -= slot_bytes;
    block_forget(b);
    return class;
}

static void evict(struct thread *t, uint32_t write_epoch)
{
    struct quarantine *q = &t->quarantine;
    void *block = q->slot[q->head++ % QUARANTINE_SLOTS];
    if (likely(q->tail - q->head > NEAR))
        prefetch_block(q->slot[(q->head + NEAR) % QUARANTINE_SLOTS]);
    slab_give(t, leave(q, block, write_epoch), block);
}

COLD void quarantine_drop(struct thread *t, uintptr_t start, uintptr_t end, uint32_t write_epoch)
{
    struct quarantine *q = &t->quarantine;
    uint32_t to = q->head;
    for (uint32_t i = q->head; i != q->tail; i++) {
        void *block = q->slot[i % QUARANTINE_SLOTS];
        if ((uintptr_t)block >= start && (uintptr_t)block < end)
            leave(q, block, write_epoch);
        else
            q->slot[to++ % QUARANTINE_SLOTS] = block;
    }
    q->tail = to;
}

static void enter(struct thread *t, void *block, uint32_t class, uint32_t write_epoch)
{
    struct quarantine *q = &t->quarantine;
    if (unlikely(q->tail - q->head == QUARANTINE_SLOTS))
        evict(t, write_epoch);
    q->slot[q->tail++ % QUARANTINE_SLOTS] = block;
    q->bytes += size_class[class].slot_bytes;
    if (likely(q->bytes <= pool_knobs.quarantine_bytes && threads_alive() < THREADS_AT_FULL_SHARE))
        return;
    for (uint64_t limit = budget(); q->bytes > limit;)
        evict(t, write_epoch);
}

void quarantine_push(struct thread *t, void *block, uint32_t class, uint64_t request,
                     uint32_t write_epoch)
{
    fill_put(block, request);
    if (unlikely(byte_shadow_is_on))
        byte_shadow_forbid(block, request, BYTE_SHADOW_FREED);
    enter(t, block, class, write_epoch);
}

void quarantine_push_large(const struct found *f, void *block, uint64_t request)
{
    if (large_fills(f->head))
        fill_put(block, request);
    if (byte_shadow_is_on)
        byte_shadow_forbid(block, request, BYTE_SHADOW_FREED);
    large_give(f);
}

void quarantine_drain(struct thread *t, uint32_t write_epoch)
{
    struct quarantine *q = &t->quarantine;
    if (q->head == q->tail)
        return;
    struct thread *fallback = threads_fallback_take();
    for (; q->head != q->tail; q->head++) {
        void *block = q->slot[q->head % QUARANTINE_SLOTS];
        enter(fallback, block, pool_find_slot(block).kind - 1, write_epoch);
    }
    q->bytes = 0;
    threads_fallback_drop();
}

uint64_t quarantine_waiting(void)
{
    return threads_quarantined() + large_quarantined();
}
