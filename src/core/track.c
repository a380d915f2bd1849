/*
 * track.c - the front desk: every allocation and every free of the program comes by here.
 *
 *    alloc   slot or pages (pool) -> record LIVE (shadow/block.c) -> the program
 *    free    find (pool) -> record FREED: one winner -> quarantine (pool)
 *
 * What is lost in the second step - a block freed twice, an address inside a block or of nobody -
 * changes nothing and is counted in the image header by its verdict.
 *
 * Filling with zeros and copying happen outside the critical section: a fork waits for sections.
 */
#include "core.h"

#include <errno.h>
#include <string.h>

#define MIN_ALIGN 16u

/* ---- counting ------------------------------------------------------------------------------- */

static inline void add(_Atomic uint64_t *counter, uint64_t n)
{
    /* One writer: the thread itself.  Readers outside see a value of some recent moment. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline void count_alloc(struct thread *t, uint64_t bytes)
{
    add(&t->record->allocs, 1);
    add(&t->record->alloc_bytes, bytes);
}

static inline void count_free(struct thread *t, uint64_t bytes)
{
    add(&t->record->frees, 1);
    add(&t->record->free_bytes, bytes);
}

static COLD void count_lost(enum free_verdict_counter why)
{
    image_count(&image()->bad_frees[why]);
}

/* ---- allocating ----------------------------------------------------------------------------- */

struct order {
    size_t request;
    size_t align;
    enum block_family family;
    uint32_t flags;
    const struct entry *at;
    bool clean; /* out: reads as zero */
};

static struct block_birth birth_of(const struct section *s, const struct order *o, uint32_t size)
{
    return (struct block_birth){.family = o->family,
                                .flags = o->flags,
                                .mark = MARK_FIRST,
                                .thread = s->t->number,
                                .size = size,
                                .stack = stack_put(s->t, o->at)};
}

static COLD void *alloc_large(struct section *s, struct order *o)
{
    struct found f;
    void *p = large_take(o->request, o->align, &o->clean, &f);
    if (!p)
        return NULL;
    struct block_birth birth = birth_of(s, o, 0);
    block_publish(pool_record(&f, s->go), &birth);
    count_alloc(s->t, o->request);
    return p;
}

ALWAYS_INLINE void *alloc_slot(struct section *s, struct order *o, uint32_t class)
{
    void *p = slab_take_hot(s->t, class);
    if (unlikely(!p))
        return NULL;
    struct found f = pool_find_hot(p);
    struct block_record *b = pool_record_hot(&f, s->go);
    struct block_birth birth = birth_of(s, o, (uint32_t)o->request);
    block_publish(b, &birth);
    count_alloc(s->t, o->request);
    return p;
}

ALWAYS_INLINE uint32_t class_for(const struct order *o)
{
    if (likely(o->align <= MIN_ALIGN))
        return class_of(o->request);
    return class_of_aligned(o->request, o->align);
}

/* A handler that interrupted us: a slot of the reserve, recorded when that needs no copying. */
static void *alloc_in_handler(struct order *o)
{
    void *p = slab_take_in_handler(o->request, o->align);
    if (!p)
        return NULL;
    struct found f = pool_find(p);
    uint32_t go = atomic_load_explicit(&go_page->epoch, memory_order_acquire);
    if (go && atomic_load_explicit(&f.head->epoch, memory_order_acquire) == go) {
        struct block_birth birth = {.family = o->family,
                                    .flags = BLOCK_FLAG_IN_HANDLER,
                                    .mark = MARK_FIRST,
                                    .thread = self ? self->number : 0,
                                    .size = (uint32_t)o->request,
                                    .stack = stack_put_walk(o->at, false)};
        block_publish(pool_record(&f, go), &birth);
    } else {
        slab_note_unrecorded(&f);
    }
    image_count(&image()->handler_allocs);
    return p;
}

static COLD void *alloc_outside(const struct section *s, struct order *o)
{
    if (s->kind == SECTION_HANDLER && core_is_started())
        return alloc_in_handler(o);
    void *p = bootstrap_take(o->request, o->align);
    if (p && image())
        image_count(&image()->bootstrap_allocs);
    return p;
}

static COLD void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

ALWAYS_INLINE void *alloc(struct order *o)
{
#ifdef RTC_SLOWER /* what tests/bench/instructions must notice */
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop; nop; nop");
#endif
    if (unlikely(o->request > PTRDIFF_MAX))
        return no_memory();
    struct section s;
    void *p;
    if (likely(section_begin(&s))) {
        if (unlikely(loader_called(o->at)))
            loader_allocates();
        uint32_t class = class_for(o);
        p = likely(class < SIZE_CLASSES) ? alloc_slot(&s, o, class) : alloc_large(&s, o);
        section_end(&s);
    } else {
        p = alloc_outside(&s, o);
    }
    return likely(p) ? p : no_memory();
}

void *track_alloc(size_t request, size_t align, enum block_family family, const struct entry *at)
{
    struct order o = {.request = request, .align = align, .family = family, .at = at};
    void *p = alloc(&o);
    if (unlikely(pool_knobs.malloc_fill >= 0) && p)
        memset(p, pool_knobs.malloc_fill, request);
    return p;
}

void *track_alloc_zeroed(size_t request, const struct entry *at)
{
    struct order o = {.request = request, .align = MIN_ALIGN, .family = FAMILY_MALLOC, .at = at};
    void *p = alloc(&o);
    if (p && !o.clean)
        memset(p, 0, request);
    return p;
}

/* ---- freeing -------------------------------------------------------------------------------- */

/* An address that is not the start of a live block.  `word` is what its record says, if any. */
static COLD void lose(const struct found *f, uint64_t word)
{
    if (f->verdict == PTR_FOREIGN)
        count_lost(LOST_FOREIGN);
    else if (f->verdict == PTR_INSIDE)
        count_lost(LOST_MISALIGNED);
    else if (f->verdict == PTR_START && word_state(word) != BLOCK_NEVER)
        count_lost(LOST_DUPLICATE);
    else
        count_lost(LOST_BAD);
}

/* A handler frees what a handler got: no list, no lock.  false: it has to wait. */
static bool free_in_handler(void *p, const struct entry *at)
{
    struct found f = pool_find(p);
    if (f.verdict != PTR_START || !is_reserve(f.kind))
        return false;
    if (!slab_clear_unrecorded(&f)) {
        uint32_t go = atomic_load_explicit(&go_page->epoch, memory_order_acquire);
        uint64_t was;
        if (!go || atomic_load_explicit(&f.head->epoch, memory_order_acquire) != go)
            return false;
        struct block_record *b = pool_record(&f, go);
        if (!block_retire(b, self ? self->number : 0, stack_put_walk(at, false), &was)) {
            lose(&f, was);
            return true;
        }
        block_forget(b);
    }
    slab_give_in_handler(f.kind - 1, p);
    return true;
}

static COLD void free_outside(const struct section *s, void *p, const struct entry *at)
{
    if (s->kind != SECTION_HANDLER || bootstrap_owns(p) || free_in_handler(p, at) || !self)
        return;
    struct deferred *d = &self->deferred;
    uint32_t n = atomic_load_explicit(&d->count, memory_order_relaxed);
    if (n == DEFERRED_SLOTS)
        return; /* a handler that frees more while it interrupts us leaks the rest */
    d->block[n] = p;
    d->stack[n] = stack_put_walk(at, false);
    atomic_store_explicit(&d->count, n + 1, memory_order_release);
}

/* NULL: it was no live block, and somebody has been told. */
ALWAYS_INLINE struct block_record *retire(struct section *s, const struct found *f, uint32_t stack,
                                          uint64_t *request)
{
    struct block_record *b = pool_record_hot(f, s->go);
    uint64_t was;
    if (unlikely(!block_retire(b, s->t->number, stack, &was))) {
        lose(f, was);
        return NULL;
    }
    *request = pool_request(f, b, was);
    count_free(s->t, *request);
    return b;
}

/* A handler's block that is freed outside: they have few, so it does not wait in the quarantine. */
static COLD void free_reserve(struct section *s, const struct found *f, void *p, uint32_t stack)
{
    if (!slab_clear_unrecorded(f)) {
        uint64_t request;
        struct block_record *b = retire(s, f, stack, &request);
        if (!b)
            return;
        block_forget(b);
    }
    slab_give_in_handler(f->kind - 1, p);
}

ALWAYS_INLINE void free_found(struct section *s, const struct found *f, void *p, uint32_t stack)
{
    uint64_t request;
    if (unlikely(is_reserve(f->kind)))
        free_reserve(s, f, p, stack);
    else if (likely(retire(s, f, stack, &request)))
        quarantine_push(s->t, f, p, request, s->go);
}

/* Inside a section. */
ALWAYS_INLINE void free_inside(struct section *s, void *p, uint32_t stack)
{
    struct found f = pool_find_hot(p);
    if (likely(f.verdict == PTR_START))
        free_found(s, &f, p, stack);
    else if (!bootstrap_owns(p))
        lose(&f, 0);
}

void track_free(void *p, enum block_family family, const struct entry *at)
{
    (void)family; /* recorded with the block; the comparison belongs to the errors */
    if (!p)
        return;
    struct section s;
    if (unlikely(!section_begin(&s))) {
        free_outside(&s, p, at);
        return;
    }
    if (unlikely(loader_called(at)))
        loader_frees(p);
    free_inside(&s, p, stack_put(s.t, at));
    section_end(&s);
}

void track_free_deferred(void *p, uint32_t stack)
{
    struct section s;
    if (!section_begin(&s))
        return;
    free_inside(&s, p, stack);
    section_end(&s);
}

/* ---- resizing ------------------------------------------------------------------------------- */

struct old_block {
    bool ok;
    bool done; /* resized in place */
    uint64_t request;
};

static bool fits_in_place(const struct found *f, uint64_t request)
{
    if (is_slab(f->kind))
        return is_reserve(f->kind) ? request <= pool_room(f)
                                   : class_of(request) == f->kind - 1;
    return class_of(request) >= SIZE_CLASSES;
}

static struct old_block resize_in_place(struct section *s, const struct found *f, size_t request,
                                        const struct entry *at)
{
    if (slab_is_unrecorded(f))
        return (struct old_block){.ok = true, .request = pool_room(f)};
    struct block_record *b = pool_record_hot(f, s->go);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_acquire);
    struct old_block old = {.ok = true, .request = pool_request(f, b, word)};
    if (word_state(word) != BLOCK_LIVE && word_state(word) != BLOCK_INHERITED) {
        lose(f, word);
        return (struct old_block){.ok = false};
    }
    if (!fits_in_place(f, request) ||
        (!is_slab(f->kind) && !large_resize(f, request)))
        return old;
    struct order o = {.request = request, .family = word_family(word), .at = at};
    struct block_birth birth = birth_of(s, &o, is_slab(f->kind) ? (uint32_t)request : 0);
    birth.family = word_family(word);
    uint64_t was;
    old.done = block_resize(b, &birth, &was);
    old.ok = old.done;
    if (!old.ok) {
        lose(f, was);
        return old;
    }
    count_alloc(s->t, request);
    count_free(s->t, old.request);
    return old;
}

static struct old_block look_at_old(void *p, size_t request, const struct entry *at)
{
    if (bootstrap_owns(p))
        return (struct old_block){.ok = true, .request = bootstrap_request(p)};
    struct section s;
    struct old_block old = {.ok = false};
    if (!section_begin(&s)) { /* in a handler: what we may know without changing anything */
        old.request = track_usable(p);
        old.ok = old.request != 0;
        return old;
    }
    struct found f = pool_find_hot(p);
    if (f.verdict == PTR_START)
        old = resize_in_place(&s, &f, request, at);
    else
        lose(&f, 0);
    section_end(&s);
    return old;
}

void *track_realloc(void *p, size_t request, const struct entry *at)
{
    if (unlikely(request > PTRDIFF_MAX))
        return no_memory();
    struct old_block old = look_at_old(p, request, at);
    if (!old.ok)
        return no_memory(); /* not a block: the program keeps what it has */
    if (old.done)
        return p;
    void *moved = track_alloc(request, MIN_ALIGN, FAMILY_MALLOC, at);
    if (!moved)
        return NULL;
    memcpy(moved, p, old.request < request ? old.request : request);
    track_free(p, FAMILY_MALLOC, at);
    return moved;
}

/* ---- asking --------------------------------------------------------------------------------- */

static size_t usable_of(const struct found *f, uint32_t go)
{
    if (f->verdict != PTR_START)
        return 0;
    if (slab_is_unrecorded(f))
        return pool_room(f);
    const struct block_record *b = pool_look(f, go);
    uint64_t word =
        atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&b->word, memory_order_acquire);
    bool live = word_state(word) == BLOCK_LIVE || word_state(word) == BLOCK_INHERITED;
    return live ? pool_request(f, b, word) : 0;
}

size_t track_usable(const void *p)
{
    if (!p)
        return 0;
    if (bootstrap_owns(p))
        return bootstrap_request(p);
    struct section s;
    bool inside = section_begin(&s);
    struct found f = pool_find(p);
    size_t bytes = usable_of(&f, inside ? s.go : 0);
    if (inside)
        section_end(&s);
    return bytes;
}

struct track_totals track_totals(void)
{
    struct track_totals sum = {0};
    if (!core_is_started())
        return sum;
    struct thread_totals all = threads_totals();
    sum.allocs = all.allocs;
    sum.frees = all.frees;
    sum.live_blocks = all.allocs > all.frees ? all.allocs - all.frees : 0;
    sum.live_bytes = all.alloc_bytes > all.free_bytes ? all.alloc_bytes - all.free_bytes : 0;
    heap_totals(&sum.heap_bytes, &sum.free_bytes);
    return sum;
}
