/*
 * pool.h - the door of pool: the heap and its records.  The part of the run file that is ours is image.h,
 * forks are fork.h, the list of threads thread_list.h.
 *
 *   unit     64 KiB of heap address space; heap.unit[] says of each what it holds
 *   slab     one to eight units cut in equal slots; its records are one segment of the run file
 *   large    a block of its own units; its record is an item of a SEGMENT_LARGE
 *
 * Memory of blocks holds nothing of ours: free slots are bits in private tables, records lie in
 * the run file.  Private tables are copied by the kernel at a fork; records are copied by us, slab
 * by slab, when one side first writes (copy.c).
 *
 * Unless said otherwise a function is to be called inside a critical section (track.c enters it)
 * and is neither for signal handlers that interrupted one, nor for a thread without `self`.
 */
#ifndef POOL_H
#define POOL_H

#include <limits.h>

#include "base.h"
#include "fork.h"
#include "image.h"
#include "os.h"
#include "shadow.h"
#include "thread_list.h"

/* ---- geometry (size_class.c) ----------------------------------------------------------------- */

#define UNIT_BYTES (1ull << RTC_UNIT_SHIFT)
#define HANDLER_CLASSES 4u /* slabs kept for allocations in signal handlers that interrupted us */
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
    int malloc_fill;           /* 0..255, -1 = no */
    int free_fill;
    uint32_t redzone_bytes; /* behind each block at least, and before it */
    uint32_t
        redzone_reach; /* of more slack so much is compared, and the last redzone_tail of a slot */
    uint32_t redzone_tail;
};

extern HIDDEN struct pool_knobs pool_knobs;

#define REDZONE_BYTES_MIN 16u /* of the option; without it one byte is enough */
#define REDZONE_BYTES_MAX 4096u

void redzone_width(uint32_t bytes);

/* Smallest class for `request` bytes and a redzone; >= SIZE_CLASSES: it is a large block. */
ALWAYS_INLINE uint32_t class_of(size_t request)
{
    size_t last = request + pool_knobs.redzone_bytes - 1; /* the slot has one byte more at least */
    if (likely(last < 256))
        return (uint32_t)(last >> 4);
    if (last >= SLOT_BYTES_MAX)
        return SIZE_CLASSES;
    unsigned log2 = log2_floor(last);
    return 16 + (log2 - 8) * 4 + (uint32_t)(last >> (log2 - 2) & 3);
}

/* The same for slots that are all aligned to `align` (a power of two). */
uint32_t class_of_aligned(size_t request, size_t align);

/* ---- the heap (space.c) ---------------------------------------------------------------------- */

/* unit.owner: kind in the top 16 bits, below it a pointer or a length. */
enum unit_kind {
    UNIT_NONE = 0,
    /* 1 .. ALL_CLASSES: slab of class kind - 1; the head unit points to its segment */
    UNIT_LARGE = 0x100, /* the head unit points to its large_record */
    UNIT_FREE = 0x200,  /* run of free units: length at both ends */
    UNIT_FOREIGN =
        0x300, /* the program has mapped memory of its own there: each unit; never used again */
};

struct unit {
    _Atomic uint64_t owner;
    uint32_t back;          /* units from here back to the head */
    _Atomic uint32_t epoch; /* head only: when the records became ours to write */
};

struct heap {
    uintptr_t base;
    _Atomic uint64_t bytes; /* in use, free runs included; units above are UNIT_NONE */
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

/* ---- the critical section's word (quiesce.c) --------------------------------------------------- */

/*
 * `epoch` is the current epoch, or 0 while nobody may write records: before start-up, while a fork
 * waits for quiet, and in a new child, whose kernel wiped the page.  `alive` is 1 and is wiped
 * with it: what tells a child from a fork in progress.
 */
struct epoch_page {
    _Atomic uint32_t epoch;
    _Atomic uint32_t alive;
};

extern HIDDEN struct epoch_page *epoch_page;
extern HIDDEN bool fence_entries; /* no membarrier: every entry fences */

/* ---- what holds a block (slab.c, large.c) ---------------------------------------------------- */

struct found {
    enum verdict verdict;
    struct unit *head;
    uint32_t kind; /* of the head unit */
    uint32_t slot; /* slabs */
    uint32_t
        offset; /* from the start of the slot or block, of one of 4 GiB its lower half; PTR_INSIDE only */
};

/* What lies at p?  Any address is fine.  Signal-safe, takes no lock. */
struct found pool_find(const void *p);

/* How far inside of it `at` lies, which led to it. */
uint64_t pool_inside(const struct found *f, uintptr_t at);

/* The record of a found block, ours to write in epoch `go` (copied first when a fork needs it). */
struct block_record *pool_record(const struct found *f, uint32_t write_epoch);

/* The same, only to be looked at; go 0: in a handler, as it is. */
const struct block_record *pool_look(const struct found *f, uint32_t write_epoch);

/* Bytes asked for, and bytes that the place has (slot or pages, redzone excluded). */
uint64_t pool_request(const struct found *f, const struct block_record *b, uint64_t word);
uint64_t pool_room(const struct found *f);

ALWAYS_INLINE bool is_slab(uint32_t kind)
{
    return kind - 1 < ALL_CLASSES;
}

/* A slab of those kept for handlers. */
ALWAYS_INLINE bool is_reserve(uint32_t kind)
{
    return kind - 1 - SIZE_CLASSES < HANDLER_CLASSES;
}

#ifdef RTC_RECORD_WIDE
#define RECORD_BYTES 32u
#else
#define RECORD_BYTES ((uint32_t)sizeof(struct block_record))
#endif

ALWAYS_INLINE struct block_record *segment_record(struct segment *s, uint32_t slot)
{
    return (struct block_record *)((uintptr_t)(s + 1) + (uintptr_t)slot * RECORD_BYTES);
}

/* A slot for a block, its record NEVER or FREE; NULL: no memory. */
void *slab_take(struct thread *t, uint32_t class);
/* Its record is 0: it has never been given out.  It is examined and cleared. */
void slab_first_use(void *slot, struct block_record *b);
/* Slots whose records say FREE go back to the thread's cache, or through it to their slab. */
void slab_give(struct thread *t, uint32_t class, void *slot);
/* Everything in the thread's caches goes back; the thread ends. */
void slab_drain(struct thread *t);
/* For a handler that interrupted us: lock-free, from slabs of its own; NULL: none left. */
void *slab_take_in_handler(size_t request, size_t align);
void slab_give_in_handler(uint32_t class, void *slot);
/* Blocks of handlers that have no record: made, asked, and - by one of all that free it - ended. */
void slab_note_unrecorded(const struct found *f);
bool slab_is_unrecorded(const struct found *f);
bool slab_clear_unrecorded(const struct found *f);
void slab_start(void);
/* In a forked child: `trusted`: no other thread was inside us when the world was copied. */
void slab_after_fork(bool trusted, struct thread *orphans);

void large_start(void);
/* Where the block of these units begins: behind its left redzone. */
uintptr_t large_start_of(const struct unit *head);
/* Pages for one block; *clean: they read as zero. */
void *large_take(size_t request, size_t align, bool *clean, struct found *f);
/* The block's record says FREED: its pages leave, sooner or later. */
void large_give(const struct found *f);
/* Memory is short: everything that waits in the quarantine of large blocks leaves it. */
bool large_evict_all(void);
/* Grows or shrinks in place; false: cannot be. */
bool large_resize(const struct found *f, uint64_t request);
void large_after_fork(bool trusted);

/* ---- all blocks (each.c) --------------------------------------------------------------------- */

/*
 * Calls visit with each block's record, whatever its state, while nobody writes; `inherited`: also
 * with those that are an ancestor's.  Recorded ones are not among them.  false: visit said so, of
 * the last one that it got.
 */
bool each_block(bool inherited,
                bool (*visit)(void *about, const struct found *f, const struct block_record *b),
                void *about);

/* ---- blocks that the program makes itself (client_blocks.c) --------------------------------------- */

struct client_block {
    struct block_record block; /* its size field is 0 */
    uint64_t
        not_start; /* all its bits the other way round: this memory is no root, and need not be left out */
    uint64_t bytes;
    uint64_t life;  /* of the heap's block that it lies in, 0: in none */
    uint32_t image; /* that recorded it */
    uint32_t priority;
    uint32_t freed_at;
    struct client_block *low, *high;
    struct client_block_record *copy; /* in the run file, or NULL */
};

#define ADDRESS_BITS 47

ALWAYS_INLINE uint64_t client_block_start(const struct client_block *n)
{
    return ~n->not_start;
}

/*
 * false: it lies in or around one that is in use, not within one block of the heap nor outside of
 * it, or there is no memory to note it.
 */
bool client_block_put(uint64_t start, uint64_t bytes, const struct block_birth *birth,
                      uint32_t write_epoch);
/* What is at an address, as it was before: PTR_START with a word that says LIVE: it is freed now. */
enum verdict client_block_retire(uint64_t at, uint32_t thread, uint32_t stack,
                                 struct client_block *was);
/* All that begin in [start, end), and are live: how many. */
uint64_t client_block_retire_all(uint64_t start, uint64_t end, uint32_t thread, uint32_t stack);
/* PTR_FOREIGN: none. */
enum verdict client_block_find(uint64_t at, uint32_t write_epoch, struct client_block *out);
/* false: at that address there is none that is live. */
bool client_block_flag(uint64_t at, uint32_t flags);
/*
 * Which life of which block of the heap these bytes lie in, all of them; 0: outside of it.  false: neither.
 * go 0: while nobody writes.
 */
bool client_block_life(uint64_t start, uint64_t bytes, uint32_t write_epoch, uint64_t *life);
/* At most, of all; and is one live that this image has recorded?  Takes no lock. */
uint32_t client_block_count(void);
bool client_block_has_own(void);
/*
 * Those that are live, by address, while nobody writes; others that were end where the heap's block
 * has gone.
 */
void client_block_visit(void (*visit)(void *about, const struct client_block *n), void *about);
bool client_block_is_inherited(const struct client_block *n);
void client_block_after_fork(bool trusted);

/* ---- redzones and fills (redzone.h) ---------------------------------------------------------- */

struct damage;

/* Who is told of damage that is found when nobody asked: at eviction.  Once, before the heap is used. */
void quarantine_set_reporter(void (*visit)(const struct damage *));

/* ---- quarantine (quarantine.c) --------------------------------------------------------------- */

/* The block's record has just become FREED by this thread; fills it and keeps it for a while. */
void quarantine_push(struct thread *t, void *block, uint32_t class, uint64_t request,
                     uint32_t write_epoch);
void quarantine_push_large(const struct found *f, void *block, uint64_t request);
/* The thread ends: what it holds goes to the shared quarantine. */
void quarantine_drain(struct thread *t, uint32_t write_epoch);
/* Bytes that wait, of some recent moment; takes no lock. */
uint64_t quarantine_waiting(void);

/* ---- address space (space.c) ----------------------------------------------------------------- */

struct heap_setup {
    bool in_file;
    uint64_t file_bytes;
};

int heap_start(const struct heap_setup *setup);
/* All of its address space, in use or reserved. */
uintptr_t heap_space_end(void);
/*
 * The program is about to map memory of its own over [start, end), whole pages in the heap's address space:
 * units that hold no block in use become UNIT_FOREIGN, and freed blocks there leave the quarantine.  false:
 * nothing is changed, for some of it is in use.  Between fork_stop_writers and fork_resume_writers (foreign.c).
 */
bool heap_make_foreign(uintptr_t start, uintptr_t end, uint32_t write_epoch);
/*
 * heap=file, in the child before anything: what is in use goes out into private memory, of which
 * *progress tells the waiting parent, and then into the place of the heap.  NULL: no memory.
 */
void *heap_copy_out(_Atomic uint32_t *progress);
void heap_put_back(void *copy);
bool heap_in_file(void);

/* ---- units (units.c) ------------------------------------------------------------------------- */

/* n units in a row, the first a multiple of align units; NULL: no memory.  *clean: all zero. */
struct unit *units_take(uint64_t n, uint64_t align, bool *clean);
void units_give(struct unit *first, uint64_t n, bool dirty);
/* The same for slabs of which every page is written soon: once there are many, on huge pages. */
struct unit *units_take_dense(uint64_t n, bool *clean);
void units_give_dense(struct unit *first, uint64_t n, bool dirty);
/* Takes the n units at `first` if they are free. */
bool units_take_at(struct unit *first, uint64_t n, bool *clean);
/* Units (by number) that are free, foreign, or above the heap's end: never used again. */
void units_make_foreign(uint64_t first, uint64_t end);
void units_after_fork(bool trusted);
uint64_t heap_ready(void); /* bytes from its beginning that are usable memory */
/* Of some recent moment: takes no lock, may be called anywhere. */
void heap_totals(uint64_t *total_bytes, uint64_t *free_bytes);

/* ---- what somebody has to be told of (pending.c) ------------------------------------------------- */

/*
 * Somebody wants to hear before pages go back to the kernel: handlers of ours (heap_watched), or others
 * who have changed code of heap_code (filled by core/notice.c).  Then they are kept out of use; the
 * thread that left them has AFTER_NOTICE, and behind its section it takes one after the other,
 * tells of it, and releases it.  Between taking and putting it back nobody else has it.
 */
extern HIDDEN _Atomic bool heap_watched;
struct heap_code {
    const void *at;
    uint64_t was; /* its first bytes, as they were built */
};
extern HIDDEN struct heap_code heap_code[2];
struct pending_release {
    struct unit *head;
    uint64_t units;
    bool block; /* a freed block that waits in the quarantine of large ones; else a free run */
};
bool pending_take(
    struct pending_release *d); /* false: there is none; in a callback: none of its own */
void pending_put(const struct pending_release *d, bool released);
/*
 * While it is watched: what of the heap became usable, or is used again that was told to be gone, and was not
 * said yet.  false: nothing.
 */
struct heap_part {
    uint64_t from, to; /* bytes from its beginning */
};
bool heap_grown(struct heap_part *part);
void pending_after_fork(bool trusted);

/* ---- before start-up (bootstrap.c) ----------------------------------------------------------- */

void *bootstrap_take(size_t request, size_t align);
bool bootstrap_owns(const void *p);
/* Where all of them lie. */
void bootstrap_range(uintptr_t *start, uintptr_t *end);
size_t bootstrap_request(const void *p);

/* ---- the hot path ---------------------------------------------------------------------------- */

ALWAYS_INLINE struct found pool_find_hot(const void *p)
{
    uint64_t offset = (uintptr_t)p - heap.base; /* wraps for addresses below: one test for both */
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

/* The same of an address that is known to be a slot's. */
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

/* Of a slab's slot.  The rare side gets a copy: f itself is to stay in registers. */
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

#include "redzone.h"

#endif
