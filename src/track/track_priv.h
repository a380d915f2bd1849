/*
 * track_priv.h - declarations that only the files of track share.
 */
#ifndef TRACK_PRIV_H
#define TRACK_PRIV_H

#include "init.h"

#define MIN_ALIGN 16u
#define BALANCE_MAX 32768 /* the peak is exact for one thread, else to so many bytes per thread */

/* ---- counting -------------------------------------------------------------------------------- */

static inline void add(_Atomic uint64_t *counter, uint64_t n)
{
    /* Single writer: the thread itself. Other readers get a recent value. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Changes of counters in between are one: a snapshot has all of them or none. */
static inline void count_begin(struct thread *t)
{
    atomic_store_explicit(&t->counting, true, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static inline void count_end(struct thread *t)
{
    atomic_store_explicit(&t->counting, false, memory_order_release);
}

static inline void add_alloc(struct thread *t, uint64_t bytes)
{
    add(&t->record->allocs, 1);
    add(&t->record->alloc_bytes, bytes);
    t->balance += (int64_t)bytes;
    t->high = t->balance > t->high ? t->balance : t->high;
    if (unlikely(t->balance > BALANCE_MAX))
        threads_publish_balance(t);
}

static inline void add_free(struct thread *t, uint64_t bytes)
{
    add(&t->record->frees, 1);
    add(&t->record->free_bytes, bytes);
    t->balance -= (int64_t)bytes;
    if (unlikely(t->balance < -BALANCE_MAX))
        threads_publish_balance(t);
}

static inline void count_alloc(struct thread *t, uint64_t bytes)
{
    count_begin(t);
    add_alloc(t, bytes);
    count_end(t);
}

static inline void count_free(struct thread *t, uint64_t bytes)
{
    count_begin(t);
    add_free(t, bytes);
    count_end(t);
}

/* ---- likely_block.c ---------------------------------------------------------------------------- */

struct likely_block {
    const void *at; /* its start; NULL: none, or more than one */
    struct found found;
};

/* The freed block to which code interrupted by a signal holds a pointer.  `context`: its ucontext. */
struct likely_block likely_block(const void *context, uint32_t write_epoch);

/*
 * The block that a fill names: `source`, a register or a branch target, is the fill or near to it.
 * false: no block begins where the fill says.
 */
bool named_block(const void *context, uint64_t source, struct likely_block *out);

/* ---- long operations ------------------------------------------------------------------------- */

#define LONG_BYTES (256u << 10) /* a clear or copy of this size or more is timed each time */

/* The next `count` operations are parts of this one, and are not sampled. */
ALWAYS_INLINE void cost_skip(int32_t count)
{
    if (self && self->cost_left < INT32_MAX - count)
        self->cost_left += count;
}

/* ---- a free or resize in progress ------------------------------------------------------------ */

struct release {
    void *p;
    uint32_t op;
    uint32_t stack;
    uint64_t given_size; /* the size that the caller passed, or SIZE_NOT_GIVEN */
    uint64_t align;      /* the alignment that the caller passed; 0: none */
};

/* The families that each function may free: bit n = family n. */
extern HIDDEN const uint8_t frees_families[FAMILY_COUNT + 1];

ALWAYS_INLINE bool is_match(uint64_t was, const struct release *r)
{
    return frees_families[op_family(r->op)] >> word_family(was) & 1;
}

/* query.c. Inside a section: is it the start of a live block? */
bool query_is_block(const struct found *f, uint32_t write_epoch);

/* query.c.  The same of an address, also in a handler that has interrupted a section. */
bool query_holds(const void *p);

/*
 * family.c. Inside a section, for a block of another family: may its allocation or its free have
 * come through a function that hides its family?
 */
bool family_is_unknown(const struct section *s, const struct release *r, uint64_t was,
                       uint64_t request);

/*
 * Does the alignment differ from that of the allocation? Most blocks do not record theirs; then
 * false.
 */
ALWAYS_INLINE bool is_misaligned(uint64_t was, const struct release *r)
{
    return r->align && word_align(was) && word_align(was) != align_code(r->align);
}

/*
 * free.c. Inside a section. Structs are passed by value, so that the fast path keeps them in
 * registers. report_bad_free: r.p is not the start of a live block. true: libc must free it.
 * check_freed_block: the block was live, but a check has failed. Record the errors and renew the
 * redzone.
 */
bool report_bad_free(const struct section *s, struct release r);
void check_freed_block(const struct section *s, struct release r, uint64_t was, uint64_t request);

/* errors.c.  A record with the fields that all errors have. */
struct error_record error_draft(const struct error_call *call, enum error_kind kind);
/* Add it, or count it if its site is known.  Inside a section. */
void error_add(const struct error_call *call, struct error_record *draft);

/*
 * error_sites.c.  Increment the count of the record of this site and kind; false: there is none yet.
 */
bool error_site_count(const struct error_record *e);
/*
 * Add a record, which the call clears.  Returns it in the table; NULL: another thread has added it, or there is
 * no room.
 */
const struct error_record *error_site_add(struct error_record *e);
void error_sites_after_fork(void);

/* error_names.c: as in the report; "?": unknown. */
const char *error_code(uint32_t kind);

/* error_act.c.  Has --on-error=abort called abort? */
bool errors_abort(void);

#endif
