/*
 * check.h - may a call access this range? Inline, for the files of this room.
 *
 * The check reads the word of one record, as a reader of block_read does, without its second look:
 * a block that is freed or moved at the same time by another thread is being accessed wrongly anyway.
 */
#ifndef CHECK_H
#define CHECK_H

#include "boundary.h"
#include "accesses.h"
#include "byte_shadow.h"
#include "track.h"
#include "uninitialised.h"

extern HIDDEN bool access_is_on;
extern HIDDEN bool fill_is_sought;   /* also check that what is read is initialised: slow */
extern HIDDEN uint32_t access_every; /* of the calls of a site that is called often; 1: all */

ALWAYS_INLINE bool is_in_heap(const void *p)
{
    return (uintptr_t)p - heap.base < atomic_load_explicit(&heap.bytes, memory_order_relaxed);
}

/* Of a block in use with `size` bytes: may `bytes` from `offset` on be accessed? */
ALWAYS_INLINE bool is_inside(uint64_t offset, uint64_t bytes, uint64_t size)
{
    return offset <= size && bytes <= size - offset;
}

ALWAYS_INLINE bool is_allowed_in_slab(uint64_t offset, uint64_t bytes, const struct unit *u,
                                      uint64_t owner)
{
    const struct size_class *c = &size_class[owner_kind(owner) - 1];
    uint32_t inside = (uint32_t)(offset % UNIT_BYTES) + (u->back << RTC_UNIT_SHIFT);
    uint32_t slot = (uint32_t)((inside >> 4) * c->magic >> 32);
    if (unlikely(slot >= c->slots))
        return false;
    uint64_t word = record_word(segment_record(owner_pointer(owner), slot));
    return likely(word_state(word) == BLOCK_LIVE) &&
           is_inside(inside - slot * c->slot_bytes, bytes, word_size(word));
}

ALWAYS_INLINE bool is_allowed_in_large(uint64_t offset, uint64_t bytes, uint64_t owner)
{
    const struct large_record *large = owner_pointer(owner);
    uint64_t start = (large->unit << RTC_UNIT_SHIFT) + large->lead;
    return likely(word_state(record_word(&large->block)) == BLOCK_LIVE) &&
           is_inside(offset - start, bytes,
                     atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&large->request,
                                          memory_order_relaxed));
}

/*
 * Is it certain, by one record, that these bytes may be accessed? Compiled into each function, which
 * calls nothing else in this case: so its arguments stay in their registers.
 */
ALWAYS_INLINE bool is_surely_allowed(const void *p, uint64_t bytes)
{
    uint64_t offset = (uintptr_t)p - heap.base;
    if (offset >= atomic_load_explicit(&heap.bytes, memory_order_relaxed))
        return true;
    if (unlikely(atomic_load_explicit(&byte_shadow_has_poison, memory_order_relaxed)))
        return false;
    const struct unit *u = heap.unit + (offset >> RTC_UNIT_SHIFT);
    uint64_t owner = atomic_load_explicit(&(u - u->back)->owner, memory_order_acquire);
    if (likely(owner_kind(owner) - 1 < SIZE_CLASSES))
        return is_allowed_in_slab(offset, bytes, u, owner);
    return owner_kind(owner) == UNIT_LARGE && is_allowed_in_large(offset, bytes, owner);
}

/* Is the address in units of a large block?  Of these some are guarded: reads past their end fault. */
ALWAYS_INLINE bool may_be_guarded(const void *p)
{
    uint64_t offset = (uintptr_t)p - heap.base;
    const struct unit *u = heap.unit + (offset >> RTC_UNIT_SHIFT);
    return offset < atomic_load_explicit(&heap.bytes, memory_order_relaxed) &&
           owner_kind(atomic_load_explicit(&(u - u->back)->owner, memory_order_acquire)) ==
               UNIT_LARGE;
}

/* For an address in the heap: may these bytes be accessed? */
ALWAYS_INLINE bool is_allowed(const void *p, uint64_t bytes)
{
    return likely(is_surely_allowed(p, bytes)) || access_allowed((uintptr_t)p, bytes) == bytes;
}

/*
 * The kernel may access these bytes inside a call of libc: open their guards.  With --access=no, and
 * for what is known only after the call.
 */
ALWAYS_INLINE void opens_guards(const void *p, uint64_t bytes)
{
    if (is_in_heap(p) && guarded_is_on() && !is_allowed(p, bytes))
        access_by_kernel(p, bytes);
}

/*
 * Functions that programs call for a few bytes, most of all memcpy, are checked the first 255 times
 * that a thread calls them from one place, and then once in access_every times on average. So rare
 * code is always checked. (Of two places with one hash the later takes the entry, and begins anew.)
 * The distances vary, as a loop may have a period.
 */
#define ALWAYS_CHECKED 255u

ALWAYS_INLINE bool is_skipped(const void *site)
{
    struct thread *t = self;
    if (unlikely(!access_is_on))
        return true;
    if (unlikely(!t))
        return false;
    struct call_sites *sites = &t->call_sites;
    uint32_t hash = (uint32_t)((uintptr_t)site * 0x9e3779b97f4a7c15u >> 40);
    uint16_t *entry = &sites->site[hash % CALL_SITES], tag = (uint16_t)(hash >> 8 & 0xff00);
    if (unlikely(*entry != (tag | ALWAYS_CHECKED))) {
        *entry = (uint16_t)((*entry & 0xff00) == tag ? *entry + 1 : tag | 1);
        return false;
    }
    if (likely(sites->left > 1)) {
        sites->left--;
        return true;
    }
    sites->chance = sites->chance * 1664525 + 1013904223; /* a linear congruential generator */
    sites->left = 1 + (uint32_t)((uint64_t)(sites->chance >> 8) * (2 * access_every - 1) >> 24);
    return false;
}

/* The return address of the exported function. */
#define SITE __builtin_return_address(0)

/* The program's call of this function: its frame, as it begins. */
#define REFUSE(p, n, writes, name)                                                              \
    access_refused(                                                                             \
        &(struct access){.at = (p), .bytes = (n), .is_write = (writes), .entry = ENTRY_##name}, \
        CALLER)

#define CHECK(p, n, writes, name)                         \
    do {                                                  \
        if (is_in_heap(p) && unlikely(!is_allowed(p, n))) \
            REFUSE(p, n, writes, name);                   \
    } while (0)

/* Before or after the call: these bytes are read, or written. */
#define READS(p, n, name) CHECK(p, n, false, name)
#define WRITES(p, n, name) CHECK(p, n, true, name)

/* Is there something to check in what is read there?  Strings elsewhere may be copies of a block's fill. */
ALWAYS_INLINE bool is_of_interest(const void *p)
{
    return is_in_heap(p) || unlikely(fill_is_sought && p);
}

/* Before or after the call: what the program does next depends on these bytes, or they leave it. */
#define USES(p, n, name)                                      \
    do {                                                      \
        if (unlikely(fill_is_sought))                         \
            uninitialised_search(p, n, ENTRY_##name, CALLER); \
    } while (0)

/* Have the two ranges bytes in common? No matter if they begin at the same one: nothing changes. */
ALWAYS_INLINE bool is_overlap(const void *to, uint64_t written, const void *from, uint64_t read)
{
    uint64_t distance = (uintptr_t)from - (uintptr_t)to,
             distance_back = (uintptr_t)to - (uintptr_t)from;
    return to != from && (distance < written ? read > 0 : distance_back < read && written > 0);
}

/* `written` bytes at `to` and `read` bytes at `from`. */
#define MUST_NOT_OVERLAP(to, written, from, read, name)               \
    do {                                                              \
        if (unlikely(is_overlap(to, written, from, read)))            \
            access_overlaps(to, from, written, ENTRY_##name, CALLER); \
    } while (0)

#define NOINLINE __attribute__((noinline))

#endif
