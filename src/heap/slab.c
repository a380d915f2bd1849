/*
 * slab.c - slabs of equal slots, and the threads' caches of free slots.
 *
 *  thread's bin  <-- refill, in batches --  slabs of the class with free slots (a list)
 *                --  flush, the older half -->
 *
 * The free slots of a slab are bits in a private table, changed with the lock of the class held.  A
 * slab without used slots is released (units to units.c, segment to segment.c) unless it is the
 * only one of its class with free slots.  Slots in bins and in quarantine count as used, so no
 * thread will write a record of a released slab.
 *
 * Slots up to a page: before a slot is first taken into a bin, its pages are filled as a redzone.
 * So a write that skips the redzone after a block is found in a never allocated slot (its record is
 * 0): at the slot's first use, or by a sweep.  After the first use it reads as zero, as it would
 * natively.
 *
 * Handler slabs: a signal handler that interrupted the runtime must not use bins, lists or locks.
 * One slab for each of four sizes is made at start-up.  Only handlers take its slots.  Slots are
 * taken and returned by single atomic operations on the bits, so a slot never has two owners.
 *
 * Lock: one per class (RANK_CENTRAL), then those of large.c, units.c, copy.c and segment.c.
 */
#include "byte_shadow.h"
#include "heap_priv.h"

#include <string.h>

struct central {
    struct lock lock;
    uint32_t head; /* unit number of the first slab with free slots, 0 = none */
    /* threads that a fork left in the parent: their bins are still to be adopted */
    struct thread *orphans;
};

static struct central central[SIZE_CLASSES];
static struct unit *handler_slab[HANDLER_CLASSES];

/* ---- slabs ----------------------------------------------------------------------------------- */

static void list_add(struct central *c, struct unit *head)
{
    struct unit_note *note = note_of(head);
    note->listed = 1;
    note->prev = 0;
    note->next = c->head;
    if (c->head)
        unit_note[c->head].prev = unit_number(head);
    c->head = unit_number(head);
}

static void list_remove(struct central *c, struct unit *head)
{
    struct unit_note *note = note_of(head);
    note->listed = 0;
    if (note->prev)
        unit_note[note->prev].next = note->next;
    else
        c->head = note->next;
    if (note->next)
        unit_note[note->next].prev = note->prev;
}

/* The first slot to allocate.  Slot 0 is the redzone before slot 1; handlers' blocks have none. */
static uint32_t first_slot(uint32_t class)
{
    return class < SIZE_CLASSES;
}

static void note_all_free(const struct unit *head, uint32_t class)
{
    uint32_t slots = size_class[class].slots, first = first_slot(class);
    struct unit_note *note = note_of(head);
    uint64_t *free = bits_of(head);
    memset(free, 0, SLOT_WORDS * sizeof *free);
    for (uint32_t i = 0; i < slots / 64; i++)
        free[i] = ~0ull;
    if (slots % 64)
        free[slots / 64] = (1ull << slots % 64) - 1;
    free[0] &= ~(uint64_t)first;
    note->free_slots = (uint16_t)(slots - first);
    note->hint = 0;
    note->fresh = first;
    note->filled = 0;
    note->listed = 0;
}

struct segment *slab_segment(const struct unit *head, uint32_t class, uint32_t epoch)
{
    const struct size_class *c = &size_class[class];
    struct segment *s = segment_take(SEGMENT_SLAB, c->slots, RECORD_BYTES, unit_number(head));
    if (!s)
        return NULL;
    s->slot_bytes = c->slot_bytes;
    s->units = c->units;
    atomic_store_explicit(&s->count, c->slots, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, epoch, memory_order_relaxed);
    return s;
}

/* Slots up to a page: all pages are written soon. */
static bool is_dense(uint32_t class)
{
    return size_class[class].slot_bytes <= PAGE_BYTES;
}

static struct unit *units_for_slab(uint32_t class, bool *clean)
{
    uint32_t n = size_class[class].units;
    return is_dense(class) ? units_take_dense(n, clean) : units_take(n, 1, clean);
}

static void give_units(struct unit *head, uint32_t class, bool dirty)
{
    (is_dense(class) ? units_give_dense : units_give)(head, size_class[class].units, dirty);
}

static struct unit *make(uint32_t class)
{
    const struct size_class *c = &size_class[class];
    bool clean;
    struct unit *head = units_for_slab(class, &clean);
    if (!head && (large_evict_all() || guard_evict_all()))
        head = units_for_slab(class, &clean);
    if (!head)
        return NULL;
    uint32_t epoch = fork_epoch();
    struct segment *s = slab_segment(head, class, epoch);
    if (!s) {
        give_units(head, class, !clean);
        return NULL;
    }
    note_all_free(head, class);
    if (byte_shadow_is_on)
        byte_shadow_forbid((const void *)unit_address(head), c->units * (uint64_t)UNIT_BYTES,
                           BYTE_SHADOW_REDZONE);
    if (first_slot(class))
        redzone_put_border((char *)unit_address(head) + c->slot_bytes);
    for (uint32_t i = 1; i < c->units; i++) {
        head[i].back = i;
        atomic_store_explicit(&head[i].owner, 0, memory_order_relaxed);
    }
    head->back = 0;
    atomic_store_explicit(&head->epoch, epoch, memory_order_relaxed);
    segment_publish(s);
    atomic_store_explicit(&head->owner, owner_of(class + 1, (uintptr_t)s),
                          memory_order_release); /* pairs with pool_find_hot */
    return head;
}

struct making {
    uint32_t class;
    struct unit *head;
};

static void make_on_helper(void *about)
{
    struct making *m = about;
    m->head = make(m->class);
}

/* Make a slab of the class; NULL: no memory for it or for its records. */
static struct unit *slab_make(uint32_t class)
{
    struct making m = {.class = class};
    helper_call(make_on_helper, &m);
    return m.head;
}

/* Release a slab without used slots: no thread will write its records. */
static void slab_unmake(struct unit *head, uint32_t class)
{
    struct segment *s = owner_pointer(atomic_load_explicit(&head->owner, memory_order_relaxed));
    fork_retire_segment(s, atomic_load_explicit(&head->epoch, memory_order_relaxed));
    give_units(head, class, true);
}

static char *slot_address(const struct unit *head, uint32_t class, uint32_t slot)
{
    return (char *)unit_address(head) + (uintptr_t)slot * size_class[class].slot_bytes;
}

/*
 * Slots are taken lowest first, so all slots below were taken: the left neighbour's last byte is
 * set.
 */
static void *slot_taken(const struct unit *head, uint32_t class, uint32_t slot)
{
    struct unit_note *note = note_of(head);
    const struct size_class *c = &size_class[class];
    char *p = slot_address(head, class, slot);
    if (slot < note->fresh)
        return p;
    note->fresh = slot + 1;
    p[c->slot_bytes - 1] = (char)REDZONE_BYTE;
    uint32_t filled = atomic_load_explicit(&note->filled, memory_order_relaxed);
    uint32_t from = slot * c->slot_bytes, to = (uint32_t)align_up(from + c->slot_bytes, PAGE_BYTES);
    if (!is_dense(class) || to <= filled)
        return p;
    from = from > filled ? from : filled;
    to = to < c->slots * c->slot_bytes ? to : c->slots * c->slot_bytes;
    memset(slot_address(head, class, 0) + from, REDZONE_BYTE, to - from);
    atomic_store_explicit(&note->filled, to, memory_order_release); /* pairs with never_damage */
    return p;
}

void slab_forget_never(void)
{
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    for (struct unit *u = heap.unit + 1; u < heap.unit + end; u++)
        if (!u->back && is_slab(owner_kind(atomic_load_explicit(&u->owner, memory_order_relaxed))))
            atomic_store_explicit(&note_of(u)->filled, NEVER_FORGOTTEN, memory_order_relaxed);
}

COLD void slab_first_use(void *slot, struct block_record *b)
{
    struct found f = pool_find_slot(slot);
    struct damage d;
    if (!is_dense(f.kind - 1))
        return;
    /*
     * Set the word before the bytes change: a sweep that sees changed bytes checks it again.  The
     * generation must not be 0, or the word would be 0 again while the block is published.
     */
    atomic_store_explicit(&b->word, 1ull << BLOCK_GEN_SHIFT | BLOCK_FREE, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* pairs with the acquire fence of visit_never */
    if (never_damage(&f, slot, &d))
        quarantine_report(&d);
    /* Not its tail: that is the redzone before the right neighbour at every moment. */
    memset(slot, 0, size_class[f.kind - 1].slot_bytes - REDZONE_TAIL);
}

/* Take up to `want` free slots of one slab, lowest first. */
static uint32_t slab_pick(struct unit *head, uint32_t class, void **out, uint32_t want)
{
    struct unit_note *note = note_of(head);
    uint64_t *free = bits_of(head);
    uint32_t got = 0;
    for (uint32_t w = note->hint; w < SLOT_WORDS && got < want && note->free_slots; w++) {
        note->hint = w;
        while (free[w] && got < want) {
            uint32_t bit = (uint32_t)__builtin_ctzll(free[w]);
            free[w] &= free[w] - 1;
            note->free_slots--;
            out[got++] = slot_taken(head, class, w * 64 + bit);
        }
    }
    return got;
}

static void slab_return(struct central *c, uint32_t class, void *slot)
{
    struct unit *u = heap.unit + (((uintptr_t)slot - heap.base) >> RTC_UNIT_SHIFT);
    struct unit *head = u - u->back;
    struct unit_note *note = note_of(head);
    uint32_t i = (uint32_t)((uintptr_t)slot - unit_address(head)) / size_class[class].slot_bytes;
    bits_of(head)[i / 64] |= 1ull << i % 64;
    note->free_slots++;
    if (i / 64 < note->hint)
        note->hint = i / 64;
    if (!note->listed)
        list_add(c, head);
    bool others = note->next || note->prev;
    if (note->free_slots == size_class[class].slots - first_slot(class) && others) {
        list_remove(c, head);
        slab_unmake(head, class);
    }
}

/* ---- bins ------------------------------------------------------------------------------------ */

static uint32_t bin_limit(uint32_t class)
{
    uint32_t limit = 16384 / size_class[class].slot_bytes;
    return limit > CACHE_SLOTS ? CACHE_SLOTS : limit < 4 ? 4 : limit;
}

/* Take slots from the bins of threads that exist only in the parent. */
static uint32_t adopt(struct central *c, uint32_t class, void **out)
{
    for (; c->orphans; c->orphans = c->orphans->next) {
        struct cache_bin *bin = &c->orphans->bin[class];
        if (bin->count) {
            uint32_t n = bin->count;
            memcpy(out, bin->slot, n * sizeof *out);
            bin->count = 0;
            return n;
        }
    }
    return 0;
}

static uint32_t central_take(uint32_t class, void **out, uint32_t want)
{
    struct central *c = &central[class];
    lock_take(&c->lock);
    uint32_t got = c->orphans ? adopt(c, class, out) : 0;
    while (got == 0) {
        struct unit *head = c->head ? heap.unit + c->head : NULL;
        if (!head) {
            head = slab_make(class);
            if (!head)
                break;
            list_add(c, head);
        }
        got = slab_pick(head, class, out, want);
        if (note_of(head)->free_slots == 0)
            list_remove(c, head);
    }
    lock_drop(&c->lock);
    return got;
}

void *slab_take(struct thread *t, uint32_t class)
{
    struct cache_bin *bin = &t->bin[class];
    if (!bin->limit)
        bin->limit = bin_limit(class);
    if (!bin->count)
        bin->count = central_take(class, bin->slot, (bin->limit + 1) / 2);
    /* Reverse the order, so that the lowest address is used first. */
    for (uint32_t i = 0; i < bin->count / 2; i++) {
        void *swap = bin->slot[i];
        bin->slot[i] = bin->slot[bin->count - 1 - i];
        bin->slot[bin->count - 1 - i] = swap;
    }
    return bin->count ? bin->slot[--bin->count] : NULL;
}

static void flush(struct cache_bin *bin, uint32_t class, uint32_t n)
{
    struct central *c = &central[class];
    lock_take(&c->lock);
    for (uint32_t i = 0; i < n; i++)
        slab_return(c, class, bin->slot[i]);
    lock_drop(&c->lock);
    bin->count -= n;
    memmove(bin->slot, bin->slot + n, bin->count * sizeof *bin->slot);
}

void slab_give(struct thread *t, uint32_t class, void *slot)
{
    if (unlikely(class >= SIZE_CLASSES)) {
        slab_give_in_handler(class, slot);
        return;
    }
    struct cache_bin *bin = &t->bin[class];
    if (!bin->limit)
        bin->limit = bin_limit(class);
    if (bin->count == bin->limit)
        flush(bin, class, (bin->limit + 1) / 2);
    bin->slot[bin->count++] = slot;
}

void slab_drain(struct thread *t)
{
    for (uint32_t class = 0; class < SIZE_CLASSES; class ++)
        if (t->bin[class].count)
            flush(&t->bin[class], class, t->bin[class].count);
}

/* ---- memory that the program maps over ------------------------------------------------------- */

bool slab_is_unused(struct unit *head, uint32_t kind, uint32_t write_epoch)
{
    struct found f = {PTR_START, head, kind, 0, 0};
    for (; !is_reserve(kind) && f.slot < size_class[kind - 1].slots; f.slot++) {
        uint64_t word, stacks;
        if (!block_read(pool_look(&f, write_epoch), &word, &stacks) ||
            word_state(word) == BLOCK_LIVE || word_state(word) == BLOCK_INHERITED)
            return false;
    }
    return !is_reserve(kind);
}

static void drop_from_bin(struct cache_bin *bin, uintptr_t start, uintptr_t end)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < bin->count; i++)
        if ((uintptr_t)bin->slot[i] < start || (uintptr_t)bin->slot[i] >= end)
            bin->slot[kept++] = bin->slot[i];
    bin->count = kept;
}

void slab_drop(struct unit *head, uint32_t kind, uint32_t write_epoch)
{
    uint32_t class = kind - 1;
    uintptr_t start = unit_address(head), end = start + size_class[class].units * UNIT_BYTES;
    struct central *c = &central[class];
    for (struct thread *t = threads_first(); t; t = t->next) {
        quarantine_drop(t, start, end, write_epoch);
        drop_from_bin(&t->bin[class], start, end);
    }
    lock_take(&c->lock);
    for (struct thread *t = c->orphans; t; t = t->next)
        drop_from_bin(&t->bin[class], start, end);
    if (note_of(head)->listed)
        list_remove(c, head);
    slab_unmake(head, class);
    lock_drop(&c->lock);
}

/* ---- handlers -------------------------------------------------------------------------------- */

/* Take one of 64 slots of a handler slab; NULL: none is free. */
static void *take_of_word(uint32_t k, uint32_t w)
{
    uint64_t *word = &bits_of(handler_slab[k])[w];
    uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (seen)
        if (__atomic_compare_exchange_n(word, &seen, seen & (seen - 1), true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return slot_address(handler_slab[k], SIZE_CLASSES + k,
                                w * 64 + (uint32_t)__builtin_ctzll(seen));
    return NULL;
}

void *slab_take_in_handler(size_t request, size_t align)
{
    for (uint32_t k = 0; k < HANDLER_CLASSES; k++) {
        const struct size_class *c = &size_class[SIZE_CLASSES + k];
        if (request >= c->slot_bytes || align > c->slot_bytes || align > UNIT_BYTES ||
            !handler_slab[k])
            continue;
        for (uint32_t w = 0; w <= (c->slots - 1u) / 64; w++) {
            void *slot = take_of_word(k, w);
            if (slot)
                return slot;
        }
    }
    return NULL;
}

/*
 * Blocks without a record: the slab's records were not writable in this epoch, and copying takes
 * locks.  They are marked in words after the free bits: their records are invalid.
 */
#define UNRECORDED_WORD 32u

void slab_note_unrecorded(const struct found *f)
{
    __atomic_fetch_or(&bits_of(f->head)[UNRECORDED_WORD + f->slot / 64], 1ull << f->slot % 64,
                      __ATOMIC_RELAXED);
}

bool slab_is_unrecorded(const struct found *f)
{
    return is_reserve(f->kind) &&
           __atomic_load_n(&bits_of(f->head)[UNRECORDED_WORD + f->slot / 64], __ATOMIC_RELAXED) >>
                   f->slot % 64 &
               1;
}

bool slab_clear_unrecorded(const struct found *f)
{
    uint64_t bit = 1ull << f->slot % 64;
    return slab_is_unrecorded(f) &&
           __atomic_fetch_and(&bits_of(f->head)[UNRECORDED_WORD + f->slot / 64], ~bit,
                              __ATOMIC_RELAXED) &
               bit;
}

void slab_give_in_handler(uint32_t class, void *slot)
{
    struct unit *head = handler_slab[class - SIZE_CLASSES];
    uint32_t i = (uint32_t)((uintptr_t)slot - unit_address(head)) / size_class[class].slot_bytes;
    /* Pairs with the acquire above: the next owner sees the record as it is now. */
    __atomic_fetch_or(&bits_of(head)[i / 64], 1ull << i % 64, __ATOMIC_RELEASE);
}

/* ---- start and forks ------------------------------------------------------------------------- */

void slab_start(void)
{
    for (uint32_t class = 0; class < SIZE_CLASSES; class ++)
        central[class].lock.rank = RANK_CENTRAL;
    for (uint32_t k = 0; k < HANDLER_CLASSES; k++)
        handler_slab[k] = slab_make(SIZE_CLASSES + k);
}

void slab_after_fork(bool trusted, struct thread *orphans)
{
    for (uint32_t class = 0; class < SIZE_CLASSES; class ++) {
        struct central *c = &central[class];
        lock_reset(&c->lock);
        c->orphans = trusted ? orphans : NULL;
        if (!trusted) /* a list may have been copied half-linked; its slabs are not used again */
            c->head = 0;
    }
}
