/*
 * family.c - may a block be freed by a function of another family?  Only if it is not known which function the
 * program has called.
 *
 * A library may have an operator delete, or new, of its own that nothing else sees (libLLVM and what rustc is
 * made of: linked with a static C++ library, by a version script that hides it).  If that only jumps to free, it
 * leaves no frame: a block of the shared operator new seems to be freed by free.  So the code behind the call is
 * looked at (unwind/callee.c) before a mismatch is reported; it is rare, and the answer is kept.
 *
 * Without a stack (frames=0) nothing is looked at.
 */
#include "core_priv.h"

#define CACHED_ANSWERS 256u

/* By hash of the question, whose lowest bit is the answer. */
static _Atomic uint64_t answers[CACHED_ANSWERS];

static uint64_t innermost(uint32_t stack)
{
    uint64_t word = 0;
    return stack && depot_get(stack, &word, 1) ? word : 0;
}

struct question {
    uint64_t word;
    uintptr_t table;
    bool is_allocation;
    bool hidden; /* the answer */
};

/* On the helper stack: reading code takes more stack than a program may have. */
static void look_at_code(void *about)
{
    struct question *q = about;
    enum reached how = unwind_reached(q->word, q->table);
    q->hidden = how == REACHED_BY_THUNK || how == REACHED_VIRTUALLY ||
                (q->is_allocation && unwind_is_new(q->word));
}

static bool is_hidden(uint64_t word, uintptr_t table, bool is_allocation)
{
    struct question q = {.word = word, .table = table, .is_allocation = is_allocation};
    helper_call(look_at_code, &q);
    return q.hidden;
}

/* The same, asked before or not. */
static bool is_known_hidden(uint64_t word, uintptr_t table, bool is_allocation)
{
    if (!word)
        return false;
    uint64_t key =
        (word ^ ((uint64_t)table + is_allocation) * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull |
        1;
    _Atomic uint64_t *slot = &answers[key >> 56];
    uint64_t kept = atomic_load_explicit(
        slot, memory_order_relaxed); /* complete in one word: pairs with nothing */
    if ((kept | 1) == key)
        return kept & 1;
    bool hidden = is_hidden(word, table, is_allocation);
    atomic_store_explicit(slot, hidden ? key : key & ~1ull, memory_order_relaxed);
    return hidden;
}

/* What may be the address of its virtual table. */
static uintptr_t first_word(const struct release *r, uint64_t request)
{
    return request >= sizeof(uintptr_t) ? *(const uintptr_t *)r->p : 0;
}

static bool is_unknown(const struct section *s, const struct release *r, uint64_t was,
                       uint64_t request)
{
    struct found f = pool_find(r->p);
    uint64_t word, stacks = 0;
    if (is_known_hidden(innermost(r->stack), first_word(r, request), false))
        return true;
    bool from_c = word_family(was) == FAMILY_MALLOC || word_family(was) == FAMILY_ALIGNED;
    return block_read(pool_look(&f, s->write_epoch), &word, &stacks) &&
           is_known_hidden(innermost((uint32_t)(stacks >> 32)), 0, from_c);
}

struct family_query {
    const struct section *s;
    const struct release *r;
    uint64_t was, request;
    bool unknown;
};

static void query_family(void *about)
{
    struct family_query *a = about;
    a->unknown = is_unknown(a->s, a->r, a->was, a->request);
}

/* Decoding takes more stack than a program may have. */
bool family_is_unknown(const struct section *s, const struct release *r, uint64_t was,
                       uint64_t request)
{
    struct family_query a = {s, r, was, request, false};
    helper_call(query_family, &a);
    return a.unknown;
}
