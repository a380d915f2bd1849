/*
 * pool_priv.h - declarations shared by the files of pool only.
 */
#ifndef POOL_PRIV_H
#define POOL_PRIV_H

#include "pool.h"

#include <string.h>

/* ---- slab.c and units.c: the private table --------------------------------------------------- */

#define SLOT_WORDS (SLOTS_MAX / 64)

#define NEVER_FORGOTTEN UINT32_MAX

/* Private table parallel to heap.unit; the meaning of fields depends on the kind of the head. */
struct unit_note {
    uint32_t next, prev; /* list of partly free slabs, or of free runs; unit numbers, 0 = end */
    uint16_t free_slots; /* slab: bits set in its slab_bits */
    uint8_t listed;      /* slab: is it in the list of its class? */
    uint8_t dirty;       /* free run: may hold non-zero bytes */
    union {
        uint32_t hint; /* slab: first word that may have a bit set */
        /* large block: its length; the copy in the record may be written by readers of the file */
        uint32_t units;
    };
    uint32_t fresh; /* slab: this slot and those above were never allocated */
    /* slab: never allocated slots are filled as redzone up to this offset */
    _Atomic uint32_t filled;
    bool reported_free; /* each unit: free, and reported as released */
    bool huge;          /* each unit: in a chunk advised for huge pages; never cleared */
    bool advised;       /* large block: huge pages are advised inside */
    uint32_t lead;      /* large block: bytes before it in its first unit */
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

/* ---- units.c: free runs ---------------------------------------------------------------------- */

#define HUGE_PAGE_BYTES (2ull << 20)
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

/* ---- pending.c: pending notifications (pool.h) ----------------------------------------------- */

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

/* ---- image.c --------------------------------------------------------------------------------- */

uint32_t image_number(void);
uint32_t image_pid(void); /* as other images of the run see it; 0: in another pid namespace */

/* ---- area.c: called with the lock of segment.c, or single-threaded --------------------------- */

/* Claim the image's first area; returns the `bytes` after its head.  NULL: none available. */
void *area_begin(uint32_t bytes);
/*
 * Return space after the published bytes, in this area or the next: zeros or unpublished data;
 * NULL: none in the file.
 */
void *area_append(uint32_t bytes);
/* Publish so many appended bytes: readers see them from now on. */
void area_publish(uint32_t bytes);
/* So many published bytes are reserved for findings: they do not count when growth is estimated. */
void area_reserved(uint32_t bytes);
void area_room(uint64_t *bytes, uint64_t *used); /* segment_room; the caller holds its lock */
uint64_t threads_quarantined(void);              /* quarantine_waiting, but for large blocks */
uint64_t large_quarantined(void);
/* Mark an area as empty: any image may claim it. */
void area_free(struct area_entry *e);
/* In a forked child: the current areas belong to the parent. */
void areas_after_fork(void);
/*
 * In a child that was forked inside a critical section: replace the parent's areas by private
 * copies, because the interrupted section may still write into them.
 */
void areas_privatise(void);

/* ---- reclaim.c ------------------------------------------------------------------------------- */

/* Reclaim areas if ended images fill the table; with a launcher, wait for the launcher to do it. */
void reclaim_if_crowded(void);
void reclaim_all(void);

/* ---- segment.c ------------------------------------------------------------------------------- */

void segments_after_fork(void);
/*
 * Reserve up to `bytes` of the file for findings, less if there is less.  Before any other segment.
 */
void segments_reserve(uint32_t bytes);

/* ---- for post_mortem.c ----------------------------------------------------------------------- */

bool threads_post_mortem(void); /* true: none was in a critical section */
void modules_post_mortem(void);
void fork_post_mortem(void);
bool area_renew(void); /* later appends use a new area; false: none available */

/* ---- quarantine.c ---------------------------------------------------------------------------- */

/* Check a large block at eviction; its pages were kept. */
void quarantine_check_large(struct unit *head, struct large_record *r);
/* Do the block's pages keep the fill when it is freed? */
bool large_is_filled(const struct unit *head);
/* Was a never allocated slot written to, unreported so far, and is there a block to its left? */
bool never_damage(const struct found *f, const void *slot, struct damage *out);
/* Report damage for which no call of the program is at fault. */
void quarantine_report(const struct damage *d);
/* Check the redzones of a large block, and the fill of a freed one. */
bool large_damage(struct unit *head, uint64_t request, uint64_t word, uint64_t stacks,
                  struct damage *out);

/* ---- thread_records.c: called with the lock of threads.c, or single-threaded ----------------- */

/*
 * Return a record for a new thread, unpublished, and its index; without memory the shared record.
 */
struct thread_record *thread_record_take(uint32_t *record_number);
/* Publish a complete record for the calling thread. */
void thread_record_publish(struct thread_record *r, uint32_t record_number);
/* The record's thread has ended: the record may be reused later. */
void thread_record_end(uint32_t record_number);
/* Is it in the file?  false: it is the shared record. */
bool thread_record_counts(const struct thread_record *r);
struct thread_record *thread_record_of_all(void); /* the shared record */
void thread_records_after_fork(void);

/* ---- lease.c --------------------------------------------------------------------------------- */

/* Does the child, or an image that depends on it, still read its parent's records? */
bool lease_needed(struct lease *l);
/*
 * May a living process read the records of this image?  depth bounds a malicious cycle of leases.
 */
bool image_is_read(uint32_t number, unsigned depth);
void leases_drop_unneeded(void);
/* Process `pid` no longer reads inherited records. */
void leases_exec(uint32_t pid);

/* ---- copy.c: for fork.c, find.c -------------------------------------------------------------- */

/* Do the head's records belong to an ancestor, and may they disagree with the inherited data? */
bool fork_is_unsure(const struct unit *head);
/* Records written in `epoch` or later belong to this image. */
void copies_begin(uint32_t epoch);
/* The same in a forked child, which reads older records by `lease` (NULL: without a lease). */
void copies_inherit(uint32_t epoch, struct lease *lease);
/* May inherited records of epoch `born` disagree with the data that was inherited with them? */
bool copies_are_unsure(uint32_t born);
bool lease_is_torn(const struct lease *l);
/* A lease may be reused when its child is over, even before its parent runs again. */
bool lease_is_of(const struct lease *l, uint32_t parent, uint32_t epoch);
/* Grant a lease on the current records to the child of the next fork; NULL: none free. */
struct lease *lease_grant(void);
/* Drop leases that ended, and reuse records that no child can read any more. */
void copies_sweep(void);
void copies_after_fork(void);

/* ---- slab.c: for copy.c ---------------------------------------------------------------------- */

/* Stop using never allocated slots as redzones. */
void slab_forget_never(void);
/* Return an unpublished segment for the records of a slab; NULL: no memory. */
struct segment *slab_segment(const struct unit *head, uint32_t class, uint32_t epoch);

/* ---- quiesce.c: for fork.c ------------------------------------------------------------------- */

void quiesce_start(uint32_t epoch);
/* Stop writers; true if no thread is left in a section. */
bool quiesce_writers(void);
void quiesce_resume(uint32_t epoch);
void quiesce_after_fork(void);

/* ---- fork.c: for quiesce.c ------------------------------------------------------------------- */

bool fork_is_mine(void); /* is the calling thread the one that forks, or stops writers? */

#endif
