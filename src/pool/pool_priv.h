/*
 * pool_priv.h - what the files of pool know of each other and nobody else does.
 */
#ifndef POOL_PRIV_H
#define POOL_PRIV_H

#include "pool.h"

#include <string.h>

/* ---- slab.c and units.c: the private table --------------------------------------------------- */

#define SLOT_WORDS (SLOTS_MAX / 64)

#define NEVER_FORGOTTEN UINT32_MAX

/* Private table beside heap.unit, indexed the same way; meaning depends on the head's kind. */
struct unit_note {
    uint32_t next, prev; /* list of partly free slabs, or of free runs; unit numbers, 0 = end */
    uint16_t free_slots; /* slab: bits set in its slab_bits */
    uint8_t listed;      /* slab: is it in the list of its class? */
    uint8_t dirty;       /* free run: may hold other than zeros */
    union {
        uint32_t hint;  /* slab: first word that may have a bit */
        uint32_t units; /* large block: its length; the record's belongs to readers of the file */
    };
    uint32_t fresh; /* slab: this slot and those above it were never taken */
    _Atomic uint32_t
        filled;         /* slab: bytes from its start in which slots never given out are redzone */
    bool reported_free; /* free, and told to be so: of each unit */
    bool huge;          /* of each unit: it lies where huge pages are wanted; never cleared */
    bool advised;       /* large block: huge pages are wanted inside */
    uint32_t lead;      /* large block: bytes before it in its first unit */
};

extern HIDDEN struct unit_note *unit_note;

/* A table of its own: only the pages of units that are slabs are ever written. */
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

/* ---- units.c: free runs ---------------------------------------------------------------------- */

#define HUGE_PAGE_BYTES (2ull << 20)
#define HUGE_UNITS (HUGE_PAGE_BYTES >> RTC_UNIT_SHIFT)

/* Of the free run whose first or last unit this is; 0: of none. */
ALWAYS_INLINE uint64_t run_length(const struct unit *u)
{
    uint64_t owner = atomic_load_explicit(&u->owner, memory_order_relaxed);
    return owner_kind(owner) == UNIT_FREE ? (uint64_t)(uintptr_t)owner_pointer(owner) : 0;
}

/* The free run that u lies in; NULL: in none.  While nobody else changes runs. */
struct unit *units_run_of(struct unit *u);
/* From now on nothing that is freed is given back to the kernel, or becomes due; and: again. */
void units_keep(bool kept);

/* ---- for foreign.c --------------------------------------------------------------------------- */

/* Is no slot of it in use, or kept for handlers? */
bool slab_is_unused(struct unit *head, uint32_t kind, uint32_t write_epoch);
/* Such a slab leaves, also what of it lies in caches and quarantines.  While all writers are stopped. */
void slab_drop(struct unit *head, uint32_t kind, uint32_t write_epoch);
/* Of one slab's slots, those that wait in the quarantine of t leave it. */
void quarantine_drop(struct thread *t, uintptr_t start, uintptr_t end, uint32_t write_epoch);
/* A freed large block that is in the quarantine; it leaves. */
bool large_is_held(const struct unit *head);
void large_drop(const struct unit *head);

/* ---- space.c: called under units.c's lock, or where nobody else can be ----------------------- */

/*
 * Makes the heap's first `units` memory that can be written, with their entries in the tables;
 * false: cannot be.
 */
bool space_make_ready(uint64_t units);
bool space_could_hold(uint64_t units); /* false: whatever is freed, the heap never has so many */
uint64_t space_ready_bytes(void);
/*
 * Units above the heap's end that the program has mapped over.  A request to make units ready never reaches
 * beyond the first unit of the next one.
 */
struct hole {
    uint64_t first, end;
};
struct hole space_next_hole(void);                /* UINT64_MAX: there is none */
bool space_is_hole(uint64_t first, uint64_t end); /* some of it? */
void space_add_hole(uint64_t first, uint64_t end);
/* The heap comes to end behind the next hole: it is one no more.  false: no memory for its table entries. */
bool space_pass_hole(void);
/* May parts of the heap be backed by huge pages?  Not in the file, nor under a limit, where address space is scarce. */
bool space_has_huge(void);

/* ---- pending.c: what somebody has to be told of (pool.h) ----------------------------------------- */

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

/* The calling thread is to tell of something. */
ALWAYS_INLINE void notice_request(void)
{
    if (self)
        self->after |= AFTER_NOTICE;
}

/* Their notes tell how many units they have. */
void pending_add_block(struct unit *head);
void pending_add_run(struct unit *first);
/* So much of the heap, from its beginning, is ready now. */
void pending_note_ready(uint64_t bytes);
/* What was told to be gone is used again: bytes from the heap's beginning. */
void pending_note_reuse(uint64_t from, uint64_t to);

/* Of what was told to be gone: large.c: into the quarantine with it; units.c: among the free runs. */
void large_quarantine(struct unit *head, bool released);
void units_put_back(struct unit *first, uint64_t n, bool released);

/* ---- image.c --------------------------------------------------------------------------------- */

uint32_t image_number(void);
uint32_t image_pid(void); /* as others of the run may use it; 0: it means nothing to them */

/* ---- area.c: called under segment.c's lock, or where nobody else can be ---------------------- */

/* Claims the image's first area; returns the `bytes` behind its head.  NULL: none to be had. */
void *area_begin(uint32_t bytes);
/* Behind what is there, in this area or the next, zeros or what was not published; NULL: none in the file. */
void *area_append(uint32_t bytes);
/* So many bytes that were appended are taken, and readers see them. */
void area_publish(uint32_t bytes);
/* So many of the bytes that were published are kept for findings: they are no sign of a program that grows. */
void area_reserved(uint32_t bytes);
void area_room(uint64_t *bytes, uint64_t *used); /* segment_room; the caller holds its lock */
uint64_t threads_quarantined(void);              /* quarantine_waiting, but for large blocks */
uint64_t large_quarantined(void);
/* It is empty, and anybody's. */
void area_free(struct area_entry *e);
/* In a forked child: what we have belongs to the parent. */
void areas_after_fork(void);
/* In a forked child that was forked inside a critical section: the rest of it must not write into
 * the parent's areas, so they are replaced by private copies. */
void areas_privatise(void);

/* ---- reclaim.c ------------------------------------------------------------------------------- */

/* Takes areas back where images that are over crowd the table; with a launcher: waits for it. */
void reclaim_if_crowded(void);
void reclaim_all(void);

/* ---- segment.c ------------------------------------------------------------------------------- */

void segments_after_fork(void);
/* Keeps room in the file for what is found: up to `bytes`, less where there is less.  Before any other segment. */
void segments_reserve(uint32_t bytes);

/* ---- for post_mortem.c --------------------------------------------------------------------------- */

bool threads_post_mortem(void); /* true: none was in a critical section */
void modules_post_mortem(void);
void fork_post_mortem(void);
bool area_renew(void); /* what is appended from now on goes into a new area; false: there is none */

/* ---- quarantine.c ---------------------------------------------------------------------------- */

/* A large block leaves, with its pages as they are. */
void quarantine_check_large(struct unit *head, struct large_record *r);
/* Once it is freed: do its pages keep the fill? */
bool large_is_filled(const struct unit *head);
/* Was a slot that was never given out written to, not yet reported, and is there a block to its left? */
bool never_damage(const struct found *f, const void *slot, struct damage *out);
/* Reports damage that was found when no call of the program is at fault. */
void quarantine_report(const struct damage *d);
/* Behind a large block, live or freed and filled, or inside a freed one. */
bool large_damage(struct unit *head, uint64_t request, uint64_t word, uint64_t stacks,
                  struct damage *out);

/* ---- thread_records.c: called under threads.c's lock, or where nobody else can be -------------- */

/* A record for a new thread, still to be published, and its place; without memory one that all share. */
struct thread_record *thread_record_take(uint32_t *record_number);
/* It is complete, and the calling thread's: readers see it. */
void thread_record_publish(struct thread_record *r, uint32_t record_number);
/* Its thread has ended: sooner or later it is another thread's. */
void thread_record_end(uint32_t record_number);
/* Is it not the one that is shared, and in no file? */
bool thread_record_counts(const struct thread_record *r);
struct thread_record *thread_record_of_all(void); /* that one */
void thread_records_after_fork(void);

/* ---- lease.c --------------------------------------------------------------------------------- */

/* Does the holder, or anybody who depends on it, still read its parent's records? */
bool lease_needed(struct lease *l);
/* May anybody alive read the records of this image?  depth bounds a hostile cycle of leases. */
bool image_is_read(uint32_t number, unsigned depth);
void leases_drop_unneeded(void);
/* Process `pid` reads nobody's records any more. */
void leases_exec(uint32_t pid);

/* ---- copy.c: for fork.c, find.c -------------------------------------------------------------- */

/* Are the head's records an ancestor's, who may have changed them since the fork? */
bool fork_is_unsure(const struct unit *head);
/* From here on records are ours that were written in `epoch` or later. */
void copies_begin(uint32_t epoch);
/* The same in a forked child, which came to the older ones by `lease` (NULL: by none). */
void copies_inherit(uint32_t epoch, struct lease *lease);
/* May inherited records of epoch `born` disagree with the data that was inherited with them? */
bool copies_are_unsure(uint32_t born);
bool lease_is_torn(const struct lease *l);
/* A lease is granted again when its child is over, which may be before its parent runs again. */
bool lease_is_of(const struct lease *l, uint32_t parent, uint32_t epoch);
/* A lease for the child that is about to be made, on what is current now; NULL: none left. */
struct lease *lease_grant(void);
/* Forgets leases that are over, and uses again what no child can see any more. */
void copies_sweep(void);
void copies_after_fork(void);

/* ---- slab.c: for copy.c ---------------------------------------------------------------------- */

/* Slots that were never given out are no redzones any more. */
void slab_forget_never(void);
/* A segment for the records of a slab, still to be published; NULL: no memory. */
struct segment *slab_segment(const struct unit *head, uint32_t class, uint32_t epoch);

/* ---- quiesce.c: for fork.c --------------------------------------------------------------------- */

void quiesce_start(uint32_t epoch);
/* Stops writers; true when none was left inside. */
bool quiesce_writers(void);
void quiesce_resume(uint32_t epoch);
void quiesce_after_fork(void);

/* ---- fork.c: for the two above --------------------------------------------------------------- */

bool fork_is_mine(void); /* does the calling thread make the fork that is under way? */

#endif
