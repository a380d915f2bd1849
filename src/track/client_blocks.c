/*
 * client_blocks.c - calls for client blocks: blocks that allocators of the program make and
 * announce.
 *
 * Client blocks are treated like blocks of malloc where possible: each records a stack and a
 * thread, gets the flag of a thread that ignores its allocations, and an invalid free is reported.
 * In a signal handler that interrupted the runtime all calls fail.
 */
#include "init.h"

static bool put(const struct section *s, const void *p, uint64_t bytes, uint32_t flags,
                uint32_t stack)
{
    struct block_birth birth = {.family = FAMILY_MALLOC,
                                .flags = flags | s->t->birth_flags,
                                .mark = annotations_mark_now(),
                                .thread = s->t->number,
                                .stack = stack};
    return client_block_put((uintptr_t)p, bytes, &birth, s->write_epoch);
}

/*
 * Free a client block. If p is not the start of a live one, record an error and return false.
 * *flags: BLOCK_FLAG_ROOT, if the block had it.
 */
static bool retire(const struct section *s, const void *p, uint32_t op, uint32_t stack,
                   uint32_t *flags)
{
    struct error_call call = {s->t, s->write_epoch, op, stack};
    struct client_block was;
    enum verdict verdict = client_block_retire((uintptr_t)p, s->t->number, stack, &was);
    uint64_t word =
        verdict == PTR_FOREIGN ? 0 : atomic_load_explicit(&was.block.word, memory_order_relaxed);
    *flags = word_flags(word) & BLOCK_FLAG_ROOT;
    if (verdict == PTR_START && word_state(word) == BLOCK_LIVE)
        return true;
    error_client_block(&call, p, verdict, &was);
    return false;
}

bool client_malloc(const void *p, uint64_t bytes, const struct entry *at)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    bool done = put(&s, p, bytes, 0, stack_put(s.t, at));
    section_end(&s);
    return done;
}

bool client_free(const void *p, uint32_t op, const struct entry *at)
{
    struct section s;
    uint32_t flags;
    if (!p || !section_begin(&s))
        return false;
    bool done = retire(&s, p, op, stack_put(s.t, at), &flags);
    section_end(&s);
    return done;
}

bool client_realloc(const void *from, const void *to, uint64_t bytes, uint32_t op,
                    const struct entry *at)
{
    struct section s;
    uint32_t flags = 0;
    if (!section_begin(&s))
        return false;
    uint32_t stack = stack_put(s.t, at);
    bool done = !from || retire(&s, from, op, stack, &flags);
    done &= put(&s, to, bytes, flags, stack);
    section_end(&s);
    return done;
}

uint64_t client_free_all(const void *start, uint64_t bytes, const struct entry *at)
{
    struct section s;
    uint64_t end, count = 0;
    if (!checked_add((uintptr_t)start, bytes, &end) || !section_begin(&s))
        return 0;
    count = client_block_retire_all((uintptr_t)start, end, s.t->number, stack_put(s.t, at));
    section_end(&s);
    return count;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static enum known_as find_in_heap(const struct section *s, uintptr_t at, struct known_block *out)
{
    struct found f = pool_find((const void *)at);
    uint64_t word, stacks, inside = pool_inside(&f, at);
    if ((f.verdict != PTR_START && f.verdict != PTR_INSIDE) || slab_is_unrecorded(&f))
        return KNOWN_NOT;
    const struct block_record *b = pool_look(&f, s->write_epoch);
    (void)block_read(b, &word, &stacks);
    uint64_t request = pool_request(&f, b, word);
    bool live = word_state(word) == BLOCK_LIVE || word_state(word) == BLOCK_INHERITED;
    if (!live || (inside && inside >= request))
        return KNOWN_NOT;
    *out = (struct known_block){at - inside, request};
    return KNOWN_IN_HEAP;
}

enum known_as client_find(const void *p, struct known_block *out)
{
    struct section s;
    struct client_block n;
    if (!section_begin(&s))
        return KNOWN_NOT;
    enum known_as as = KNOWN_NOT;
    enum verdict verdict = client_block_find((uintptr_t)p, s.write_epoch, &n);
    bool live = verdict != PTR_FOREIGN && word_state(n.block.word) == BLOCK_LIVE;
    if (live && (verdict == PTR_START || (uintptr_t)p - client_block_start(&n) < n.bytes)) {
        *out = (struct known_block){client_block_start(&n), n.bytes};
        as = KNOWN_CLIENT_BLOCK;
    } else {
        as = find_in_heap(&s, (uintptr_t)p, out);
    }
    section_end(&s);
    return as;
}
