/*
 * resize.c - realloc: in place if the block's slot or pages permit it, else by copying.
 *
 * The copy is made outside of the critical section: a fork waits for sections.
 */
#include "byte_shadow.h"
#include "track_priv.h"
#include "vmmalloc.h"

#include <errno.h>
#include <string.h>

struct old_block {
    bool ok;
    bool done;  /* resized in place */
    bool libcs; /* a block of libc's own allocator */
    uint64_t request;
};

static bool fits_in_place(const struct found *f, uint64_t request)
{
    if (is_slab(f->kind))
        return is_reserve(f->kind) ? request <= pool_room(f) : class_of(request) == f->kind - 1;
    return class_of(request) >= SIZE_CLASSES;
}

/* Check an old block that is resized in place. One that moves is checked when it is freed. */
static void check_in_place(struct section *s, const struct found *f, struct release r,
                           uint64_t word, uint64_t request)
{
    if (is_reserve(f->kind))
        return;
    if (!is_match(word, &r) || !is_slab(f->kind) ||
        !redzone_is_intact(r.p, f->slot, f->kind - 1, request))
        check_freed_block(s, r, word, request);
}

static struct old_block resize_in_place(struct section *s, const struct found *f, size_t request,
                                        struct release r)
{
    if (slab_is_unrecorded(f))
        return (struct old_block){.ok = true, .request = pool_room(f)};
    struct block_record *b = pool_record_hot(f, s->write_epoch);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_acquire), was;
    struct old_block old = {.ok = true, .request = pool_request(f, b, word)};
    if (word_state(word) != BLOCK_LIVE && word_state(word) != BLOCK_INHERITED) {
        if (run_notice_cut()) /* the record was lost, and has been replaced */
            return resize_in_place(s, f, request, r);
        return (struct old_block){.libcs = report_bad_free(s, r)};
    }
    if (!fits_in_place(f, request))
        return old;
    check_in_place(s, f, r, word, old.request);
    if (!is_slab(f->kind) && !large_resize(f, request))
        return old;
    if (is_slab(f->kind) && !is_reserve(f->kind))
        redzone_move(r.p, f->kind - 1, request);
    if (unlikely(byte_shadow_is_on))
        block_allow(r.p, request);
    struct block_birth birth = {.family = word_family(word),
                                .flags = word_flags(word) | s->t->birth_flags,
                                .mark = annotations_mark_now(),
                                .thread = s->t->number,
                                .size = is_slab(f->kind) ? (uint32_t)request : 0,
                                .stack = r.stack};
    if (!block_resize(b, &birth, &was))
        return (struct old_block){.libcs = report_bad_free(s, r)};
    old.done = true;
    count_begin(s->t);
    add_alloc(s->t, request);
    add_free(s->t, old.request);
    count_end(s->t);
    return old;
}

/* Not inlined: its frame must be gone when the block is copied. */
static __attribute__((noinline)) void look_at_old(void *p, size_t request, uint32_t op,
                                                  const struct entry *at, struct old_block *old)
{
    struct section s;
    *old = (struct old_block){.ok = false};
    if (bootstrap_owns(p)) {
        *old = (struct old_block){.ok = true, .request = bootstrap_request(p)};
        return;
    }
    if (!section_begin_to_allocate(&s, at)) {
        if (s.kind == SECTION_CALLBACK)
            return;
        /* in a handler: queries that change nothing */
        old->request = track_usable(p);
        old->ok = old->request != 0 || query_holds(p); /* malloc(0) has a block, too */
        return;
    }
    struct found f = pool_find_hot(p);
    struct release r = {
        .p = p, .op = op, .stack = stack_put(s.t, at), .given_size = SIZE_NOT_GIVEN};
    if (f.verdict == PTR_START)
        *old = resize_in_place(&s, &f, request, r);
    else
        old->libcs = report_bad_free(&s, r);
    if (old->ok)
        add(&s.t->record->reallocs, 1);
    section_end(&s);
}

static COLD void copy_long(void *to, const void *from, size_t bytes)
{
    uint64_t since = cost_phase_begin();
    memcpy(to, from, bytes);
    cost_phase_end(COST_RESIZE, since);
}

static COLD void *realloc_timed(void *p, size_t request, uint32_t op, const struct entry *at)
{
    enum cost_call call = cost_begin(COST_RESIZE, request);
    void *moved = track_realloc(p, request, op, at);
    if (call == COST_LOGGED)
        vmmalloc_log_resize(op_entry(op), p, request, moved);
    cost_end(call);
    return moved;
}

/*
 * C does not define the result, and C23 forbids the call. Warn only about a live block: for any
 * other pointer the free reports an error.
 */
void track_free_by_realloc(void *p, uint32_t op, const struct entry *at)
{
    struct section s;
    if (section_begin(&s)) {
        struct found f = pool_find(p);
        struct error_call call = {s.t, s.write_epoch, op, stack_put(s.t, at)};
        if (query_is_block(&f, s.write_epoch))
            error_realloc_zero(&call, p, &f);
        section_end(&s);
    }
    track_free(p, op, at);
}

void *track_realloc(void *p, size_t request, uint32_t op, const struct entry *at)
{
    if (cost_is_sampled())
        return realloc_timed(p, request, op, at);
    if (unlikely(request > PTRDIFF_MAX))
        return track_refuse(request, op, at);
    struct old_block old;
    look_at_old(p, request, op, at, &old);
    if (old.libcs && next.realloc)
        return next.realloc(p, request);
    if (!old.ok) { /* not a block: the program keeps its pointer */
        errno = ENOMEM;
        return NULL;
    }
    if (old.done && unlikely(pool_knobs.malloc_fill >= 0) && request > old.request)
        fill_put_grown(p, old.request, request);
    if (old.done)
        return p;
    cost_skip(2);
    void *moved = track_alloc(request, MIN_ALIGN, op, at);
    if (!moved)
        return NULL;
    if (unlikely(annotations.ignoring))
        annotations_ignore_moved(p, moved);
    size_t bytes = old.request < request ? old.request : request;
    if (unlikely(bytes >= LONG_BYTES))
        copy_long(moved, p, bytes);
    else
        memcpy(moved, p, bytes);
    track_free(p, op, at);
    return moved;
}
