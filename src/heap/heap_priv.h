/*
 * heap_priv.h - declarations that only the files of heap share.
 */
#ifndef HEAP_PRIV_H
#define HEAP_PRIV_H

#include "heap.h"

#include <string.h>

/* ---- slab.c and units.c: the private table --------------------------------------------------- */

#define SLOT_WORDS (SLOTS_MAX / 64)

#define NEVER_FORGOTTEN UINT32_MAX

/* Private table parallel to heap.unit; the meaning of fields depends on the kind of the head. */
struct unit_note {
    uint32_t next, prev; /* list of partly free slabs, or of free runs; unit numbers, 0 = end */
    uint16_t free_slots; /* slab: bits set in its slab_bits */
    union {
        uint8_t listed;    /* slab: is it in the list of its class? */
        uint8_t is_filled; /* freed large block: it has the fill, its pages were not released */
    };
    uint8_t dirty; /* free run: may hold non-zero bytes */
    union {
        uint32_t hint; /* slab: first word that may have a bit set */
        /* large block: its length; the copy in the record may be written by readers of the file */
        uint32_t units;
    };
    union {
        uint32_t fresh; /* slab: this slot and those above were never allocated */
        /* guarded block: number of its accessible pages, from the second page of its units on */
        uint32_t pages;
    };
    /* slab: never allocated slots are filled as redzone up to this offset */
    _Atomic uint32_t filled;
    bool reported_free;    /* each unit: free, and reported as released */
    bool huge;             /* each unit: in a chunk advised for huge pages; never cleared */
    bool advised;          /* large block: huge pages are advised inside */
    _Atomic uint8_t guard; /* GUARD_*, of each unit: it belongs to guarded blocks (guard.c) */
    uint32_t lead;         /* large block: bytes before it in its first unit */
};

extern HIDDEN struct unit_note *unit_note;

/* A separate table: only the pages of units that are slabs are ever written. */
struct slab_bits {
    uint64_t free[SLOT_WORDS];
};

extern HIDDEN struct slab_bits *slab_bits;

ALWAYS_INLINE uint32_t unit_number(const struct unit *u)
{
    return (uint32_t)(u - heap.unit);
}

ALWAYS_INLINE struct unit_note *note_of(const struct unit *u)
{
    return unit_note + (u - heap.unit);
}

ALWAYS_INLINE uint64_t *bits_of(const struct unit *u)
{
    return slab_bits[u - heap.unit].free;
}

/* ---- guard.c ---------------------------------------------------------------------------------- */

#define GUARD_UNIT 1u /* each unit: no access by anyone but guard.c and the program */
#define GUARD_DATA 2u /* head: the pages of the block are accessible, it is in use */
#define GUARD_OPEN 4u /* head: all pages are accessible, after a bad access or without guards */
/* head of a block in use: the pages before and after it are accessible, after a bad access */
#define GUARD_OPEN_BEFORE 8u
#define GUARD_OPEN_AFTER 16u

ALWAYS_INLINE uint32_t guard_bits(const struct unit *u)
{
    return atomic_load_explicit(&note_of(u)->guard, memory_order_relaxed);
}

/* The bytes of a large block's units that are accessible while it is in use, from the first unit. */
ALWAYS_INLINE uint64_t large_first_byte(const struct unit *head)
{
    return guard_bits(head) ? PAGE_BYTES : 0;
}

ALWAYS_INLINE uint64_t large_end_byte(const struct unit *head)
{
    const struct unit_note *note = note_of(head);
    return guard_bits(head) ? ((uint64_t)note->pages + 1) * PAGE_BYTES
                            : (uint64_t)note->units << RTC_UNIT_SHIFT;
}

/* Evict all guarded blocks from the quarantine, and give up vacant units.  false: there were none. */
bool guard_evict_all(void);

/* ---- for guard.c (large.c) --------------------------------------------------------------------- */

/* NULL: no memory. */
struct large_record *large_record_take(void);
/* The record's block is gone; the record stays with its units. */
void large_record_clear(struct large_record *r);
/* Where a block lies in its units. */
/*
 * Enter a block and its record, of which r->units is set, into the tables; its state is set later, by
 * block_publish.
 */
void large_enter(struct unit *head, struct large_record *r, uint64_t lead, uint64_t request,
                 struct found *f);

/* ---- units.c: free runs ---------------------------------------------------------------------- */

#define HUGE_UNITS (HUGE_PAGE_BYTES >> RTC_UNIT_SHIFT)

/* Length of the free run that starts or ends with this unit; 0: none. */
ALWAYS_INLINE uint64_t run_length(const struct unit *u)
{
    uint64_t owner = atomic_load_explicit(&u->owner, memory_order_relaxed);
    return owner_kind(owner) == UNIT_FREE ? (uint64_t)(uintptr_t)owner_pointer(owner) : 0;
}

/*
 * First unit of the free run that contains u; NULL: none.  No other thread may change runs
 * meanwhile.
 */
struct unit *units_run_of(struct unit *u);
/*
 * true: from now on freed runs are neither returned to the kernel nor made pending; false: the
 * default.
 */
void units_keep(bool kept);

/* Can n units be released, so that they are zeros and take no memory?  Not always in the file. */
bool units_can_release(uint64_t n);
bool units_release(struct unit *first, uint64_t n);

/* ---- for foreign.c --------------------------------------------------------------------------- */

/* Is no slot in use, and the slab not kept for signal handlers? */
bool slab_is_unused(struct unit *head, uint32_t kind, uint32_t write_epoch);
/*
 * Release such a slab, including its slots in caches and quarantines.  All writers must be stopped.
 */
void slab_drop(struct unit *head, uint32_t kind, uint32_t write_epoch);
/* Evict the slots in [start, end) from the quarantine of t. */
void quarantine_drop(struct thread *t, uintptr_t start, uintptr_t end, uint32_t write_epoch);
/* Is it a freed large block in the quarantine?  large_drop evicts it. */
bool large_is_held(const struct unit *head);
void large_drop(const struct unit *head);

/* ---- space.c: called with the lock of units.c, or single-threaded ---------------------------- */

/* Make the heap's first `units` writable memory, with their table entries; false: impossible. */
bool space_make_ready(uint64_t units);
bool space_could_hold(uint64_t units); /* false: the heap can never have so many units */
uint64_t space_ready_bytes(void);
uint64_t space_units_usable(void); /* with address space, ready or not */
/* Is a unit not of the heap any more: has the program mapped over it? */
bool space_is_foreign(uint64_t unit);
/* The end of the units from `first` on that are all foreign, or of which none is; at most `end`. */
uint64_t space_same_until(uint64_t first, uint64_t end);
/*
 * A range of units above the heap's end that the program has mapped over.  A request to make units
 * ready never extends beyond the start of the next hole.
 */
struct hole {
    uint64_t first, end;
};
struct hole space_next_hole(void);                /* UINT64_MAX: none */
bool space_is_hole(uint64_t first, uint64_t end); /* does a part of [first, end) lie in a hole? */
void space_add_hole(uint64_t first, uint64_t end);
/*
 * Move the heap's end past the next hole and remove that hole.  false: no memory for its table
 * entries.
 */
bool space_pass_hole(void);
/*
 * May parts of the heap use huge pages?  false: the heap is in the file, or address space is
 * limited.
 */
bool space_has_huge(void);

/* ---- in_file.c ------------------------------------------------------------------------------- */

extern HIDDEN bool heap_can_collapse;   /* shared heap: its pages may be made huge pages */
extern HIDDEN uint32_t heap_hole_units; /* of the shortest hole that is made in the file */
/* heap=file: take and reserve a heap of the file.  NULL: none. */
void *in_file_start(uint64_t *bytes);
/* The heap has become private memory, by heap_put_back. */
void in_file_end(void);

/* ---- pending.c: pending notifications (heap.h) ----------------------------------------------- */

ALWAYS_INLINE bool heap_code_is_changed(const struct heap_code *c)
{
    uint64_t now;
    memcpy(&now, c->at, sizeof now);
    return now != c->was;
}

ALWAYS_INLINE bool heap_is_watched(void)
{
    return atomic_load_explicit(&heap_watched, memory_order_relaxed) ||
           heap_code_is_changed(&heap_code[0]) || heap_code_is_changed(&heap_code[1]);
}

/* The calling thread has to deliver notifications after its section. */
ALWAYS_INLINE void notice_request(void)
{
    if (self)
        self->after |= AFTER_NOTICE;
}

/* Their length is in unit_note.units. */
void pending_add_block(struct unit *head);
void pending_add_run(struct unit *first);
/* So many bytes from the heap's start are ready now. */
void pending_note_ready(uint64_t bytes);
/* Memory that was reported as released is used again: bytes from the heap's start. */
void pending_note_reuse(uint64_t from, uint64_t to);

/*
 * After the notification: large.c puts a block into the quarantine, units.c a run into the free
 * runs.
 */
void large_quarantine(struct unit *head, bool released);
void units_put_back(struct unit *first, uint64_t n, bool released);

/* ---- quarantine.c ---------------------------------------------------------------------------- */

/* Check a large block at eviction; its pages were kept. */
void quarantine_check_large(struct unit *head, struct large_record *r);
/* Do the block's pages keep the fill when it is freed? */
bool large_is_filled(const struct unit *head);
/* Is it to be filled when it is freed?  Notes it for large_is_filled. */
bool large_fills(const struct unit *head);
/* Report damage for which no call of the program is at fault. */
void quarantine_report(const struct damage *d);
/* Bytes of large blocks in the quarantine. */
uint64_t large_quarantined(void);

/* ---- redzone.c ------------------------------------------------------------------------------- */

/* Can damage be attributed to this block: is it live, or freed and in quarantine? */
ALWAYS_INLINE bool word_is_known(uint64_t word)
{
    return word_state(word) == BLOCK_LIVE || word_state(word) == BLOCK_FREED;
}

/* Was a never allocated slot written to, unreported so far, and is there a block to its left? */
bool never_damage(const struct found *f, const void *slot, struct damage *out);
/* Check the redzones of a large block, and the fill of a freed one. */
bool large_damage(struct unit *head, uint64_t request, uint64_t word, uint64_t stacks,
                  struct damage *out);
/* Describe damage of a block in a slab, or of its left neighbour, that is not reported yet. */
bool slot_damage(const struct found *f, void *block, uint64_t request, uint64_t word,
                 uint64_t stacks, uint32_t write_epoch, struct damage *out);

#endif
