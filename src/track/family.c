/*
 * family.c - suppress a family mismatch if the function that the program called is not certain.
 *
 * A library may have its own operator new or delete that interposition does not reach (libLLVM and
 * rustc's libraries: a static C++ library, hidden by a version script). If it only jumps to free,
 * the tail call leaves no frame: free seems to free a block of the shared operator new. So the code
 * at the call is analyzed (unwind/callee.c) before a mismatch is reported. This is rare, and
 * results are cached.
 *
 * Without a stack (frames=0) nothing is analyzed, and the mismatch is reported.
 */
#include "track_priv.h"

#define CACHED_ANSWERS 256u

/* A cache, indexed by the hash of a question. Bit 0 holds the answer. */
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
    bool hidden; /* the result */
};

/* Call on the helper stack: reading code takes more stack than a program may have. */
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

/* The same, with the cache. */
static bool is_known_hidden(uint64_t word, uintptr_t table, bool is_allocation)
{
    if (!word)
        return false;
    uint64_t key =
        (word ^ ((uint64_t)table + is_allocation) * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull |
        1;
    _Atomic uint64_t *slot = &answers[key >> 56];
    uint64_t kept =
        atomic_load_explicit(slot, memory_order_relaxed); /* a single word: no ordering needed */
    if ((kept | 1) == key)
        return kept & 1;
    bool hidden = is_hidden(word, table, is_allocation);
    atomic_store_explicit(slot, hidden ? key : key & ~1ull, memory_order_relaxed);
    return hidden;
}

/* The first word of a block, which may be the address of its virtual table. */
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

/* Use the helper stack: decoding takes more stack than a program may have. */
bool family_is_unknown(const struct section *s, const struct release *r, uint64_t was,
                       uint64_t request)
{
    struct family_query a = {s, r, was, request, false};
    helper_call(query_family, &a);
    return a.unknown;
}
