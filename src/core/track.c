/*
 * track.c - the front desk: every allocation and every free of the program comes by here.
 *
 *    alloc   slot or pages (pool) -> record LIVE (shadow/block.c) -> the program
 *    free    find (pool) -> record FREED: one winner -> quarantine (pool)
 *
 * What is lost in the second step - a block freed twice, an address inside a block or of nobody -
 * changes nothing but the list of errors (errors.c).  The winner also compares the family of the
 * function that made the block with that which frees it, and the redzones around it.
 *
 * Filling with zeros and copying happen outside the critical section: a fork waits for sections.
 */
#include "core.h"

#include <errno.h>
#include <string.h>

#define MIN_ALIGN 16u
#define BALANCE_MAX 32768 /* the peak is exact for one thread, else to so much for each */

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
    t->balance += (int64_t)bytes;
    t->high = t->balance > t->high ? t->balance : t->high;
    if (unlikely(t->balance > BALANCE_MAX))
        threads_tell_balance(t);
}

static inline void count_free(struct thread *t, uint64_t bytes)
{
    add(&t->record->frees, 1);
    add(&t->record->free_bytes, bytes);
    t->balance -= (int64_t)bytes;
    if (unlikely(t->balance < -BALANCE_MAX))
        threads_tell_balance(t);
}

/* ---- allocating ----------------------------------------------------------------------------- */

struct order {
    size_t request;
    size_t align;
    uint32_t op;
    uint32_t flags;
    const struct entry *at;
    bool clean; /* out: reads as zero */
};

static struct block_birth birth_of(const struct section *s, const struct order *o, uint32_t size)
{
    return (struct block_birth){.family = op_family(o->op),
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
    redzone_put(p, class, o->request);
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
        struct block_birth birth = {.family = op_family(o->op),
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

static COLD void *no_memory(uint64_t request, uint32_t op, const struct entry *at)
{
    struct section s;
    if (section_begin(&s)) {
        struct error_call call = {s.t, s.go, op, stack_put(s.t, at)};
        error_no_memory(&call, request);
        section_end(&s);
    }
    errno = ENOMEM;
    return NULL;
}

void *track_refuse(uint64_t request, uint32_t op, const struct entry *at)
{
    return no_memory(request, op, at);
}

ALWAYS_INLINE void *alloc(struct order *o)
{
#ifdef RTC_SLOWER /* what tests/bench/instructions must notice */
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop; nop; nop");
#endif
    if (unlikely(o->request > PTRDIFF_MAX))
        return no_memory(o->request, o->op, o->at);
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
    return likely(p) ? p : no_memory(o->request, o->op, o->at);
}

void *track_alloc(size_t request, size_t align, uint32_t op, const struct entry *at)
{
    struct order o = {.request = request, .align = align, .op = op, .at = at};
    void *p = alloc(&o);
    if (unlikely(pool_knobs.malloc_fill >= 0) && p)
        memset(p, pool_knobs.malloc_fill, request);
    return p;
}

void *track_alloc_zeroed(size_t request, uint32_t op, const struct entry *at)
{
    struct order o = {.request = request, .align = MIN_ALIGN, .op = op, .at = at};
    void *p = alloc(&o);
    if (p && !o.clean)
        memset(p, 0, request);
    return p;
}

/* ---- freeing -------------------------------------------------------------------------------- */

/* A free under way. */
struct release {
    void *p;
    uint32_t op;
    uint32_t stack;
    uint64_t said; /* size that the caller says it has, or SIZE_NOT_SAID */
    bool libcs;    /* out: to be freed by libc */
};

static struct error_call call_of(const struct section *s, const struct release *r)
{
    return (struct error_call){s->t, s->go, r->op, r->stack};
}

/* Not the start of a live block. */
static COLD void lose(const struct section *s, struct release *r, const struct found *f)
{
    struct error_call call = call_of(s, r);
    r->libcs = error_free(&call, r->p, f);
}

/* Which families a freeing function frees: bit n = family n. */
static const uint8_t frees[FAMILY_COUNT] = {
    [FAMILY_MALLOC] = 1u << FAMILY_MALLOC | 1u << FAMILY_ALIGNED,
    [FAMILY_NEW] = 1u << FAMILY_NEW,
    [FAMILY_NEW_ARRAY] = 1u << FAMILY_NEW_ARRAY,
    [FAMILY_ALIGNED] = 1u << FAMILY_ALIGNED,
    [FAMILY_NEW_ALIGNED] = 1u << FAMILY_NEW_ALIGNED,
    [FAMILY_NEW_ARRAY_ALIGNED] = 1u << FAMILY_NEW_ARRAY_ALIGNED,
};

ALWAYS_INLINE bool is_match(uint64_t was, uint32_t op)
{
    return frees[op_family(op)] >> word_family(was) & 1;
}

/* What does not fit together, once the block is ours: wrong family or size, damage around it. */
static COLD void complain(struct section *s, const struct found *f, const struct release *r,
                          uint64_t was, uint64_t request)
{
    struct error_call call = call_of(s, r);
    struct damage d;
    bool believed = word_state(was) == BLOCK_INHERITED; /* nothing is known of it */
    if (!believed && (!is_match(was, r->op) || (r->said != SIZE_NOT_SAID && r->said != request)))
        error_mismatch(&call, r->p, f, was, r->said);
    if (believed)
        return;
    if (is_slab(f->kind) ? redzone_damage(f, r->p, request, was, s->go, &d)
                         : redzone_damage_large(f, r->p, request, was, &d))
        error_damage(&call, &d);
}

/* A handler frees what a handler got: no list, no lock.  false: it has to wait. */
static bool free_in_handler(struct release *r, const struct entry *at)
{
    struct found f = pool_find(r->p);
    if (f.verdict != PTR_START || !is_reserve(f.kind))
        return false;
    if (!slab_clear_unrecorded(&f)) {
        uint32_t go = atomic_load_explicit(&go_page->epoch, memory_order_acquire);
        uint64_t was;
        if (!go || atomic_load_explicit(&f.head->epoch, memory_order_acquire) != go)
            return false;
        struct block_record *b = pool_record(&f, go);
        r->stack = stack_put_walk(at, false);
        if (!block_retire(b, self ? self->number : 0, r->stack, &was)) {
            image_count(&image()->bad_frees[LOST_DUPLICATE]);
            image_count(&image()->errors_unrecorded); /* to write it down takes a lock */
            return true;
        }
        block_forget(b);
    }
    slab_give_in_handler(f.kind - 1, r->p);
    return true;
}

static COLD void free_outside(const struct section *s, struct release *r, const struct entry *at)
{
    if (s->kind != SECTION_HANDLER || bootstrap_owns(r->p) || free_in_handler(r, at) || !self)
        return;
    struct deferred *d = &self->deferred;
    uint32_t n = atomic_load_explicit(&d->count, memory_order_relaxed);
    if (n == DEFERRED_SLOTS)
        return; /* a handler that frees more while it interrupts us leaks the rest */
    d->block[n] = r->p;
    d->stack[n] = stack_put_walk(at, false);
    d->op[n] = r->op;
    atomic_store_explicit(&d->count, n + 1, memory_order_release);
}

/* What an inherited block was asked with is not known: from here on all of it is redzone. */
static COLD uint64_t forget_request(const struct found *f, void *p)
{
    if (is_slab(f->kind))
        redzone_put(p, f->kind - 1, 0);
    return 0;
}

ALWAYS_INLINE void free_found(struct section *s, const struct found *f, struct release *r)
{
    if (unlikely(is_reserve(f->kind)) && slab_clear_unrecorded(f)) {
        slab_give_in_handler(f->kind - 1, r->p);
        return;
    }
    struct block_record *b = pool_record_hot(f, s->go);
    uint64_t was;
    if (unlikely(!block_retire(b, s->t->number, r->stack, &was))) {
        lose(s, r, f);
        return;
    }
    uint64_t request = pool_request(f, b, was);
    count_free(s->t, request);
    if (unlikely(is_reserve(f->kind))) { /* handlers have few: no quarantine, no redzones */
        block_forget(b);
        slab_give_in_handler(f->kind - 1, r->p);
        return;
    }
    if (unlikely(!is_match(was, r->op) || (r->said != SIZE_NOT_SAID && r->said != request) ||
                 !is_slab(f->kind) || !redzone_is_whole(r->p, f->slot, f->kind - 1, request)))
        complain(s, f, r, was, request);
    if (unlikely(word_state(was) == BLOCK_INHERITED))
        request = forget_request(f, r->p);
    quarantine_push(s->t, f, r->p, request, s->go);
}

/* Inside a section. */
ALWAYS_INLINE void free_inside(struct section *s, struct release *r)
{
    struct found f = pool_find_hot(r->p);
    if (likely(f.verdict == PTR_START))
        free_found(s, &f, r);
    else if (!bootstrap_owns(r->p))
        lose(s, r, &f);
}

ALWAYS_INLINE void release(struct release *r, const struct entry *at)
{
    struct section s;
    if (!r->p)
        return;
    if (unlikely(!section_begin(&s))) {
        free_outside(&s, r, at);
        return;
    }
    if (unlikely(loader_called(at)))
        loader_frees(r->p);
    r->stack = stack_put(s.t, at);
    free_inside(&s, r);
    section_end(&s);
    if (unlikely(r->libcs) && next.free)
        next.free(r->p);
}

void track_free(void *p, uint32_t op, const struct entry *at)
{
    struct release r = {.p = p, .op = op, .said = SIZE_NOT_SAID};
    release(&r, at);
}

void track_free_sized(void *p, size_t said, uint32_t op, const struct entry *at)
{
    struct release r = {.p = p, .op = op, .said = said};
    release(&r, at);
}

void track_free_deferred(void *p, uint32_t stack, uint32_t op)
{
    struct release r = {.p = p, .op = op, .stack = stack, .said = SIZE_NOT_SAID};
    struct section s;
    if (!section_begin(&s))
        return;
    free_inside(&s, &r);
    section_end(&s);
    if (r.libcs && next.free)
        next.free(p);
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
        return is_reserve(f->kind) ? request <= pool_room(f) : class_of(request) == f->kind - 1;
    return class_of(request) >= SIZE_CLASSES;
}

static struct old_block no_block(struct section *s, struct release *r, const struct found *f)
{
    lose(s, r, f);
    return (struct old_block){.ok = false};
}

static struct old_block resize_in_place(struct section *s, const struct found *f, size_t request,
                                        struct release *r, const struct entry *at)
{
    if (slab_is_unrecorded(f))
        return (struct old_block){.ok = true, .request = pool_room(f)};
    struct block_record *b = pool_record_hot(f, s->go);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_acquire), was;
    struct old_block old = {.ok = true, .request = pool_request(f, b, word)};
    if (word_state(word) != BLOCK_LIVE && word_state(word) != BLOCK_INHERITED)
        return no_block(s, r, f);
    if (!fits_in_place(f, request) || (!is_slab(f->kind) && !large_resize(f, request)))
        return old; /* errors of the old block are found when it is freed */
    if (!is_reserve(f->kind)) {
        if (!is_match(word, r->op) || !is_slab(f->kind) ||
            !redzone_is_whole(r->p, f->slot, f->kind - 1, old.request))
            complain(s, f, r, word, old.request);
        redzone_shrink(f, r->p, request);
    }
    struct order o = {.request = request, .op = r->op, .at = at};
    struct block_birth birth = birth_of(s, &o, is_slab(f->kind) ? (uint32_t)request : 0);
    birth.family = word_family(word);
    old.done = block_resize(b, &birth, &was);
    if (!old.done)
        return no_block(s, r, f);
    count_alloc(s->t, request);
    count_free(s->t, old.request);
    return old;
}

static struct old_block look_at_old(struct release *r, size_t request, const struct entry *at)
{
    if (bootstrap_owns(r->p))
        return (struct old_block){.ok = true, .request = bootstrap_request(r->p)};
    struct section s;
    struct old_block old = {.ok = false};
    if (!section_begin(&s)) { /* in a handler: what we may know without changing anything */
        old.request = track_usable(r->p);
        old.ok = old.request != 0;
        return old;
    }
    struct found f = pool_find_hot(r->p);
    r->stack = stack_put(s.t, at);
    if (f.verdict == PTR_START)
        old = resize_in_place(&s, &f, request, r, at);
    else
        lose(&s, r, &f);
    section_end(&s);
    return old;
}

void *track_realloc(void *p, size_t request, uint32_t op, const struct entry *at)
{
    struct release r = {.p = p, .op = op, .said = SIZE_NOT_SAID};
    if (unlikely(request > PTRDIFF_MAX))
        return no_memory(request, op, at);
    struct old_block old = look_at_old(&r, request, at);
    if (r.libcs && next.realloc)
        return next.realloc(p, request);
    if (!old.ok) { /* not a block: the program keeps what it has */
        errno = ENOMEM;
        return NULL;
    }
    if (old.done)
        return p;
    void *moved = track_alloc(request, MIN_ALIGN, op, at);
    if (!moved)
        return NULL;
    memcpy(moved, p, old.request < request ? old.request : request);
    track_free(p, op, at);
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
    if (f.verdict == PTR_FOREIGN && next.malloc_usable_size && region_is_libcs(p))
        return next.malloc_usable_size((void *)(uintptr_t)p);
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
