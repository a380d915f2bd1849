/*
 * core_priv.h - what the files of the front desk (track.c, free.c, resize.c, query.c, family.c) share.
 */
#ifndef CORE_PRIV_H
#define CORE_PRIV_H

#include "core.h"

#define MIN_ALIGN 16u
#define BALANCE_MAX 32768 /* the peak is exact for one thread, else to so much for each */

/* ---- counting -------------------------------------------------------------------------------- */

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
        threads_publish_balance(t);
}

static inline void count_free(struct thread *t, uint64_t bytes)
{
    add(&t->record->frees, 1);
    add(&t->record->free_bytes, bytes);
    t->balance -= (int64_t)bytes;
    if (unlikely(t->balance < -BALANCE_MAX))
        threads_publish_balance(t);
}

/* ---- what takes long by itself --------------------------------------------------------------- */

#define LONG_BYTES (256u << 10) /* cleared or copied in one go: timed each time */

/* The next so many operations are parts of this one. */
ALWAYS_INLINE void cost_skip(int32_t count)
{
    if (self && self->cost_left < INT32_MAX - count)
        self->cost_left += count;
}

/* ---- a free or a resize under way ------------------------------------------------------------ */

struct release {
    void *p;
    uint32_t op;
    uint32_t stack;
    uint64_t given_size; /* size that the caller says it has, or SIZE_NOT_GIVEN */
    uint64_t align;      /* and alignment; 0: none is said */
};

/* Which families a freeing function frees: bit n = family n. */
extern HIDDEN const uint8_t frees_families[FAMILY_COUNT + 1];

ALWAYS_INLINE bool is_match(uint64_t was, const struct release *r)
{
    return frees_families[op_family(r->op)] >> word_family(was) & 1;
}

/* query.c.  Inside a section: is it the start of a block that is live? */
bool query_is_block(const struct found *f, uint32_t write_epoch);

/*
 * family.c.  Inside a section, of a block that does not match: was it made or freed through a function that
 * hides its own family?
 */
bool family_is_unknown(const struct section *s, const struct release *r, uint64_t was,
                       uint64_t request);

/* Is it another alignment than the block was asked for with?  Of most blocks that is not known. */
ALWAYS_INLINE bool is_misaligned(uint64_t was, const struct release *r)
{
    return r->align && word_align(was) && word_align(was) != align_code(r->align);
}

/*
 * free.c.  Inside a section; structs by value, so that they live in registers where all is well.
 * lose: r.p is not the start of a live block; true: libc is to do it.  complain: it is, but not all
 * about it is right: tells what, and makes its redzone new.
 */
bool report_bad_free(const struct section *s, struct release r);
void check_freed_block(const struct section *s, struct release r, uint64_t was, uint64_t request);

#endif
