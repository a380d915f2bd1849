/*
 * free.c - frees by the program.
 *
 *    free    find (pool) -> record FREED: one winner -> quarantine (pool)
 *
 * If the second step fails (double free, address inside a block, invalid address), only the list of
 * errors changes (errors.c). The winner also compares the family, size and alignment of the free
 * with those of the allocation, and checks the redzones.
 */
#include "track_priv.h"
#include "guarded.h"
#include "mutant.h"
#include "vmmalloc.h"

const uint8_t frees_families[FAMILY_COUNT + 1] = {
    [FAMILY_MALLOC] = 1u << FAMILY_MALLOC | 1u << FAMILY_ALIGNED,
    [FAMILY_NEW] = 1u << FAMILY_NEW,
    [FAMILY_NEW_ARRAY] = 1u << FAMILY_NEW_ARRAY,
    [FAMILY_ALIGNED] = 1u << FAMILY_ALIGNED,
    [FAMILY_NEW_ALIGNED] = 1u << FAMILY_NEW_ALIGNED,
    [FAMILY_NEW_ARRAY_ALIGNED] = 1u << FAMILY_NEW_ARRAY_ALIGNED,
    [FAMILY_COUNT] = 0xff, /* OP_ANY */
};

/* ---- checks ---------------------------------------------------------------------------------- */

static struct error_call call_of(const struct section *s, const struct release *r)
{
    return (struct error_call){s->t, s->write_epoch, r->op, r->stack};
}

COLD bool report_bad_free(const struct section *s, struct release r)
{
    struct error_call call = call_of(s, &r);
    struct found f = pool_find(r.p);
    return error_free(&call, r.p, &f);
}

COLD void check_freed_block(const struct section *s, struct release r, uint64_t was,
                            uint64_t request)
{
    struct error_call call = call_of(s, &r);
    struct found f = pool_find(r.p);
    struct damage d;
    if (word_state(was) == BLOCK_INHERITED)
        return; /* inherited by a forked child: its record is not trusted */
    if ((!is_match(was, &r) && !MUTANT(NO_FAMILY) && !family_is_unknown(s, &r, was, request)) ||
        (r.given_size != SIZE_NOT_GIVEN && r.given_size != request && !MUTANT(NO_SIZE)) ||
        is_misaligned(was, &r))
        error_mismatch(&call, r.p, &f, was, &(struct given_shape){r.given_size, r.align});
    if (is_slab(f.kind)) {
        if (redzone_damage(&f, r.p, request, was, s->write_epoch, &d))
            error_damage(&call, &d);
        return;
    }
    for (int side = 0; side < 2 && redzone_damage_large(&f, r.p, request, was, &d); side++)
        error_damage(&call, &d);
}

/* ---- frees in signal handlers ---------------------------------------------------------------- */

/*
 * Free a block that a handler has allocated: needs no list and no lock. false: the free must be
 * deferred.
 */
static bool free_in_handler(struct release r, const struct entry *at)
{
    struct found f = pool_find(r.p);
    if (f.verdict != PTR_START || !is_reserve(f.kind))
        return false;
    if (!slab_clear_unrecorded(&f)) {
        uint32_t write_epoch = atomic_load_explicit(&epoch_page->epoch, memory_order_acquire);
        uint64_t was;
        if (!write_epoch ||
            atomic_load_explicit(&f.head->epoch, memory_order_acquire) != write_epoch)
            return false;
        struct block_record *b = pool_record(&f, write_epoch);
        r.stack = stack_put_walk(at, false);
        if (!block_retire(b, self ? self->number : 0, r.stack, &was)) {
            image_count(&image()->bad_frees[BAD_FREE_DUPLICATE]);
            image_count(&image()->errors_unrecorded); /* recording the error would take a lock */
            return true;
        }
        block_forget(b);
    }
    slab_give_in_handler(f.kind - 1, r.p);
    return true;
}

static COLD void free_outside(const struct section *s, struct release r, const struct entry *at)
{
    if (s->kind != SECTION_HANDLER || bootstrap_owns(r.p) || free_in_handler(r, at) || !self)
        return;
    struct deferred *d = &self->deferred;
    uint32_t n = atomic_load_explicit(&d->count, memory_order_relaxed);
    if (n == DEFERRED_SLOTS)
        return; /* if handlers defer more frees than this, the excess leaks */
    d->block[n] = r.p;
    d->stack[n] = stack_put_walk(at, false);
    d->op[n] = r.op;
    atomic_store_explicit(&d->count, n + 1, memory_order_release);
}

/* ---- freeing --------------------------------------------------------------------------------- */

static COLD bool failed_free(struct section *s, struct release r);

/* Blocks of handlers have no quarantine and no redzones. */
static COLD bool free_of_reserve(struct section *s, struct release r)
{
    struct found f = pool_find(r.p);
    if (!slab_clear_unrecorded(&f)) {
        struct block_record *b = pool_record(&f, s->write_epoch);
        uint64_t was;
        if (!block_retire(b, s->t->number, r.stack, &was))
            return failed_free(s, r);
        count_free(s->t, pool_request(&f, b, was));
        block_forget(b);
    }
    slab_give_in_handler(f.kind - 1, r.p);
    return false;
}

static COLD bool free_large(struct section *s, struct release r)
{
    struct found f = pool_find(r.p);
    struct block_record *b = pool_record(&f, s->write_epoch);
    uint64_t was;
    if (!block_retire(b, s->t->number, r.stack, &was))
        return failed_free(s, r);
    uint64_t request = pool_request(&f, b, was);
    count_free(s->t, request);
    check_freed_block(s, r, was, request);
    if (word_state(was) == BLOCK_INHERITED) /* its end is not known: it has no redzone yet */
        redzone_put_large(&f, r.p, request);
    if (s->t->timed)
        cost_switch(&s->t->cost, COST_QUARANTINE);
    if (guard_is_guarded(&f)) {
        guarded_free(s->t, &f);
        return false;
    }
    quarantine_push_large(&f, r.p, request);
    return false;
}

/* The requested size of an inherited block is not known: the whole slot becomes redzone. */
static COLD uint32_t forget_request(void *p, uint32_t class)
{
    redzone_put(p, class, 0);
    return 0;
}

ALWAYS_INLINE bool free_slot(struct section *s, const struct found *f, struct release r)
{
    uint32_t class = f->kind - 1;
    struct block_record *b = pool_record_slot(f, s->write_epoch);
    uint64_t was;
    if (unlikely(!block_retire(b, s->t->number, r.stack, &was)))
        return failed_free(s, r);
    uint32_t request = word_size(was);
    bool inherited = word_state(was) == BLOCK_INHERITED;
    if (unlikely(inherited))
        request = forget_request(r.p, class);
    count_free(s->t, request);
    if (unlikely(!is_match(was, &r) ||
                 (r.given_size != SIZE_NOT_GIVEN && r.given_size != request) ||
                 is_misaligned(was, &r) || !redzone_is_intact(r.p, f->slot, class, request)) &&
        !inherited)
        check_freed_block(s, r, was, request);
    if (unlikely(s->t->timed))
        cost_switch(&s->t->cost, COST_QUARANTINE);
    quarantine_push(s->t, r.p, class, request, s->write_epoch);
    return false;
}

/* Prefetch the block's redzones and its record; they arrive while the stack is taken. */
ALWAYS_INLINE struct found find_early(void *p)
{
    struct found f = pool_find_hot(p);
    if (unlikely(f.verdict != PTR_START || f.kind > SIZE_CLASSES))
        return f;
    uint64_t owner = atomic_load_explicit(&f.head->owner, memory_order_relaxed);
    __builtin_prefetch(segment_record(owner_pointer(owner), f.slot), 1);
    __builtin_prefetch((char *)p + size_class[f.kind - 1].slot_bytes - REDZONE_TAIL, 1);
    __builtin_prefetch((char *)p - 1);
    return f;
}

/* Call inside a section. true: libc must free it. */
ALWAYS_INLINE bool free_inside(struct section *s, struct found f, struct release r)
{
    if (unlikely(f.verdict != PTR_START))
        return !bootstrap_owns(r.p) && report_bad_free(s, r);
    if (likely(f.kind <= SIZE_CLASSES))
        return free_slot(s, &f, r);
    return is_slab(f.kind) ? free_of_reserve(s, r) : free_large(s, r);
}

/* The block is not live by its record, which may be lost: the run file can be truncated. */
static COLD bool failed_free(struct section *s, struct release r)
{
    return run_notice_cut() ? free_inside(s, pool_find(r.p), r) : report_bad_free(s, r);
}

ALWAYS_INLINE void release(struct release r, const struct entry *at)
{
    struct section s;
    if (unlikely(!section_begin(&s))) {
        free_outside(&s, r, at);
        return;
    }
    if (unlikely(loader_called(at)))
        loader_frees(r.p);
    struct found f = find_early(r.p);
    r.stack = stack_put(s.t, at);
    bool libcs = free_inside(&s, f, r);
    section_end(&s);
    if (unlikely(libcs) && next.free)
        next.free(r.p);
}

static COLD void release_timed(struct release r, const struct entry *at)
{
    enum cost_call call = cost_begin(COST_FREE, 0);
    if (call == COST_LOGGED)
        vmmalloc_log_free(op_entry(r.op), r.p);
    if (r.align)
        track_free_aligned(r.p, r.given_size, r.align, r.op, at);
    else if (r.given_size == SIZE_NOT_GIVEN)
        track_free(r.p, r.op, at);
    else
        track_free_sized(r.p, r.given_size, r.op, at);
    cost_end(call);
}

ALWAYS_INLINE void release_or_time(struct release r, const struct entry *at)
{
    if (!r.p)
        return;
    if (cost_is_sampled())
        release_timed(r, at);
    else
        release(r, at);
}

void track_free(void *p, uint32_t op, const struct entry *at)
{
    release_or_time((struct release){.p = p, .op = op, .given_size = SIZE_NOT_GIVEN}, at);
}

void track_free_sized(void *p, size_t given_size, uint32_t op, const struct entry *at)
{
    release_or_time((struct release){.p = p, .op = op, .given_size = given_size}, at);
}

void track_free_aligned(void *p, size_t given_size, size_t align, uint32_t op,
                        const struct entry *at)
{
    release_or_time((struct release){.p = p, .op = op, .given_size = given_size, .align = align},
                    at);
}

void track_free_deferred(void *p, uint32_t stack, uint32_t op)
{
    struct section s;
    if (!section_begin(&s))
        return;
    struct release r = {.p = p, .op = op, .stack = stack, .given_size = SIZE_NOT_GIVEN};
    bool libcs = free_inside(&s, pool_find_hot(p), r);
    section_end(&s);
    if (libcs && next.free)
        next.free(p);
}
