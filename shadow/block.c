/*
 * block.c - the life cycle of a block; the only writer of a block record's state.
 *
 *            publish            retire (one winner)        forget
 *   NEVER ----------> LIVE -------------------> FREED ----------> FREE --publish--> LIVE ...
 *                      |  ^ resize                 (quarantine)
 *                      +--+
 *
 * One 64-bit word contains the state and is written last.  A reader loads word, stacks and word
 * again, like a seqlock reader.  Equal words mean a consistent record, if the word's 6-bit
 * generation has not wrapped in between.  A reader that was interrupted cannot detect a wrap.  So
 * it loads the stacks once more: stacks that are equal before and after the second load of the word
 * belong to that word.
 *
 * With RTC_RECORD_WIDE a record has a third word with the full generation.  Tests use it to check
 * readers that see only the six bits.
 */
#include "shadow.h"

#include <stdatomic.h>

#define SHIFTED(value, FIELD) (((uint64_t)(value)&BLOCK_##FIELD##_MASK) << BLOCK_##FIELD##_SHIFT)

#ifdef RTC_RECORD_WIDE
static void note_generation(struct block_record *b)
{
    _Atomic uint64_t *full = (_Atomic uint64_t *)(void *)(b + 1);
    atomic_store_explicit(full, atomic_load_explicit(full, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}
#else
static void note_generation(struct block_record *b)
{
    (void)b;
}
#endif

static uint64_t word_with_state(uint64_t word, enum block_state state)
{
    return (word & ~(uint64_t)BLOCK_STATE_MASK) | (uint64_t)state;
}

/* Second half of publish and resize.  The caller owns the slot, and its state is NEVER. */
static void write_life(struct block_record *b, uint64_t generation, const struct block_birth *birth)
{
    /* Orders the word before the stacks; pairs with the acquire fence in block_read. */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&b->stacks, (uint64_t)birth->stack << 32, memory_order_relaxed);
    note_generation(b);
    uint64_t word = (uint64_t)BLOCK_LIVE | SHIFTED(birth->family, FAMILY) |
                    SHIFTED(birth->flags, FLAGS) | SHIFTED(birth->mark, MARK) |
                    SHIFTED(generation + 1, GEN) | SHIFTED(birth->thread, THREAD) |
                    (uint64_t)birth->size << BLOCK_SIZE_SHIFT;
    atomic_store_explicit(&b->word, word, memory_order_release); /* pairs with block_read */
}

void block_publish(struct block_record *b, const struct block_birth *birth)
{
    uint64_t old = atomic_load_explicit(&b->word, memory_order_relaxed);
    uint64_t generation = word_generation(old);
    atomic_store_explicit(&b->word, SHIFTED(generation, GEN), memory_order_relaxed);
    write_life(b, generation, birth);
}

bool block_retire(struct block_record *b, uint32_t thread, uint32_t stack, uint64_t *was)
{
    uint64_t old = atomic_load_explicit(&b->word, memory_order_relaxed);
    uint64_t freed;
    do {
        *was = old;
        if (word_state(old) != BLOCK_LIVE && word_state(old) != BLOCK_INHERITED)
            return false;
        freed = word_with_state(old, BLOCK_FREED) &
                ~((uint64_t)BLOCK_THREAD_MASK << BLOCK_THREAD_SHIFT);
        freed |= SHIFTED(thread, THREAD);
        /* The thread that changes LIVE to FREED frees; acq_rel pairs with itself in the losers. */
    } while (!atomic_compare_exchange_weak_explicit(&b->word, &old, freed, memory_order_acq_rel,
                                                    memory_order_relaxed));
    uint64_t stacks = atomic_load_explicit(&b->stacks, memory_order_relaxed);
    atomic_store_explicit(&b->stacks, (stacks & ~(uint64_t)UINT32_MAX) | stack,
                          memory_order_release); /* low half 0: free in progress */
    return true;
}

void block_forget(struct block_record *b)
{
    uint64_t word = atomic_load_explicit(&b->word, memory_order_relaxed);
    atomic_store_explicit(&b->word, word_with_state(word, BLOCK_FREE), memory_order_release);
}

bool block_resize(struct block_record *b, const struct block_birth *birth, uint64_t *was)
{
    uint64_t old = atomic_load_explicit(&b->word, memory_order_relaxed);
    do {
        *was = old;
        if (word_state(old) != BLOCK_LIVE && word_state(old) != BLOCK_INHERITED)
            return false;
        /* NEVER excludes all other writers while the life is rewritten, also a concurrent free. */
    } while (!atomic_compare_exchange_weak_explicit(&b->word, &old,
                                                    SHIFTED(word_generation(old), GEN),
                                                    memory_order_acq_rel, memory_order_relaxed));
    write_life(b, word_generation(old), birth);
    return true;
}

bool block_flag(struct block_record *b, uint32_t flags)
{
    uint64_t old = atomic_load_explicit(&b->word, memory_order_relaxed);
    do {
        if (word_state(old) != BLOCK_LIVE && word_state(old) != BLOCK_INHERITED)
            return false;
        /* A concurrent free or resize overwrites these flags. */
    } while (!atomic_compare_exchange_weak_explicit(&b->word, &old, old | SHIFTED(flags, FLAGS),
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

bool block_read(const struct block_record *b, uint64_t *word, uint64_t *stacks)
{
    /* C17 atomic loads need a non-const pointer */
    struct block_record *r = (struct block_record *)(uintptr_t)b;
    uint64_t before = atomic_load_explicit(&r->word, memory_order_acquire);
    *stacks = atomic_load_explicit(&r->stacks, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire); /* pairs with the release fence in write_life */
    *word = atomic_load_explicit(&r->word, memory_order_acquire);
    return *word == before && atomic_load_explicit(&r->stacks, memory_order_relaxed) == *stacks;
}

static struct block_record *nth(const void *records, uint32_t i, uint32_t stride)
{
    return (struct block_record *)((uintptr_t)records + (uintptr_t)i * stride);
}

void block_copy(struct block_record *to, const struct block_record *from, uint32_t count,
                uint32_t stride, bool inherited)
{
    uint64_t keep = inherited ? ~((uint64_t)BLOCK_MARK_MASK << BLOCK_MARK_SHIFT) : ~0ull;
    for (uint32_t i = 0; i < count; i++) {
        struct block_record *source = nth(from, i, stride), *copy = nth(to, i, stride);
        uint64_t word = atomic_load_explicit(&source->word, memory_order_acquire);
        uint64_t stacks = atomic_load_explicit(&source->stacks, memory_order_relaxed);
        atomic_store_explicit(&copy->stacks, stacks, memory_order_relaxed);
        atomic_store_explicit(&copy->word, word & keep, memory_order_relaxed);
    }
}

void block_distrust(struct block_record *to, uint32_t count, uint32_t stride)
{
    for (uint32_t i = 0; i < count; i++) {
        struct block_record *b = nth(to, i, stride);
        atomic_store_explicit(&b->stacks, 0, memory_order_relaxed);
        atomic_store_explicit(&b->word, BLOCK_INHERITED, memory_order_relaxed);
    }
}
