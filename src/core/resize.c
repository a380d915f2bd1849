/*
 * resize.c - realloc: in place where the block's slot or pages allow it, else by copying.
 *
 * Copying happens outside the critical section: a fork waits for sections.
 */
#include "core_priv.h"

#include <errno.h>
#include <string.h>

struct old_block {
    bool ok;
    bool done;  /* resized in place */
    bool libcs; /* not ours: libc's */
    uint64_t request;
};

static bool fits_in_place(const struct found *f, uint64_t request)
{
    if (is_slab(f->kind))
        return is_reserve(f->kind) ? request <= pool_room(f) : class_of(request) == f->kind - 1;
    return class_of(request) >= SIZE_CLASSES;
}

/* The old block keeps its place; errors of one that moves are found when it is freed. */
static void check_in_place(struct section *s, const struct found *f, struct release r, uint64_t word,
                           uint64_t request)
{
    if (is_reserve(f->kind))
        return;
    if (!is_match(word, &r) || !is_slab(f->kind) ||
        !redzone_is_whole(r.p, f->slot, f->kind - 1, request))
        complain(s, r, word, request);
}

static struct old_block resize_in_place(struct section *s, const struct found *f, size_t request,
                                        struct release r)
{
    if (slab_is_unrecorded(f))
        return (struct old_block){.ok = true, .request = pool_room(f)};
    struct block_record *b = pool_record_hot(f, s->go);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_acquire), was;
    struct old_block old = {.ok = true, .request = pool_request(f, b, word)};
    if (word_state(word) != BLOCK_LIVE && word_state(word) != BLOCK_INHERITED)
        return (struct old_block){.libcs = lose(s, r)};
    if (!fits_in_place(f, request))
        return old;
    check_in_place(s, f, r, word, old.request);
    if (!is_slab(f->kind) && !large_resize(f, request))
        return old;
    if (is_slab(f->kind) && !is_reserve(f->kind))
        redzone_move(r.p, f->kind - 1, request);
    struct block_birth birth = {.family = word_family(word),
                                .flags = word_flags(word) | s->t->birth_flags,
                                .mark = hints_mark_now(),
                                .thread = s->t->number,
                                .size = is_slab(f->kind) ? (uint32_t)request : 0,
                                .stack = r.stack};
    if (!block_resize(b, &birth, &was))
        return (struct old_block){.libcs = lose(s, r)};
    old.done = true;
    count_alloc(s->t, request);
    count_free(s->t, old.request);
    return old;
}

static struct old_block look_at_old(struct release r, size_t request, const struct entry *at)
{
    if (bootstrap_owns(r.p))
        return (struct old_block){.ok = true, .request = bootstrap_request(r.p)};
    struct section s;
    struct old_block old = {.ok = false};
    if (!section_begin_to_allocate(&s, at)) {
        if (s.kind == SECTION_CALLBACK)
            return old;
        /* in a handler: what we may know without changing anything */
        old.request = track_usable(r.p);
        old.ok = old.request != 0;
        return old;
    }
    struct found f = pool_find_hot(r.p);
    r.stack = stack_put(s.t, at);
    if (f.verdict == PTR_START)
        old = resize_in_place(&s, &f, request, r);
    else
        old.libcs = lose(&s, r);
    if (old.ok)
        add(&s.t->record->reallocs, 1);
    section_end(&s);
    return old;
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
    cost_end(call);
    return moved;
}

void *track_realloc(void *p, size_t request, uint32_t op, const struct entry *at)
{
    if (cost_is_due())
        return realloc_timed(p, request, op, at);
    struct release r = {.p = p, .op = op, .said = SIZE_NOT_SAID};
    if (unlikely(request > PTRDIFF_MAX))
        return track_refuse(request, op, at);
    struct old_block old = look_at_old(r, request, at);
    if (old.libcs && next.realloc)
        return next.realloc(p, request);
    if (!old.ok) { /* not a block: the program keeps what it has */
        errno = ENOMEM;
        return NULL;
    }
    if (old.done)
        return p;
    cost_skip(2);
    void *moved = track_alloc(request, MIN_ALIGN, op, at);
    if (!moved)
        return NULL;
    if (unlikely(hints.ignoring))
        hints_ignore_moved(p, moved);
    size_t bytes = old.request < request ? old.request : request;
    if (unlikely(bytes >= LONG_BYTES))
        copy_long(moved, p, bytes);
    else
        memcpy(moved, p, bytes);
    track_free(p, op, at);
    return moved;
}
