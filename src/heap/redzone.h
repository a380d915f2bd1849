/*
 * redzone.h - redzones (canary bytes) after every block, and the fill of freed blocks.  Part of
 * pool's interface; the rare paths are in redzone.c, the check of all blocks is in sweep.c.
 *
 *  slot   | requested ............ | slack: REDZONE_BYTE        |  next slot
 *         0                        request                  slot_bytes
 *
 * From allocation on, the slack of a slot holds REDZONE_BYTE: up to REDZONE_REACH bytes, and always
 * the last REDZONE_TAIL.  Slack is one byte at least.  (After a large block the limit is
 * LARGE_REACH, see redzone.c.) The last byte of every slot that was ever cached holds REDZONE_BYTE
 * in every state of the slot, so it is also the redzone before the right neighbour.  Slot 0 of a
 * slab is never allocated: its last bytes are the redzone before slot 1.  A large block has a
 * redzone of its own before it, in its first unit.  --redzone-size makes the class larger; then all
 * slack is redzone.
 *
 * Freed blocks are filled with one word, repeated from their start, until they leave the quarantine:
 * a tag and the address of the block, or the free-fill byte.  A pointer that is read from a freed
 * block so names the block (init/fault.c).
 *
 * When a block is freed, the check is one comparison of 16 bytes and one of the byte before the
 * block.  At eviction from the quarantine the whole slot is compared with the expected pattern.
 */
#ifndef REDZONE_H
#define REDZONE_H

#include "format/pattern.h"
#include "heap.h"
#include "vectors.h"

/* The slack that redzone_put leaves: after `request` bytes and before the tail. */
void redzone_put_more(void *slot, uint32_t slot_bytes, uint64_t request);
bool redzone_is_intact_wide(const void *slot, uint32_t slot_bytes, uint64_t request);

ALWAYS_INLINE vector redzone_pattern(void)
{
    return vector_of(REDZONE_BYTE);
}

/* A slot is about to be allocated; the tail may overwrite the block's own last bytes. */
ALWAYS_INLINE void redzone_put(void *slot, uint32_t class, uint64_t request)
{
    uint32_t slot_bytes = size_class[class].slot_bytes;
    vector_put_aligned((char *)slot + slot_bytes - REDZONE_TAIL, redzone_pattern());
    if (slot_bytes - request > REDZONE_TAIL)
        redzone_put_more(slot, slot_bytes, request);
}

/* Is the redzone after the block intact? */
ALWAYS_INLINE bool redzone_is_intact_after(const void *slot, uint32_t slot_bytes, uint64_t request)
{
    uint64_t slack = slot_bytes - request;
    if (slack > REDZONE_TAIL)
        return redzone_is_intact_wide(slot, slot_bytes, request);
    vector tail = vector_at_aligned((const char *)slot + slot_bytes - REDZONE_TAIL);
    uint32_t changed = ~vector_bits(vector_same(tail, redzone_pattern()));
    return (changed & 0xffff) << slack <= 0xffff; /* the block's own bytes may have any value */
}

/* The redzone before slot 1, the first slot that is allocated. */
void redzone_put_border(void *slot);
bool redzone_border_is_intact(const void *slot);

/* Are the redzones on both sides of the block intact? */
ALWAYS_INLINE bool redzone_is_intact(const void *slot, uint32_t number, uint32_t class,
                                     uint64_t request)
{
    if (((const uint8_t *)slot)[-1] != REDZONE_BYTE ||
        (unlikely(number == 1) && !redzone_border_is_intact(slot)))
        return false;
    return redzone_is_intact_after(slot, size_class[class].slot_bytes, request);
}

/* ---- damage found (redzone.c) ---------------------------------------------------------------- */

struct damage {
    enum error_damage where;
    const char *first;                /* first damaged byte */
    uint64_t bytes;                   /* up to and including the last damaged byte */
    uint8_t found[ERROR_BYTES_FOUND]; /* contents before any repair */
    /* the block that is reported */
    const void *block;
    uint64_t request;
    uint64_t word, stacks; /* from its record */
    uint64_t other_stacks; /* of the block on the other side of the bytes; 0: none, or not known */
};

/*
 * Check a block that has just become FREED (`was`: its word before).  true: a redzone after or
 * before it was overwritten, and this was not reported before.  The redzones are then repaired.
 */
bool redzone_damage(const struct found *f, void *block, uint64_t request, uint64_t was,
                    uint32_t write_epoch, struct damage *out);

/*
 * The same for a large block, which has no neighbours.  First after it; call again for before it.
 */
bool redzone_damage_large(const struct found *f, void *block, uint64_t request, uint64_t was,
                          struct damage *out);
void redzone_put_large(const struct found *f, void *block, uint64_t request);
void redzone_put_before_large(const struct unit *head);

/*
 * Set the redzone for another size in the same slot, before the record changes: a sweep compares
 * both.
 */
void redzone_move(void *slot, uint32_t class, uint64_t request);

/* A freed block leaves the quarantine: was it written to?  `word` is from its record. */
bool fill_damage(const void *block, uint64_t request, uint64_t word, uint64_t stacks,
                 struct damage *out);
void fill_put(void *block, uint64_t request);
void fill_put_new(void *block, uint64_t request);                  /* malloc_fill is not -1 */
void fill_put_grown(void *block, uint64_t from, uint64_t request); /* the same, of the end */
bool fill_is_intact(const void *block, uint64_t request);

/*
 * `select` has 16 bytes with all bits set, then 16 zero bytes.  The window that begins with n bytes
 * of the former selects the first n bytes of a vector: the fill before the redzone.
 */
#define FREED_SLOT_MAX (REDZONE_REACH + REDZONE_TAIL)
struct freed_pattern {
    _Alignas(16) char select[2 * REDZONE_TAIL];
    uint64_t word;     /* of every block */
    uint64_t of_block; /* all bits: the block's address is added to it (format/fill_word.h) */
    uint32_t slot_max; /* largest slot size that freed_is_intact compares itself */
};

extern HIDDEN struct freed_pattern freed_pattern;

void freed_pattern_start(void); /* after free_fill is set */
bool freed_is_intact_slow(const void *slot, uint32_t slot_bytes, uint64_t request);

/* The word that a freed block is filled with. */
ALWAYS_INLINE uint64_t fill_word(const void *block)
{
    return freed_pattern.word | (fill_word_spread((uintptr_t)block) & freed_pattern.of_block);
}

ALWAYS_INLINE vector freed_same(const char *slot, uint64_t at, vector fill)
{
    return vector_same(vector_at_aligned(slot + at), fill);
}

ALWAYS_INLINE vector freed_same_four(const char *slot, vector fill, uint64_t a, uint64_t b,
                                     uint64_t c, uint64_t d)
{
    return vector_and(vector_and(freed_same(slot, a, fill), freed_same(slot, b, fill)),
                      vector_and(freed_same(slot, c, fill), freed_same(slot, d, fill)));
}

/* The last vector of a slot: fill up to `request`, then redzone. */
ALWAYS_INLINE vector freed_same_last(const char *slot, uint64_t last, uint64_t request, vector fill)
{
    vector is_fill = vector_at(freed_pattern.select + REDZONE_TAIL - (request - last));
    vector wanted = vector_and(is_fill, vector_xor(fill, redzone_pattern()));
    return freed_same(slot, last, vector_xor(wanted, redzone_pattern()));
}

/* Is a quarantined slot intact?  The first 80 bytes with one branch. */
ALWAYS_INLINE bool freed_is_intact(const void *slot, uint32_t slot_bytes, uint64_t request)
{
    if (unlikely(slot_bytes > freed_pattern.slot_max || slot_bytes - request > REDZONE_TAIL))
        return freed_is_intact_slow(slot, slot_bytes, request);
    vector fill = vector_of_word(fill_word(slot));
    uint64_t last = slot_bytes - 16u, end = last - 16;
    vector same = freed_same_last(slot, last, request, fill);
    if (!last)
        return vector_is_all(same);
    same = vector_and(same, freed_same_four(slot, fill, 0, end < 16 ? end : 16, end < 32 ? end : 32,
                                            end < 48 ? end : 48));
    for (; last > 64; last -= 64)
        same = vector_and(same,
                          freed_same_four(slot, fill, last - 64, last - 48, last - 32, last - 16));
    return vector_is_all(same);
}

/* ---- sweep.c --------------------------------------------------------------------------------- */

/*
 * Many overflows are in blocks that are never freed.  At exit a sweep checks all live and all
 * quarantined blocks.  `visit` is called inside the sweep's sections.  Records that a forked child
 * inherited and never wrote are left to its parent.  Takes no lock.
 */
struct sweep {
    uint32_t unit; /* unit to continue at; 0: start */
    /* time until which the sweep waits for threads that fill a block; 0: not set */
    uint64_t settled_by;
};

/* Check one slab or large block; false: no further one. */
bool sweep_next(struct sweep *s, uint32_t write_epoch, void (*visit)(const struct damage *));

#endif
