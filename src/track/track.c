/*
 * track.c - allocations by the program. See also free.c, resize.c, query.c.
 *
 *    alloc   slot or pages (pool) -> redzone -> record LIVE (shadow/block.c) -> the program
 *
 * Memory is zeroed outside of the critical section: a fork waits for sections.
 */
#include "track_priv.h"
#include "byte_shadow.h"
#include "guarded.h"
#include "vmmalloc.h"

#include <errno.h>
#include <string.h>

/* ---- allocating ------------------------------------------------------------------------------ */

struct alloc_request {
    size_t request;
    size_t align;
    const struct entry *at;
    uint32_t flags;
    uint32_t given_align; /* its code for the record, shifted to its place beside the size */
    uint32_t op;
    bool clean; /* out: reads as zero */
};

ALWAYS_INLINE struct block_birth birth_of(const struct section *s, const struct alloc_request *o,
                                          uint32_t size, uint32_t stack)
{
    return (struct block_birth){.family = op_family(o->op),
                                .flags = o->flags | s->t->birth_flags,
                                .mark = annotations_mark_now(),
                                .thread = s->t->number,
                                .size = size,
                                .stack = stack};
}

static __attribute__((noinline)) void *publish_large(struct section *s, struct alloc_request *o,
                                                     uint32_t stack)
{
    struct found f;
    void *p = large_take(o->request, o->align, &o->clean, &f);
    if (!p)
        return NULL;
    struct block_birth birth = birth_of(s, o, o->given_align, stack);
    block_publish(pool_record(&f, s->write_epoch), &birth);
    count_alloc(s->t, o->request);
    return p;
}

/* One after the other, so that the frames of both are never on the stack together. */
static __attribute__((noinline)) void *alloc_large(struct section *s, struct alloc_request *o)
{
    uint32_t stack = stack_put(s->t, o->at);
    return publish_large(s, o, stack);
}

ALWAYS_INLINE void *alloc_slot(struct section *s, struct alloc_request *o, uint32_t class)
{
    void *p = slab_take_hot(s->t, class);
    if (unlikely(!p))
        return NULL;
    struct found f = pool_find_slot(p);
    struct block_record *b = pool_record_slot(&f, s->write_epoch);
    if (unlikely(!atomic_load_explicit(&b->word, memory_order_relaxed)))
        slab_first_use(p, b);
    struct block_birth birth =
        birth_of(s, o, (uint32_t)o->request | o->given_align, stack_put(s->t, o->at));
    redzone_put(p, class, o->request);
    block_publish(b, &birth);
    count_alloc(s->t, o->request);
    return p;
}

/* NULL: take an ordinary block. */
static COLD void *alloc_guarded(struct section *s, struct alloc_request *o)
{
    struct found f;
    struct guarded_choice choice;
    if (!guarded_choose(s->t, o->at, &choice))
        return NULL;
    if (o->given_align)
        choice.place.gap = GUARD_GAP_ALIGNED;
    uint64_t since = os_ticks();
    void *p = guard_take(o->request, o->align, choice.place, &o->clean, &f);
    if (!p)
        return NULL;
    guarded_charge(s->t, os_ticks() - since);
    if (rt.options.guard.stacks.count)
        image_flag(IMAGE_GUARDED_STACK);
    struct block_birth birth = birth_of(s, o, o->given_align, choice.stack);
    block_publish(pool_record(&f, s->write_epoch), &birth);
    count_alloc(s->t, o->request);
    return p;
}

ALWAYS_INLINE uint32_t class_for(const struct alloc_request *o)
{
    if (likely(o->align <= MIN_ALIGN))
        return class_of(o->request);
    return class_of_aligned(o->request, o->align);
}

/*
 * In a handler that interrupted us: a slot of the reserve, recorded if that needs no copy of its
 * slab's records.
 */
static void *alloc_in_handler(struct alloc_request *o)
{
    void *p = slab_take_in_handler(o->request, o->align);
    if (!p) {
        image_flag(IMAGE_HANDLER_STARVED);
        return NULL;
    }
    struct found f = pool_find(p);
    uint32_t write_epoch = atomic_load_explicit(&epoch_page->epoch, memory_order_acquire);
    if (write_epoch && atomic_load_explicit(&f.head->epoch, memory_order_acquire) == write_epoch) {
        struct block_birth birth = {.family = op_family(o->op),
                                    .flags = BLOCK_FLAG_IN_HANDLER | (self ? self->birth_flags : 0),
                                    .mark = annotations_mark_now(),
                                    .thread = self ? self->number : 0,
                                    .size = (uint32_t)o->request | o->given_align,
                                    .stack = stack_put_walk(o->at, false)};
        block_publish(pool_record(&f, write_epoch), &birth);
    } else {
        slab_note_unrecorded(&f);
    }
    image_count(&image()->handler_allocs);
    return p;
}

static COLD void *alloc_outside(const struct section *s, struct alloc_request *o)
{
    if (s->kind == SECTION_CALLBACK)
        return NULL;
    if (s->kind == SECTION_HANDLER && init_is_started())
        return alloc_in_handler(o);
    void *p = bootstrap_take(o->request, o->align);
    if (p && image())
        image_count(&image()->bootstrap_allocs);
    return p;
}

static COLD void *no_memory(uint64_t request, uint32_t op, const struct entry *at)
{
    struct section s;
    struct notification h = {.event = NOTIFY_ALLOC_ERROR, .alloc_error = {request, 0}};
    bool is_reported = op_entry(op) == ENTRY_NONE || request == REQUEST_IMPOSSIBLE; /* or will be */
    if (!is_reported && !notify_in_callback() && section_begin(&s)) {
        struct error_call call = {s.t, s.write_epoch, op, stack_put(s.t, at)};
        h.alloc_error.stack = call.stack;
        error_no_memory(&call, request);
        section_end(&s);
        notify_program(&h);
    }
    errno = ENOMEM;
    return NULL;
}

void *track_refuse(uint64_t request, uint32_t op, const struct entry *at)
{
    return no_memory(request, op, at);
}

ALWAYS_INLINE void *alloc(struct alloc_request *o)
{
#ifdef RTC_SLOWER /* a slowdown that tests/bench/instructions must detect */
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop; nop; nop");
#endif
    if (unlikely(o->request > PTRDIFF_MAX))
        return no_memory(o->request, o->op, o->at);
    struct section s;
    void *p;
    if (likely(section_begin_to_allocate(&s, o->at))) {
        if (unlikely(loader_called(o->at))) {
            loader_allocates();
            o->flags |= BLOCK_FLAG_ROOT; /* it keeps pointers where a leak scan does not search */
        }
        uint32_t class = class_for(o);
        p = unlikely(--s.t->guard_left < 0) ? alloc_guarded(&s, o) : NULL;
        if (likely(!p))
            p = likely(class < SIZE_CLASSES) ? alloc_slot(&s, o, class) : alloc_large(&s, o);
        section_end(&s);
    } else {
        p = alloc_outside(&s, o);
    }
    return likely(p) ? p : no_memory(o->request, o->op, o->at);
}

/* What is done for each new block only with an option. */
static COLD void mark_new(void *p, size_t request)
{
    if (byte_shadow_is_on)
        block_allow(p, request);
    if (pool_knobs.malloc_fill >= 0)
        fill_put_new(p, request);
}

static COLD void *alloc_timed(size_t request, size_t align, uint32_t op, const struct entry *at)
{
    enum cost_call call = cost_begin(COST_ALLOCATE, 0);
    void *p = track_alloc(request, align, op, at);
    if (call == COST_LOGGED)
        vmmalloc_log_alloc(op_entry(op), request, 0, p);
    cost_end(call);
    return p;
}

void *track_alloc(size_t request, size_t align, uint32_t op, const struct entry *at)
{
    if (cost_is_sampled())
        return alloc_timed(request, align, op, at);
    struct alloc_request o = {.request = request, .align = align, .op = op, .at = at};
    void *p = alloc(&o);
    if (unlikely(pool_knobs.marks_new) && p)
        mark_new(p, request);
    return p;
}

static COLD void *alloc_aligned_timed(size_t request, size_t align, size_t given_align, uint32_t op,
                                      const struct entry *at)
{
    enum cost_call call = cost_begin(COST_ALLOCATE, 0);
    void *p = track_alloc_aligned(request, align, given_align, op, at);
    if (call == COST_LOGGED)
        vmmalloc_log_alloc(op_entry(op), request, given_align, p);
    cost_end(call);
    return p;
}

void *track_alloc_aligned(size_t request, size_t align, size_t given_align, uint32_t op,
                          const struct entry *at)
{
    if (cost_is_sampled())
        return alloc_aligned_timed(request, align, given_align, op, at);
    struct alloc_request o = {.request = request, .align = align, .op = op, .at = at};
    o.given_align = align_code(given_align) << (BLOCK_ALIGN_SHIFT - BLOCK_SIZE_SHIFT);
    void *p = alloc(&o);
    if (unlikely(pool_knobs.marks_new) && p)
        mark_new(p, request);
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
    if (call == COST_LOGGED)
        vmmalloc_log_alloc(op_entry(op), request, 0, p);
    cost_end(call);
    return p;
}

void *track_alloc_zeroed(size_t request, uint32_t op, const struct entry *at)
{
    if (cost_is_sampled())
        return alloc_zeroed_timed(request, op, at);
    struct alloc_request o = {.request = request, .align = MIN_ALIGN, .op = op, .at = at};
    void *p = alloc(&o);
    if (unlikely(byte_shadow_is_on) && p)
        block_allow(p, request);
    if (unlikely(request >= LONG_BYTES) && p && !o.clean)
        clear_long(p, request);
    else if (p && !o.clean)
        memset(p, 0, request);
    return p;
}

/* Libraries differ in their treatment of an alignment that is not a power of two. */
void track_warn_alignment(uint64_t align, uint32_t op, const struct entry *at)
{
    struct section s;
    if (!section_begin(&s))
        return;
    struct error_call call = {s.t, s.write_epoch, op, stack_put(s.t, at)};
    error_alignment(&call, align);
    section_end(&s);
}

/* ---- totals ---------------------------------------------------------------------------------- */

struct track_totals track_totals(void)
{
    struct track_totals sum = {0};
    if (!init_is_started())
        return sum;
    struct thread_totals all = threads_totals();
    sum.allocs = all.allocs;
    sum.frees = all.frees;
    sum.live_blocks = all.allocs > all.frees ? all.allocs - all.frees : 0;
    sum.live_bytes = all.alloc_bytes > all.free_bytes ? all.alloc_bytes - all.free_bytes : 0;
    heap_totals(&sum.heap_bytes, &sum.free_bytes);
    return sum;
}
