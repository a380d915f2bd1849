/*
 * track.c - the front desk: every allocation of the program comes by here.  See free.c, resize.c.
 *
 *    alloc   slot or pages (pool) -> redzone -> record LIVE (shadow/block.c) -> the program
 *
 * Filling with zeros happens outside the critical section: a fork waits for sections.
 */
#include "core_priv.h"

#include <errno.h>
#include <string.h>

/* ---- allocating ------------------------------------------------------------------------------ */

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
                                .flags = o->flags | s->t->birth_flags,
                                .mark = hints_mark_now(),
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
    struct found f = pool_find_slot(p);
    struct block_record *b = pool_record_slot(&f, s->go);
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
    if (!p) {
        image_flag(IMAGE_HANDLER_STARVED);
        return NULL;
    }
    struct found f = pool_find(p);
    uint32_t go = atomic_load_explicit(&go_page->epoch, memory_order_acquire);
    if (go && atomic_load_explicit(&f.head->epoch, memory_order_acquire) == go) {
        struct block_birth birth = {.family = op_family(o->op),
                                    .flags = BLOCK_FLAG_IN_HANDLER | (self ? self->birth_flags : 0),
                                    .mark = hints_mark_now(),
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
    if (s->kind == SECTION_CALLBACK)
        return NULL;
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
    struct heard h = {.event = HEARD_ALLOC_ERROR, .alloc_error = {request, 0}};
    bool told = op_entry(op) == ENTRY_NONE || request == REQUEST_HOPELESS; /* or will be */
    if (!told && !heard_in_callback() && section_begin(&s)) {
        struct error_call call = {s.t, s.go, op, stack_put(s.t, at)};
        h.alloc_error.stack = call.stack;
        error_no_memory(&call, request);
        section_end(&s);
        heard_tell(&h);
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
    if (likely(section_begin_to_allocate(&s, o->at))) {
        if (unlikely(loader_called(o->at))) {
            loader_allocates();
            o->flags |= BLOCK_FLAG_ROOT; /* it keeps pointers where nobody would look for them */
        }
        uint32_t class = class_for(o);
        p = likely(class < SIZE_CLASSES) ? alloc_slot(&s, o, class) : alloc_large(&s, o);
        section_end(&s);
    } else {
        p = alloc_outside(&s, o);
    }
    return likely(p) ? p : no_memory(o->request, o->op, o->at);
}

static COLD void *alloc_timed(size_t request, size_t align, uint32_t op, const struct entry *at)
{
    enum cost_call call = cost_begin(COST_ALLOCATE, 0);
    void *p = track_alloc(request, align, op, at);
    cost_end(call);
    return p;
}

void *track_alloc(size_t request, size_t align, uint32_t op, const struct entry *at)
{
    if (cost_is_due())
        return alloc_timed(request, align, op, at);
    struct order o = {.request = request, .align = align, .op = op, .at = at};
    void *p = alloc(&o);
    if (unlikely(pool_knobs.malloc_fill >= 0) && p)
        memset(p, pool_knobs.malloc_fill, request);
    return p;
}

static COLD void clear_long(void *p, size_t bytes)
{
    uint64_t since = cost_phase_begin();
    memset(p, 0, bytes);
    cost_phase_end(COST_ALLOCATE, since);
}

static COLD void *alloc_zeroed_timed(size_t request, uint32_t op, const struct entry *at)
{
    enum cost_call call = cost_begin(COST_ALLOCATE, request);
    void *p = track_alloc_zeroed(request, op, at);
    cost_end(call);
    return p;
}

void *track_alloc_zeroed(size_t request, uint32_t op, const struct entry *at)
{
    if (cost_is_due())
        return alloc_zeroed_timed(request, op, at);
    struct order o = {.request = request, .align = MIN_ALIGN, .op = op, .at = at};
    void *p = alloc(&o);
    if (unlikely(request >= LONG_BYTES) && p && !o.clean)
        clear_long(p, request);
    else if (p && !o.clean)
        memset(p, 0, request);
    return p;
}

/* ---- asking ---------------------------------------------------------------------------------- */

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

uint32_t track_stack(const void *p)
{
    struct section s;
    uint64_t word, stacks = 0;
    if (!section_begin(&s))
        return 0;
    struct found f = pool_find(p);
    bool found = (f.verdict == PTR_START || f.verdict == PTR_INSIDE) && !slab_is_unrecorded(&f) &&
                 block_read(pool_look(&f, s.go), &word, &stacks) && word_state(word) == BLOCK_LIVE;
    section_end(&s);
    return found ? (uint32_t)(stacks >> 32) : 0;
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
