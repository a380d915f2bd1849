/*
 * accesses.c - accesses by calls of libc's functions: what the records of blocks allow, and the
 * error if an access goes beyond that.
 *
 * The check before each call (src/boundary) reads the record of one block and takes no lock. If it
 * fails, everything here is rare: inside a section the block is looked up again, because the record
 * may have been the parent's, and the nearest block is found by the access model (shadow/access.h).
 *
 * Such a write damages a redzone or the fill of a freed block, which the late checks would report
 * as a second error. So the last ranges that were reported are kept; a late check removes the part
 * that it finds. Other late findings are not affected.
 */
#include "track_priv.h"
#include "access.h"
#include "accesses.h"
#include "byte_shadow.h"
#include "guarded.h"

#include <errno.h>

#define WRITTEN_MOST 64u /* a power of two; older ones are forgotten, and reported once more */

static struct {
    struct lock lock;
    uint32_t count; /* so far */
    struct {
        uintptr_t start, end;
    } range[WRITTEN_MOST];
} written = {.lock = LOCK_INIT(RANK_ERRORS)};

void accesses_after_fork(void)
{
    lock_reset(&written.lock);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What the record of a found block, which begins at `start`, says of it. */
static struct access_block block_at(const struct found *f, uint64_t start, uint32_t write_epoch)
{
    const struct block_record *record = pool_look(f, write_epoch);
    uint64_t word = record_word(record);
    return (struct access_block){start, pool_request(f, record, word), word_state(word)};
}

/* A slot of the slab of `f`. false: it has no such slot. */
static bool slot_block(const struct found *f, uint32_t slot, uint32_t write_epoch,
                       struct found *out, struct access_block *b)
{
    const struct size_class *c = &size_class[f->kind - 1];
    if (slot >= c->slots)
        return false;
    *out = (struct found){PTR_START, f->head, f->kind, slot, 0};
    *b = block_at(out, unit_address(f->head) + (uint64_t)slot * c->slot_bytes, write_epoch);
    return true;
}

/* The block that an access at `at` belongs to. false: none, or one without a record. */
static bool block_of(const struct found *f, uintptr_t at, uint64_t bytes, uint32_t write_epoch,
                     struct found *owner, struct access_block *b)
{
    struct found next_found;
    struct access_block own, next;
    if (f->kind == UNIT_LARGE) {
        *owner = (struct found){PTR_START, f->head, f->kind, 0, 0};
        *b = block_at(owner, large_start_of(f->head), write_epoch);
        return true;
    }
    if (!is_slab(f->kind))
        return false;
    uint32_t slots = size_class[f->kind - 1].slots, slot = f->slot < slots ? f->slot : slots - 1;
    slot_block(f, slot, write_epoch, owner, &own);
    bool has_next = slot_block(f, slot + 1, write_epoch, &next_found, &next);
    const struct access_block *nearest = access_owner(at, bytes, &own, has_next ? &next : NULL);
    if (nearest == &next)
        *owner = next_found;
    *b = *nearest;
    return true;
}

static bool is_unchecked(const struct found *f)
{
    return f->verdict == PTR_FOREIGN || (is_slab(f->kind) && is_reserve(f->kind));
}

/* `head` is set if there is one. */
static struct found find_with_head(const void *p)
{
    struct found f = pool_find(p);
    if (f.verdict != PTR_UNUSED || f.head)
        return f;
    uint64_t offset = (uintptr_t)p - heap.base;
    struct unit *u = heap.unit + (offset >> RTC_UNIT_SHIFT);
    f.head = u - u->back;
    f.kind = owner_kind(atomic_load_explicit(&f.head->owner, memory_order_acquire));
    return f;
}

uint64_t access_allowed(uintptr_t at, uint64_t bytes)
{
    struct found f = find_with_head((const void *)at), owner;
    struct access_block b;
    if (!bytes || is_unchecked(&f) || fork_is_unsure(f.head))
        return byte_shadow_unpoisoned(at, bytes);
    if (!block_of(&f, at, bytes, 0, &owner, &b))
        return 0;
    return byte_shadow_unpoisoned(at, access_check(at, bytes, &b).allowed);
}

/* ---- the error ------------------------------------------------------------------------------- */

/* Caller holds the lock. */
static void keep_written(uintptr_t start, uintptr_t end)
{
    uint32_t i = written.count++ % WRITTEN_MOST;
    written.range[i].start = start;
    written.range[i].end = end;
}

static void note_written(uintptr_t start, uintptr_t end)
{
    lock_take(&written.lock);
    keep_written(start, end);
    lock_drop(&written.lock);
}

bool access_was_reported(const void *first, uint64_t bytes)
{
    uintptr_t start = (uintptr_t)first, end = start + bytes;
    bool was = false;
    lock_take(&written.lock);
    uint32_t count = written.count < WRITTEN_MOST ? written.count : WRITTEN_MOST;
    for (uint32_t i = 0; i < count && !was; i++) {
        uintptr_t last = written.range[i].end;
        was = start >= written.range[i].start && end <= last;
        if (!was)
            continue;
        /* The late check repairs these bytes: damage found there later is another one. */
        written.range[i].end = start;
        if (end < last)
            keep_written(end, last);
    }
    lock_drop(&written.lock);
    return was;
}

/*
 * The access proceeds, and is not to be reported again as a fault.  A copy of a wrong size may have
 * no end.
 */
static void open_guards(uintptr_t start, uint64_t bytes)
{
    uintptr_t end = start + (bytes < 2 * GUARD_BYTES_MAX ? bytes : 2 * GUARD_BYTES_MAX);
    for (uintptr_t at = start; at < end; at = align_down(at, PAGE_BYTES) + PAGE_BYTES)
        guarded_open(at);
}

/*
 * libc's functions may read up to the length that they are given, also after the byte at which a
 * comparison ends: memcmp reads whole vectors.  What such a call must not read is checked by src/boundary.
 */
static bool is_libcs_choice(const struct access *a, const struct access_verdict *v)
{
    return a->is_by_libc && !a->is_write && v->state == ACCESS_REDZONE;
}

/* What the records allow, and the program's own poison. */
static bool is_permitted(struct access *a, const struct access_verdict *v)
{
    if (is_libcs_choice(a, v))
        return true;
    a->allowed = v->state == ACCESS_ALLOCATED ? a->bytes : v->allowed;
    if (v->state != ACCESS_ALLOCATED)
        return false;
    a->allowed = byte_shadow_unpoisoned((uintptr_t)a->at, a->bytes);
    a->is_poisoned = a->allowed < a->bytes;
    return !a->is_poisoned;
}

/* The stack of the access is that of the program's call `at`; NULL: a->stack. */
static void refuse(struct access *a, const struct section *s, const struct entry *at)
{
    uintptr_t start = (uintptr_t)a->at;
    struct found f = find_with_head(a->at), owner;
    struct access_block b = {0};
    struct access_verdict v = {.state = ACCESS_ALLOCATED};
    bool is_block = !is_unchecked(&f) && block_of(&f, start, a->bytes, s->write_epoch, &owner, &b);
    if (!is_unchecked(&f))
        v = access_check(start, a->bytes, &b);
    if (is_permitted(a, &v))
        return;
    struct error_call call = {s->t, s->write_epoch, a->entry << 8,
                              at ? stack_put(s->t, at) : a->stack};
    error_access(&call, a, is_block && v.state != ACCESS_UNALLOCATED ? &owner : NULL, b.start);
    if (a->is_write)
        note_written(start + v.allowed, start + a->bytes);
    open_guards(start, a->bytes);
}

void access_faulted(struct access *a, const struct section *s)
{
    refuse(a, s, NULL);
}

void access_refused(struct access *a, const struct entry *at)
{
    int saved = errno;
    struct section s;
    if (section_begin(&s)) {
        refuse(a, &s, at);
        section_end(&s);
    } else {
        if (s.kind == SECTION_HANDLER)
            image_count(&image()->errors_unrecorded); /* recording the error would take a lock */
        open_guards((uintptr_t)a->at, a->bytes);
    }
    errno = saved;
}

void access_by_kernel(const void *p, uint64_t bytes)
{
    int saved = errno;
    open_guards((uintptr_t)p, bytes);
    errno = saved;
}

void access_refused_search(const void *s, uint64_t bytes, uint32_t entry, const struct entry *at)
{
    access_refused(
        &(struct access){.at = s, .bytes = access_allowed((uintptr_t)s, bytes) + 1, .entry = entry},
        at);
}

void access_follows(const void *p, uint64_t bytes)
{
    int saved = errno;
    struct section s;
    if (section_begin(&s)) {
        note_written((uintptr_t)p, (uintptr_t)p + bytes);
        section_end(&s);
    }
    errno = saved;
}

void access_overlaps(const void *to, const void *from, uint64_t bytes, uint32_t entry,
                     const struct entry *at)
{
    int saved = errno;
    struct section s;
    if (section_begin(&s)) {
        struct error_call call = {s.t, s.write_epoch, entry << 8, stack_put(s.t, at)};
        error_overlap(&call, to, from, bytes);
        section_end(&s);
    } else if (s.kind == SECTION_HANDLER) {
        image_count(&image()->errors_unrecorded);
    }
    errno = saved;
}
