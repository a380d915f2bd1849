/*
 * heap.h - the interface of heap: the program's memory and its records.
 *
 *  unit     64 KiB of heap address space; heap.unit[] holds the kind and owner of each
 *  slab     one to eight units of equal slots; its records are one segment of the run file
 *  large    a block of its own units; its record is an item of a SEGMENT_LARGE
 *
 * Metadata is out of line: free slots are bits in private tables, records are in the run file.  At
 * a fork the kernel copies private tables; the runtime copies records, slab by slab, before one
 * side first writes one (fork/copy.c).  The state word of a record is written by shadow/block.c
 * only.
 *
 * Unless stated otherwise, functions must be called inside a critical section (track.c enters it),
 * by a thread that has `self`, and not by a signal handler that interrupted a section.
 *
 * Locks, in this order (enum lock_rank): one per size class (slab.c), quarantine of large blocks
 * (large.c) or client blocks, units, pending notifications, records of large blocks.  All precede
 * those of runfile's segments.  A thread's bins and quarantine are its own and need no lock.
 *
 * heap, runfile and fork are one floor: records of blocks lie in the run file, and a fork copies
 * them late.
 */
#ifndef HEAP_H
#define HEAP_H

#include <limits.h>

#include "base.h"
#include "fork.h"
#include "runfile.h"
#include "os.h"
#include "shadow.h"
#include "thread_list.h"

/* ---- geometry (size_class.c) ----------------------------------------------------------------- */

#define UNIT_BYTES (1ull << RTC_UNIT_SHIFT)
/* number of slabs kept for allocations in signal handlers that interrupted the runtime */
#define HANDLER_CLASSES 4u
#define ALL_CLASSES (SIZE_CLASSES + HANDLER_CLASSES)
#define SLOT_BYTES_MAX 32768u
#define SLOTS_MAX 4096u

struct size_class {
    uint64_t magic; /* ceil(2^32 / (slot_bytes / 16)): slot = (offset / 16) * magic >> 32 */
    uint32_t slot_bytes;
    uint16_t slots;
    uint16_t units;
};

extern HIDDEN const struct size_class size_class[ALL_CLASSES];

/* Written once, before the heap is used. */
struct pool_knobs {
    uint64_t quarantine_bytes; /* per thread */
    int malloc_fill;           /* 0..255, FILL_OF_BLOCK, -1 = no */
    bool marks_new;            /* malloc_fill is set, or the byte shadow is on */
    int free_fill;
    uint32_t redzone_bytes; /* minimum after each block, and before it */
    /* bytes of slack that are checked, besides the last redzone_tail of a slot */
    uint32_t redzone_reach;
    uint32_t redzone_tail;
};

extern HIDDEN struct pool_knobs pool_knobs;

#define REDZONE_BYTES_MIN 16u /* minimum of --redzone-size; without the option it is 1 */
#define REDZONE_BYTES_MAX 4096u

void redzone_width(uint32_t bytes);

/* Smallest class for `request` bytes and a redzone; >= SIZE_CLASSES: a large block. */
ALWAYS_INLINE uint32_t class_of(size_t request)
{
    /* offset of the last byte that the slot must have */
    size_t last = request + pool_knobs.redzone_bytes - 1;
    if (likely(last < 256))
        return (uint32_t)(last >> 4);
    if (last >= SLOT_BYTES_MAX)
        return SIZE_CLASSES;
    unsigned log2 = log2_floor(last);
    return 16 + (log2 - 8) * 4 + (uint32_t)(last >> (log2 - 2) & 3);
}

/* The same for a class with all slots aligned to `align` (a power of two). */
uint32_t class_of_aligned(size_t request, size_t align);

/* ---- the heap (space.c) ---------------------------------------------------------------------- */

/* unit.owner: kind in the top 16 bits, a pointer or a length in the others. */
enum unit_kind {
    UNIT_NONE = 0,
    /* 1 .. ALL_CLASSES: slab of class kind - 1; the head unit points to its segment */
    UNIT_LARGE = 0x100, /* the head unit points to its large_record */
    UNIT_FREE = 0x200,  /* run of free units: length at both ends */
    /* each unit that the program has mapped over; never used again */
    UNIT_FOREIGN = 0x300,
};

struct unit {
    _Atomic uint64_t owner;
    uint32_t back; /* units from here back to the head */
    /* head only: epoch in which the records became writable by this image */
    _Atomic uint32_t epoch;
};

struct heap {
    uintptr_t base;
    _Atomic uint64_t bytes; /* in use, including free runs; units above are UNIT_NONE */
    struct unit *unit;
};

extern HIDDEN struct heap heap;

#define OWNER_SHIFT 48

ALWAYS_INLINE uint32_t owner_kind(uint64_t owner)
{
    return (uint32_t)(owner >> OWNER_SHIFT);
}

ALWAYS_INLINE void *owner_pointer(uint64_t owner)
{
    return (void *)(uintptr_t)(owner & ((1ull << OWNER_SHIFT) - 1));
}

ALWAYS_INLINE uint64_t owner_of(uint32_t kind, uintptr_t pointer)
{
    return (uint64_t)kind << OWNER_SHIFT | pointer;
}

ALWAYS_INLINE uintptr_t unit_address(const struct unit *u)
{
    return heap.base + ((uintptr_t)(u - heap.unit) << RTC_UNIT_SHIFT);
}

/* ---- the epoch page (quiesce.c) -------------------------------------------------------------- */

/*
 * `epoch` is the current epoch.  It is 0 while no thread may write records: before start-up, while
 * a fork waits for quiescence, and in a new child, where the kernel wiped the page
 * (MADV_WIPEONFORK).  `alive` is 1 and is wiped too: it distinguishes a child from a fork in
 * progress.
 */
struct epoch_page {
    _Atomic uint32_t epoch;
    _Atomic uint32_t alive;
};

extern HIDDEN struct epoch_page *epoch_page;
extern HIDDEN bool fence_entries; /* no membarrier: every entry into a section fences */

/* ---- lookup (find.c) ------------------------------------------------------------------------- */

struct found {
    enum verdict verdict;
    struct unit *head;
    uint32_t kind; /* of the head unit */
    uint32_t slot; /* slabs */
    /* PTR_INSIDE: offset from the start of the slot or block, its lower 32 bits */
    uint32_t offset;
};

/* Classify an address; any value is allowed.  Signal-safe, takes no lock. */
struct found pool_find(const void *p);

/* Offset of `at` in its block; `f` is the result of pool_find for `at`. */
uint64_t pool_inside(const struct found *f, uintptr_t at);

/* The record of a found block, writable in `write_epoch` (copied first if a child may read it). */
struct block_record *pool_record(const struct found *f, uint32_t write_epoch);

/* The same for reading.  write_epoch 0: never copies; for signal handlers. */
const struct block_record *pool_look(const struct found *f, uint32_t write_epoch);

/* Bytes requested, and bytes that the slot or the pages have, less one byte of redzone. */
uint64_t pool_request(const struct found *f, const struct block_record *b, uint64_t word);
uint64_t pool_room(const struct found *f);

ALWAYS_INLINE bool is_slab(uint32_t kind)
{
    return kind - 1 < ALL_CLASSES;
}

/* Is it a slab kept for signal handlers? */
ALWAYS_INLINE bool is_reserve(uint32_t kind)
{
    return kind - 1 - SIZE_CLASSES < HANDLER_CLASSES;
}

#ifdef RTC_RECORD_WIDE
#define RECORD_BYTES 32u
#else
#define RECORD_BYTES ((uint32_t)sizeof(struct block_record))
#endif

/* The state word of a record that others may be writing.  Pairs with block_publish and block_retire. */
ALWAYS_INLINE uint64_t record_word(const struct block_record *b)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&b->word, memory_order_acquire);
}

ALWAYS_INLINE struct block_record *segment_record(struct segment *s, uint32_t slot)
{
    return (struct block_record *)((uintptr_t)(s + 1) + (uintptr_t)slot * RECORD_BYTES);
}

/* Return a slot for a block, its record NEVER or FREE; NULL: no memory. */
void *slab_take(struct thread *t, uint32_t class);
/* Check and clear a slot that was never allocated: its record is 0. */
void slab_first_use(void *slot, struct block_record *b);
/* Return a slot (record FREE) to the thread's cache, which flushes to the slabs when full. */
void slab_give(struct thread *t, uint32_t class, void *slot);
/* The thread ends: return all slots of its caches. */
void slab_drain(struct thread *t);
/*
 * For a handler that interrupted the runtime: lock-free, from slabs reserved for it; NULL: none
 * free.
 */
void *slab_take_in_handler(size_t request, size_t align);
void slab_give_in_handler(uint32_t class, void *slot);
/*
 * Blocks of handlers that have no record: mark, test, and unmark (true for one of concurrent
 * frees).
 */
void slab_note_unrecorded(const struct found *f);
bool slab_is_unrecorded(const struct found *f);
bool slab_clear_unrecorded(const struct found *f);
void slab_start(void);
/*
 * Called in a forked child.  `trusted`: no other thread was inside a section when memory was
 * copied.
 */
void slab_after_fork(bool trusted, struct thread *orphans);

void large_start(void);
/* Start of the block in these units: after its left redzone. */
uintptr_t large_start_of(const struct unit *head);
/* Allocate a large block; *clean: its pages read as zero. */
void *large_take(size_t request, size_t align, bool *clean, struct found *f);
/* The block's record is FREED: quarantine it; its pages are released at once or at eviction. */
void large_give(const struct found *f);
/* Memory is short: evict all large blocks from the quarantine. */
bool large_evict_all(void);
/* Grow or shrink in place; false: impossible. */
bool large_resize(const struct found *f, uint64_t request);
/* The largest request that fits the block's place. */
uint64_t large_room(const struct unit *head);
void large_after_fork(bool trusted);

/* ---- all blocks (each.c) --------------------------------------------------------------------- */

/*
 * Call `visit` with the record of each block, in any state, while no thread writes.  `inherited`:
 * include records that belong to an ancestor.  Client blocks are not visited.  Stops with false if
 * `visit` returns false.
 */
bool each_block(bool inherited,
                bool (*visit)(void *about, const struct found *f, const struct block_record *b),
                void *about);

/* ---- client blocks of custom allocators (client_blocks.c) ------------------------------------ */

struct client_block {
    struct block_record block; /* its size field is 0 */
    /* complement of the start address, so that a leak scan of this memory finds no pointer here */
    uint64_t not_start;
    uint64_t bytes;
    uint64_t life;  /* lifetime of the heap block that contains it, 0: none */
    uint32_t image; /* image that recorded it */
    uint32_t priority;
    uint32_t freed_at;
    struct client_block *low, *high;
    struct client_block_record *copy; /* in the run file, or NULL */
};

ALWAYS_INLINE uint64_t client_block_start(const struct client_block *n)
{
    return ~n->not_start;
}

/*
 * Record a client block.  false: it overlaps one that is in use, lies partly in a block of the
 * heap, or there is no memory for it.
 */
bool client_block_put(uint64_t start, uint64_t bytes, const struct block_birth *birth,
                      uint32_t write_epoch);
/*
 * Free the client block at `at`; *was is its state before.  It was live: PTR_START and a LIVE word.
 */
enum verdict client_block_retire(uint64_t at, uint32_t thread, uint32_t stack,
                                 struct client_block *was);
/* Free all live client blocks that start in [start, end); returns their number. */
uint64_t client_block_retire_all(uint64_t start, uint64_t end, uint32_t thread, uint32_t stack);
/* PTR_FOREIGN: no client block. */
enum verdict client_block_find(uint64_t at, uint32_t write_epoch, struct client_block *out);
/* false: no live client block at that address. */
bool client_block_flag(uint64_t at, uint32_t flags);
/*
 * Find the heap block that contains all these bytes: *life identifies its current lifetime, 0:
 * outside of the heap.  false: partly inside, or the block is not in use.  write_epoch 0: while no
 * thread writes.
 */
bool client_block_life(uint64_t start, uint64_t bytes, uint32_t write_epoch, uint64_t *life);
/* An upper bound of their number; whether a live one was recorded by this image.  Take no lock. */
uint32_t client_block_count(void);
bool client_block_has_own(void);
/*
 * Visit the live client blocks by address, while no thread writes.  Client blocks in a freed heap
 * block end here.
 */
void client_block_visit(void (*visit)(void *about, const struct client_block *n), void *about);
bool client_block_is_inherited(const struct client_block *n);
void client_block_after_fork(bool trusted);

/* ---- redzones and fills (redzone.h) ---------------------------------------------------------- */

struct damage;

/* Set the function that reports damage found at eviction; once, before the heap is used. */
void quarantine_set_reporter(void (*visit)(const struct damage *));

/* ---- quarantine (quarantine.c) --------------------------------------------------------------- */

/* Fill a block that this thread has just set to FREED, and put it into the quarantine. */
void quarantine_push(struct thread *t, void *block, uint32_t class, uint64_t request,
                     uint32_t write_epoch);
void quarantine_push_large(const struct found *f, void *block, uint64_t request);
/* The thread ends: move its quarantine to the shared one. */
void quarantine_drain(struct thread *t, uint32_t write_epoch);
/* Quarantined bytes, a recent value; takes no lock. */
uint64_t quarantine_waiting(void);

/* ---- address space (space.c) ----------------------------------------------------------------- */

/* in_file: heap=file, with a heap of the run file; -ENOMEM: there is none */
int heap_start(bool in_file);
/* End of the heap's address space, in use or reserved. */
uintptr_t heap_space_end(void);
/*
 * The program makes pages of this range unreadable without mprotect, for itself (MADV_GUARD_INSTALL)
 * or for forked children (MADV_DONTFORK).  heap_has_gaps: this was done in the heap.
 */
void heap_note_gap(uintptr_t start, uintptr_t end);
bool heap_has_gaps(void);
/*
 * The program is about to map memory over [start, end), whole pages in the heap's address space.
 * Units without a block in use become UNIT_FOREIGN; freed blocks there leave the quarantine.
 * false: a block there is in use; nothing is changed.  Call between fork_stop_writers and
 * fork_resume_writers (foreign.c).
 */
bool heap_make_foreign(uintptr_t start, uintptr_t end, uint32_t write_epoch);

/* ---- heap=file (in_file.c) ------------------------------------------------------------------- */

enum heap_backing {
    HEAP_IN_MEMORY,
    HEAP_IN_FILE,      /* shared: writes reach the file, and processes that have the same mapping */
    HEAP_COPY_OF_FILE, /* private, but pages that were not written are those of the file */
};
extern HIDDEN enum heap_backing
    heap_backing; /* changes only while one thread runs, or a fork stops writers */

ALWAYS_INLINE bool heap_in_file(void)
{
    return heap_backing != HEAP_IN_MEMORY;
}

ALWAYS_INLINE bool heap_is_shared(void)
{
    return heap_backing == HEAP_IN_FILE;
}

ALWAYS_INLINE bool heap_is_copy(void)
{
    return heap_backing == HEAP_COPY_OF_FILE;
}

/* Are these pages of the heap that are ready memory, with heap=file? */
bool heap_has_pages_in_file(uintptr_t at, size_t bytes);
/*
 * The program discards whole pages of it (MADV_DONTNEED, MADV_FREE): they are zeros, as in private memory.
 * -EINVAL: they are locked.
 */
int heap_discard(uintptr_t at, size_t bytes);

/*
 * Before a fork: replace the shared mapping by a private one, with the same contents.  false: it is shared
 * still, in part at least.  is_quiescent: no thread is in a section.
 */
bool heap_make_private(bool is_quiescent);
/*
 * Copy a private heap to another heap of the file, and share that one from now on; *progress is
 * incremented meanwhile.  For a child with one thread.  false: no room; nothing has changed.
 */
bool heap_move_to_file(uint32_t number_1, _Atomic uint32_t *progress);
/*
 * Write the pages that were changed since heap_make_private to the file, and share it again.  The other threads
 * must be stopped, and no process may read pages of the file any more.  false: nothing has changed.
 */
bool heap_back_to_file(void);
/*
 * First action of a child that shares the heap with its parent: copy the used units into private memory
 * (NULL: no memory), then to the heap's addresses.
 */
void *heap_copy_out(_Atomic uint32_t *progress);
void heap_put_back(void *copy);

/* ---- units (units.c) ------------------------------------------------------------------------- */

/*
 * Take n adjacent units, the first a multiple of `align` units; NULL: no memory.  *clean: all zero.
 */
struct unit *units_take(uint64_t n, uint64_t align, bool *clean);
/*
 * The same with align 1, but with heap=file no space in the file: give back what is not needed, then
 * allocate space for the others.  false: the file system is full, and they are given back.
 */
struct unit *units_take_unpopulated(uint64_t n, bool *clean);
bool units_populate(struct unit *taken, uint64_t n, bool clean);
void units_give(struct unit *first, uint64_t n, bool dirty);
/* The same for slabs, which soon write all their pages: above a threshold on huge pages. */
struct unit *units_take_dense(uint64_t n, bool *clean);
void units_give_dense(struct unit *first, uint64_t n, bool dirty);
/* Takes the n units at `first` if they are free. */
bool units_take_at(struct unit *first, uint64_t n, bool *clean);
/* Units (by number) that are free, foreign or above the heap's end: never use them again. */
void units_make_foreign(uint64_t first, uint64_t end);
void units_after_fork(bool trusted);
uint64_t heap_ready(void); /* bytes of usable memory from its start */
/* Recent values; takes no lock, may be called in any context. */
void heap_totals(uint64_t *total_bytes, uint64_t *free_bytes);

/* ---- pending notifications (pending.c) ------------------------------------------------------- */

/*
 * Pages must be reported before they return to the kernel if the program has handlers of memory
 * events (heap_watched), or has patched code in heap_code (filled by sync/notice.c).  Such pages
 * are then kept out of use in a list, and the thread that added them gets AFTER_NOTICE.  After its
 * section the thread takes one entry after the other, notifies, and releases it.  Between
 * pending_take and pending_put an entry is in no list.
 */
extern HIDDEN _Atomic bool heap_watched;
struct heap_code {
    const void *at;
    uint64_t was; /* its first bytes as built */
};
extern HIDDEN struct heap_code heap_code[2];
struct pending_release {
    struct unit *head;
    uint64_t units;
    bool block; /* a freed block on its way to the quarantine of large blocks; else a free run */
};
/* false: none; in a callback only entries that the thread added in a callback are taken */
bool pending_take(struct pending_release *d);
void pending_put(const struct pending_release *d, bool released);
/*
 * While the heap is watched: a range that became usable, or that was reported as released and is
 * used again.  Each range is returned once.  false: none.
 */
struct heap_part {
    uint64_t from, to; /* bytes from the heap's start */
};
bool heap_grown(struct heap_part *part);
void pending_after_fork(bool trusted);

/* ---- before start-up (bootstrap.c) ----------------------------------------------------------- */

void *bootstrap_take(size_t request, size_t align);
bool bootstrap_owns(const void *p);
/* The address range of all bootstrap blocks. */
void bootstrap_range(uintptr_t *start, uintptr_t *end);
size_t bootstrap_request(const void *p);

/* ---- the hot path ---------------------------------------------------------------------------- */

ALWAYS_INLINE struct found pool_find_hot(const void *p)
{
    uint64_t offset = (uintptr_t)p - heap.base; /* wraps for addresses below: one comparison */
    if (unlikely(offset >= atomic_load_explicit(&heap.bytes, memory_order_relaxed)))
        return (struct found){.verdict = PTR_FOREIGN};
    struct unit *u = heap.unit + (offset >> RTC_UNIT_SHIFT);
    uint32_t back = u->back;
    struct unit *head = u - back;
    uint32_t kind = owner_kind(atomic_load_explicit(&head->owner, memory_order_acquire));
    if (unlikely(!is_slab(kind)))
        return pool_find(p);
    const struct size_class *c = &size_class[kind - 1];
    uint32_t inside = (uint32_t)(offset % UNIT_BYTES) + (back << RTC_UNIT_SHIFT);
    uint32_t slot = (uint32_t)((inside >> 4) * c->magic >> 32);
    uint32_t rest = inside - slot * c->slot_bytes;
    if (unlikely(rest != 0 || slot >= c->slots))
        return pool_find(p);
    return (struct found){PTR_START, head, kind, slot, 0};
}

/* The same for an address that is known to be the start of a slot. */
ALWAYS_INLINE struct found pool_find_slot(const void *slot)
{
    uint64_t offset = (uintptr_t)slot - heap.base;
    struct unit *u = heap.unit + (offset >> RTC_UNIT_SHIFT);
    uint32_t back = u->back;
    struct unit *head = u - back;
    uint32_t kind = owner_kind(atomic_load_explicit(&head->owner, memory_order_acquire));
    uint32_t inside = (uint32_t)(offset % UNIT_BYTES) + (back << RTC_UNIT_SHIFT);
    uint32_t number = (uint32_t)((inside >> 4) * size_class[kind - 1].magic >> 32);
    return (struct found){PTR_START, head, kind, number, 0};
}

/* The record of a slab's slot.  The rare path gets a copy, so that *f can stay in registers. */
ALWAYS_INLINE struct block_record *pool_record_slot(const struct found *f, uint32_t write_epoch)
{
    if (unlikely(atomic_load_explicit(&f->head->epoch, memory_order_acquire) != write_epoch)) {
        struct found copy = *f;
        return pool_record(&copy, write_epoch);
    }
    return segment_record(
        owner_pointer(atomic_load_explicit(&f->head->owner, memory_order_relaxed)), f->slot);
}

ALWAYS_INLINE struct block_record *pool_record_hot(const struct found *f, uint32_t write_epoch)
{
    return likely(is_slab(f->kind)) ? pool_record_slot(f, write_epoch)
                                    : pool_record(f, write_epoch);
}

ALWAYS_INLINE void *slab_take_hot(struct thread *t, uint32_t class)
{
    struct cache_bin *bin = &t->bin[class];
    return likely(bin->count) ? bin->slot[--bin->count] : slab_take(t, class);
}

/*
 * Write records of all blocks whose records are in lost pages: each may be a block of the program,
 * of unknown size (BLOCK_INHERITED).  Async-signal-safe; no lock.
 */
void pool_fill_lost(const struct lost_records *lost);

/* ---- for fork/copy.c and fork.c only --------------------------------------------------------- */

/* Stop using never allocated slots as redzones. */
void slab_forget_never(void);
/* Return an unpublished segment for the records of a slab; NULL: no memory. */
struct segment *slab_segment(const struct unit *head, uint32_t class, uint32_t epoch);
/* Put a large record back on the list of free records (large.c). */
void large_record_vacate(struct large_record *r);
/* `from` is the head's record. */
struct large_record *large_record_copy(const struct unit *head, const struct large_record *from);
/* Reduce the record of an inherited block to the information that private tables hold. */
void large_record_distrust(struct large_record *r);

#include "redzone.h"

#endif
