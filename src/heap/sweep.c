/*
 * sweep.c - the check of all blocks at the end: redzones and fills of blocks that nothing frees.
 *
 * A sweep takes no lock.  Other threads may allocate and free meanwhile: damage is reported only if
 * the block's record and its slab are the same before and after the check.
 */
#include "heap_priv.h"

#define SETTLE_NS 100000000ull

/*
 * A free sets FREED first, then fills the block.  The fill is complete if it is there, or if the
 * thread has left its section since.  If hundreds of threads only free, all may be in between and
 * wait for a processor.  So a sweep waits SETTLE_NS for all of them together.
 */
static bool is_filled_by_now(struct sweep *s, const void *block, uint64_t request, uint32_t thread)
{
    while (threads_inside(thread) && !fill_is_intact(block, request)) {
        uint64_t now = os_clock_ns();
        if (!s->settled_by)
            s->settled_by = now + SETTLE_NS;
        if (now >= s->settled_by)
            return false;
        os_yield();
    }
    return true;
}

static uint64_t word_now(const struct block_record *b)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&b->word, memory_order_relaxed);
}

static void visit_never(const struct found *f, struct segment *s, const char *block,
                        const struct block_record *b, void (*visit)(const struct damage *))
{
    struct damage d;
    if (is_reserve(f->kind) || !never_damage(f, block, &d))
        return;
    atomic_thread_fence(memory_order_acquire); /* pairs with the release fence of slab_first_use */
    if (!word_now(b) &&
        owner_pointer(atomic_load_explicit(&f->head->owner, memory_order_relaxed)) == s)
        visit(&d);
}

static void visit_slab(struct sweep *sweep, struct unit *head, uint32_t kind, uint32_t write_epoch,
                       void (*visit)(const struct damage *))
{
    const struct size_class *c = &size_class[kind - 1];
    char *block = (char *)unit_address(head) + c->slot_bytes; /* slot 0 is never allocated */
    struct segment *s = owner_pointer(atomic_load_explicit(&head->owner, memory_order_acquire));
    for (uint32_t slot = 1; slot < c->slots; slot++, block += c->slot_bytes) {
        struct found f = {PTR_START, head, kind, slot, 0};
        struct damage d;
        uint64_t word, stacks, request;
        struct block_record *b = segment_record(s, slot);
        uint64_t now = word_now(b), seen = word_state(now);
        if (!now)
            visit_never(&f, s, block, b, visit);
        if ((seen != BLOCK_LIVE && seen != BLOCK_FREED) || !block_read(b, &word, &stacks))
            continue;
        bool live = word_state(word) == BLOCK_LIVE;
        request = word_size(word);
        if ((!live && word_state(word) != BLOCK_FREED) || request >= c->slot_bytes)
            continue;
        bool found = !redzone_is_intact(block, slot, kind - 1, request) &&
                     slot_damage(&f, block, request, word, stacks, write_epoch, &d);
        if (!found && !live && !fill_is_intact(block, request) &&
            is_filled_by_now(sweep, block, request, word_thread(word)))
            found = fill_damage(block, request, word, stacks, &d);
        /* Still the same lifetime?  Another thread may have changed the block. */
        if (found && atomic_load_explicit(&b->word, memory_order_acquire) == word &&
            owner_pointer(atomic_load_explicit(&head->owner, memory_order_acquire)) == s)
            visit(&d);
    }
}

/*
 * Other threads may change the block meanwhile: its record must be the same before and after the
 * check.
 */
static void visit_large(struct sweep *sweep, struct unit *head,
                        void (*visit)(const struct damage *))
{
    struct found f = {PTR_START, head, UNIT_LARGE, 0, 0};
    const struct block_record *b = pool_look(&f, 0);
    struct damage d;
    uint64_t first, word, now, stacks;
    if (!block_read(b, &first, &stacks) || !word_is_known(first))
        return;
    if (word_state(first) == BLOCK_FREED &&
        (!large_is_filled(head) ||
         !is_filled_by_now(sweep, (void *)large_start_of(head), pool_request(&f, b, first),
                           word_thread(first))))
        return;
    if (!block_read(b, &word, &stacks) || word != first)
        return;
    uint64_t request = pool_request(&f, b, word);
    /* A block that shrinks has given away its end before its word changes. */
    if (large_damage(head, request, word, stacks, &d) && pool_request(&f, b, word) == request &&
        block_read(b, &now, &stacks) && now == word && pool_look(&f, 0) == b)
        visit(&d);
}

bool sweep_next(struct sweep *s, uint32_t write_epoch, void (*visit)(const struct damage *))
{
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_acquire) >> RTC_UNIT_SHIFT;
    for (s->unit = s->unit ? s->unit : 1; s->unit < end; s->unit++) {
        struct unit *u = heap.unit + s->unit;
        uint32_t kind = owner_kind(atomic_load_explicit(&u->owner, memory_order_acquire));
        if (u->back || (!is_slab(kind) && kind != UNIT_LARGE) || is_reserve(kind) ||
            fork_is_inherited(u))
            continue;
        if (kind == UNIT_LARGE)
            visit_large(s, u, visit);
        else
            visit_slab(s, u, kind, write_epoch, visit);
        s->unit++;
        return true;
    }
    return false;
}
