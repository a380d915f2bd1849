/*
 * units.c - free runs of the heap's units, of 64 KiB each; if none fits, the heap grows (space.c).
 *
 * Free runs are in lists by the logarithm of their length.  A run's length is in the entries of its
 * first and last unit, so that adjacent runs can be merged.  Units above heap.bytes were never
 * used.
 *
 * Unit 0 is never allocated (0 ends lists).
 *
 * Slabs of small slots are dense: all their pages are written, and gain from huge pages.  A large
 * block may never be written except for its redzone, which must cost only one page.  So if dense
 * slabs have HUGE_FROM_UNITS, further ones are cut from chunks of whole huge pages that are advised
 * (note.huge), with free lists of their own.  Chunk sizes grow with the dense slabs, so chunks are
 * few.  So are the mappings into which the advice splits the heap.  A free run never crosses the
 * border of a chunk.
 *
 * Freed runs stay dirty (their pages resident) up to a bound (dirty_max).  Beyond it the run freed
 * last is returned to the kernel at once.  If the program must be notified before, it becomes
 * pending instead (pending.c).  Units that were reported as released are marked
 * (note.reported_free), and their reuse is reported, too.
 *
 * Lock: RANK_UNITS, then RANK_PENDING.
 */
#include "heap_priv.h"

#include <string.h>

#define DIRTY_BYTES_MIN (16ull << 20)
#define DIRTY_SHARE 8u
#define RUN_LISTS 26u
#define TRIES_PER_LIST 64u
/* huge pages would only enlarge a small heap */
#define HUGE_FROM_UNITS (4 * HUGE_UNITS)
#define POPULATED_UNITS \
    256u /* in the file: of the largest run of which all pages are allocated at once */
#define HUGE_ROOM_BYTES (64ull << 20) /* with less room in the file system small pages are taken */
#define CHUNK_SHARE 8u                /* part of all dense slabs */

static struct {
    struct lock lock;
    uint32_t list[2][RUN_LISTS]; /* [note.huge] */
    uint64_t dense_units;        /* in use */
    uint64_t dirty_bytes;
    _Atomic uint64_t units; /* written under the lock */
    uint64_t reported_free; /* of these, reported as released */
    /* freed runs join the free runs at once, and no pages are released */
    bool kept;
    uint64_t huge_end; /* in the file: units below it have huge pages, or will have none */
} runs = {.lock = LOCK_INIT(RANK_UNITS)};

/* ---- lists ----------------------------------------------------------------------------------- */

static uint32_t list_of(uint64_t units)
{
    unsigned l = log2_floor(units);
    return l < RUN_LISTS ? l : RUN_LISTS - 1;
}

static void set_owner(struct unit *u, uint64_t owner, uint32_t back)
{
    u->back = back;
    atomic_store_explicit(&u->owner, owner, memory_order_release); /* pairs with pool_find */
}

static void run_link(struct unit *first, uint64_t n, bool dirty)
{
    uint64_t owner = owner_of(UNIT_FREE, n);
    set_owner(first + (n - 1), owner, (uint32_t)(n - 1));
    set_owner(first, owner, 0);
    struct unit_note *note = note_of(first);
    uint32_t *head = &runs.list[note->huge][list_of(n)];
    note->dirty = dirty;
    note->prev = 0;
    note->next = *head;
    if (*head)
        unit_note[*head].prev = unit_number(first);
    *head = unit_number(first);
    runs.units += n;
    if (dirty)
        runs.dirty_bytes += n << RTC_UNIT_SHIFT;
}

static void run_unlink(struct unit *first, uint64_t n)
{
    struct unit_note *note = note_of(first);
    if (note->prev)
        unit_note[note->prev].next = note->next;
    else
        runs.list[note->huge][list_of(n)] = note->next;
    if (note->next)
        unit_note[note->next].prev = note->prev;
    runs.units -= n;
    if (note->dirty)
        runs.dirty_bytes -= n << RTC_UNIT_SHIFT;
}

/* ---- allocation ------------------------------------------------------------------------------ */

/* Units from the start of a run to the first multiple of `align`. */
ALWAYS_INLINE uint64_t skip_in(const struct unit *run, uint64_t align)
{
    if (likely(align == 1))
        return 0;
    uintptr_t address = unit_address(run);
    return (align_up(address, align * UNIT_BYTES) - address) >> RTC_UNIT_SHIFT;
}

/* Find a free run that contains n units at a multiple of `align`; NULL: none. */
static struct unit *run_search(uint64_t n, uint64_t align, bool huge)
{
    for (uint32_t l = list_of(n); l < RUN_LISTS; l++) {
        uint32_t i = runs.list[huge][l];
        for (unsigned tries = 0; i && tries < TRIES_PER_LIST; tries++, i = unit_note[i].next) {
            struct unit *run = heap.unit + i;
            if (skip_in(run, align) + n <= run_length(run))
                return run;
        }
    }
    return NULL;
}

/* Length of the free run that begins or ends at u, if it is in the same kind of pages; else 0. */
ALWAYS_INLINE uint64_t joins(const struct unit *u, bool huge)
{
    return note_of(u)->huge == huge ? run_length(u) : 0;
}

static uint64_t end_unit(void)
{
    uint64_t units = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    return units ? units : 1; /* unit 0 is excluded */
}

static void set_end(uint64_t units)
{
    atomic_store_explicit(&heap.bytes, units << RTC_UNIT_SHIFT, memory_order_release);
    if (image())
        atomic_store_explicit(&image()->heap_bytes, units << RTC_UNIT_SHIFT, memory_order_relaxed);
}

/*
 * Extend the heap to `units`; the new units become a free run, or part of one.  false: no memory.
 */
static bool grow_to(uint64_t units)
{
    uint64_t first = end_unit(), before = first > 1 ? joins(heap.unit + first - 1, false) : 0,
             n = units - first;
    if (!space_make_ready(units))
        return false;
    struct unit *at = heap.unit + first;
    bool dirty = false;
    if (before) {
        at -= before;
        dirty = note_of(at)->dirty;
        run_unlink(at, before);
        set_owner(at + before - 1, 0, 0); /* no longer the end of a run */
    }
    run_link(at, before + n, dirty);
    set_end(units);
    return true;
}

/* Extend the heap past the next hole. */
static COLD bool pass_hole(void)
{
    struct hole hole = space_next_hole();
    uint64_t first = end_unit();
    if ((hole.first > first && !grow_to(hole.first)) || !space_pass_hole())
        return false;
    for (uint64_t i = hole.first > first ? hole.first : first; i < hole.end; i++)
        set_owner(heap.unit + i, owner_of(UNIT_FOREIGN, 0), 0);
    set_end(hole.end);
    return true;
}

/*
 * Extend the heap so that it ends in a free run with n units at a multiple of `align`; false: no
 * memory.
 */
static bool grow(uint64_t n, uint64_t align)
{
    for (;;) {
        uint64_t first = end_unit(), before = first > 1 ? joins(heap.unit + first - 1, false) : 0,
                 units;
        /* A run that ends at the heap's end is part of it. */
        if (!checked_add(first, align == 1 && before < n ? n - before : n, &units))
            return false;
        if (likely(units <= space_next_hole().first))
            return grow_to(units);
        if (!space_could_hold(units) || !pass_hole())
            return false;
    }
}

/* Report the reuse of units that were reported as released. */
static COLD void note_reuse(const struct unit *first, uint64_t n)
{
    uint64_t at = (uint64_t)unit_number(first) << RTC_UNIT_SHIFT, begun = at;
    for (uint64_t i = 0; i < n; i++, at += UNIT_BYTES) {
        struct unit_note *note = note_of(first + i);
        if (note->reported_free) {
            note->reported_free = false;
            runs.reported_free--;
            continue;
        }
        if (begun < at)
            pending_note_reuse(begun, at);
        begun = at + UNIT_BYTES;
    }
    if (begun < at)
        pending_note_reuse(begun, at);
}

/* Cut n units out of the free run at `run`, `skip` units after its start. */
static struct unit *run_cut(struct unit *run, uint64_t skip, uint64_t n, bool *clean)
{
    uint64_t length = run_length(run);
    bool dirty = note_of(run)->dirty;
    run_unlink(run, length);
    if (skip)
        run_link(run, skip, dirty);
    if (skip + n < length)
        run_link(run + skip + n, length - skip - n, dirty);
    /*
     * Clear both ends: until the new owner sets them, a neighbour that is freed must not merge with
     * them.
     */
    set_owner(run + skip, 0, 0);
    set_owner(run + skip + n - 1, 0, 0);
    *clean = !dirty;
    return run + skip;
}

static COLD void give_unpopulated(struct unit *first, uint64_t n, bool clean);

/*
 * The pages of a large block are allocated when they are written.  The file system must have room for them now;
 * its redzones are written at once.
 */
static bool populate_ends(struct unit *taken, uint64_t n)
{
    return run_has_room(n << RTC_UNIT_SHIFT) &&
           os_populate((void *)unit_address(taken), UNIT_BYTES) == 0 &&
           os_populate((void *)unit_address(taken + n - 1), UNIT_BYTES) == 0;
}

/*
 * Put the writable part of the heap that no unit was taken from on huge pages.  All pages of its units would be
 * populated anyway.  Huge pages are allocated in less time, and a fork replaces their mapping in a
 * hundredth of it.  A large run may stay unpopulated: parts up to its end are left out.
 */
static void collapse_new(uint64_t first)
{
    uint64_t start = align_down(first, HUGE_UNITS), end = space_ready_bytes() >> RTC_UNIT_SHIFT;
    start = start > runs.huge_end ? start : runs.huge_end;
    end = align_down(end, HUGE_UNITS);
    if (start >= end || !run_has_room(HUGE_ROOM_BYTES + ((end - start) << RTC_UNIT_SHIFT)))
        return;
    for (uint64_t page = start; page < end; page += HUGE_UNITS)
        if (os_populate((void *)unit_address(heap.unit + page), PAGE_BYTES)) /* required */
            return;
    os_collapse((void *)unit_address(heap.unit + start), (end - start) << RTC_UNIT_SHIFT);
    runs.huge_end = end;
}

static bool populate_run(struct unit *taken, uint64_t n)
{
    uint64_t first = unit_number(taken);
    if (likely(first + n <= runs.huge_end) || first < HUGE_FROM_UNITS)
        ;
    else if (n > POPULATED_UNITS)
        runs.huge_end = align_up(first + n, HUGE_UNITS);
    else if (heap_can_collapse && !heap_has_gaps())
        collapse_new(first);
    return n > POPULATED_UNITS ? populate_ends(taken, n)
                               : os_populate((void *)unit_address(taken), n << RTC_UNIT_SHIFT) == 0;
}

static bool populate(struct unit *taken, uint64_t n, bool clean)
{
    if (likely(!heap_is_shared()) || populate_run(taken, n))
        return true;
    give_unpopulated(taken, n, clean);
    return false;
}

static struct unit *take_unpopulated(struct unit *run, uint64_t n, uint64_t align, bool *clean)
{
    struct unit *taken = run_cut(run, skip_in(run, align), n, clean);
    if (unlikely(runs.reported_free))
        note_reuse(taken, n);
    return taken;
}

static struct unit *take_from(struct unit *run, uint64_t n, uint64_t align, bool *clean)
{
    struct unit *taken = take_unpopulated(run, n, align, clean);
    return populate(taken, n, *clean) ? taken : NULL;
}

static struct unit *find_or_grow(uint64_t n, uint64_t align)
{
    struct unit *run = run_search(n, align, false);
    if (!run && grow(n + align - 1, align))
        run = run_search(n, align, false);
    return run;
}

static struct unit *find_any(uint64_t n, uint64_t align)
{
    struct unit *run = find_or_grow(n, align);
    return likely(run != NULL) ? run : run_search(n, align, true); /* better than no memory */
}

struct unit *units_take(uint64_t n, uint64_t align, bool *clean)
{
    lock_take(&runs.lock);
    struct unit *run = find_any(n, align);
    struct unit *taken = run ? take_from(run, n, align, clean) : NULL;
    lock_drop(&runs.lock);
    return taken;
}

struct unit *units_take_unpopulated(uint64_t n, bool *clean)
{
    lock_take(&runs.lock);
    struct unit *run = find_any(n, 1);
    struct unit *taken = run ? take_unpopulated(run, n, 1, clean) : NULL;
    lock_drop(&runs.lock);
    return taken;
}

bool units_populate(struct unit *taken, uint64_t n, bool clean)
{
    lock_take(&runs.lock);
    bool done = populate(taken, n, clean);
    lock_drop(&runs.lock);
    return done;
}

/* ---- dense slabs ----------------------------------------------------------------------------- */

/* Make a free run of whole huge pages a chunk for dense slabs; NULL: no memory for it. */
static struct unit *chunk_make(uint64_t n)
{
    bool clean;
    struct unit *run = find_or_grow(n, HUGE_UNITS);
    if (!run)
        return NULL;
    struct unit *chunk = run_cut(run, skip_in(run, HUGE_UNITS), n, &clean);
    for (uint64_t i = 0; i < n; i++)
        note_of(chunk + i)->huge = true;
    os_huge((void *)unit_address(chunk), n << RTC_UNIT_SHIFT);
    run_link(chunk, n, !clean);
    return chunk;
}

static struct unit *chunk_for_dense(void)
{
    uint64_t share = align_down(runs.dense_units / CHUNK_SHARE, HUGE_UNITS);
    struct unit *chunk = share > HUGE_UNITS ? chunk_make(share) : NULL;
    return chunk ? chunk : chunk_make(HUGE_UNITS);
}

struct unit *units_take_dense(uint64_t n, bool *clean)
{
    lock_take(&runs.lock);
    struct unit *run = NULL;
    if (runs.dense_units >= HUGE_FROM_UNITS && space_has_huge()) {
        run = run_search(n, 1, true);
        run = run ? run : chunk_for_dense();
    }
    if (!run)
        run = find_or_grow(n, 1);
    if (unlikely(!run))
        run = run_search(n, 1, true);
    struct unit *taken = run ? take_from(run, n, 1, clean) : NULL;
    runs.dense_units += taken ? n : 0;
    lock_drop(&runs.lock);
    return taken;
}

bool units_take_at(struct unit *first, uint64_t n, bool *clean)
{
    lock_take(&runs.lock);
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    uint64_t length = unit_number(first) < end ? joins(first, note_of(first - 1)->huge) : 0;
    if (unit_number(first) + length == end && length < n && grow(n - length, n))
        length = joins(first, note_of(first - 1)->huge);
    bool fits = length >= n && first->back == 0;
    if (fits)
        run_cut(first, 0, n, clean);
    if (unlikely(fits && runs.reported_free))
        note_reuse(first, n);
    fits = fits && populate(first, n, *clean);
    lock_drop(&runs.lock);
    return fits;
}

/* ---- release --------------------------------------------------------------------------------- */

/*
 * On a disk holes are expensive: only long ones are made.  A private copy of the file would show the file's old
 * contents again.  With handlers of memory events no holes are made, because they are not
 * announced as events.
 */
bool units_can_release(uint64_t n)
{
    return !heap_in_file() || (heap_is_shared() && !heap_is_watched() && n >= heap_hole_units);
}

bool units_release(struct unit *first, uint64_t n)
{
    void *at = (void *)unit_address(first);
    return units_can_release(n) &&
           (heap_in_file() ? os_release_file : os_release)(at, n << RTC_UNIT_SHIFT) == 0;
}

/* A large heap may keep more: released pages cause page faults when they are used again. */
static uint64_t dirty_max(void)
{
    uint64_t share = atomic_load_explicit(&heap.bytes, memory_order_relaxed) / DIRTY_SHARE;
    return share > DIRTY_BYTES_MIN ? share : DIRTY_BYTES_MIN;
}

static bool must_defer(void)
{
    return heap_is_watched() && !heap_in_file();
}

static void add_pending(struct unit *first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        set_owner(first + i, 0, 0);
    note_of(first)->units = (uint32_t)n;
    pending_add_run(first);
}

/*
 * Two adjacent runs are merged, and one of them is dirty.  The dirty one is cleaned unless it is
 * the larger one: one unit should not make a large clean run dirty.  If it must become pending
 * instead, it is not merged: the neighbour's *length is set to 0, or HAS_PENDING is returned for
 * the run itself.
 */
enum merge_state { CLEAN, DIRTY, HAS_PENDING };

ALWAYS_INLINE enum merge_state merge(struct unit *first, uint64_t n, bool dirty,
                                     struct unit *neighbour, uint64_t *length)
{
    if ((dirty ? n : *length) > (dirty ? *length : n))
        return DIRTY;
    if (!must_defer())
        return units_release(dirty ? first : neighbour, dirty ? n : *length) ? CLEAN : DIRTY;
    if (dirty) {
        add_pending(first, n);
        return HAS_PENDING;
    }
    run_unlink(neighbour, *length);
    add_pending(neighbour, *length);
    *length = 0;
    return CLEAN;
}

/* Caller holds the lock.  may_clean: pages may be released, or become pending. */
ALWAYS_INLINE void give(struct unit *first, uint64_t n, enum merge_state dirty, bool may_clean)
{
    may_clean &= !runs.kept;
    if (may_clean && dirty && runs.dirty_bytes + (n << RTC_UNIT_SHIFT) > dirty_max()) {
        if (must_defer()) {
            add_pending(first, n);
            return;
        }
        dirty = units_release(first, n) ? CLEAN : DIRTY;
    }
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    bool huge = note_of(first)->huge;
    uint64_t after = unit_number(first) + n < end ? joins(first + n, huge) : 0;
    uint64_t before = unit_number(first) > 1 ? joins(first - 1, huge) : 0;
    if (after && unlikely(note_of(first + n)->dirty != dirty))
        dirty = may_clean ? merge(first, n, dirty, first + n, &after) : DIRTY;
    if (dirty == HAS_PENDING)
        return;
    if (after) {
        run_unlink(first + n, after);
        set_owner(first + n, 0, 0);
    }
    if (before && unlikely(note_of(first - before)->dirty != dirty))
        dirty = may_clean ? merge(first, n + after, dirty, first - before, &before) : DIRTY;
    if (dirty == HAS_PENDING)
        return;
    if (before) {
        run_unlink(first - before, before);
        set_owner(first - 1, 0, 0);
    }
    /* Interior entries would still lead to the former block. */
    for (uint64_t i = 0; i < n; i++)
        set_owner(first + i, 0, 0);
    run_link(first - before, before + n + after, dirty);
}

static void give_unpopulated(struct unit *first, uint64_t n, bool clean)
{
    give(first, n, clean ? CLEAN : DIRTY, false);
}

void units_give(struct unit *first, uint64_t n, bool dirty)
{
    lock_take(&runs.lock);
    give(first, n, dirty, true);
    lock_drop(&runs.lock);
}

void units_give_dense(struct unit *first, uint64_t n, bool dirty)
{
    lock_take(&runs.lock);
    runs.dense_units -= n;
    give(first, n, dirty, true);
    lock_drop(&runs.lock);
}

void units_put_back(struct unit *first, uint64_t n, bool released)
{
    lock_take(&runs.lock);
    for (uint64_t i = 0; i < n; i++) {
        runs.reported_free += !note_of(first + i)->reported_free;
        note_of(first + i)->reported_free = true;
    }
    /*
     * If the kernel refused the release (mlock), the run stays dirty: it would be pending for ever.
     */
    give(first, n, !released, released);
    lock_drop(&runs.lock);
}

/* ---- memory that the program maps over ------------------------------------------------------- */

void units_keep(bool kept)
{
    lock_take(&runs.lock);
    runs.kept = kept;
    lock_drop(&runs.lock);
}

struct unit *units_run_of(struct unit *u)
{
    /* only the first and the last unit of a run have an owner */
    struct unit *first = u - u->back;
    while (first > heap.unit && !first->back &&
           !atomic_load_explicit(&first->owner, memory_order_relaxed))
        first--;
    return !first->back && run_length(first) > (uint64_t)(u - first) ? first : NULL;
}

/* Remove units from `at` on from a free run, up to its end or `end`; returns their number. */
static uint64_t run_to_foreign(struct unit *at, struct unit *end)
{
    struct unit *run = units_run_of(at);
    uint64_t skip = (uint64_t)(at - run), n = run_length(run) - skip;
    bool clean;
    if (n > (uint64_t)(end - at))
        n = (uint64_t)(end - at);
    run_cut(run, skip, n, &clean);
    for (uint64_t i = 0; i < n; i++) {
        runs.reported_free -= note_of(at + i)->reported_free;
        note_of(at + i)->reported_free = false;
        set_owner(at + i, owner_of(UNIT_FOREIGN, 0), 0);
    }
    return n;
}

void units_make_foreign(uint64_t first, uint64_t end)
{
    lock_take(&runs.lock);
    uint64_t used = end_unit(), below = end < used ? end : used;
    for (uint64_t i = first; i < below;) {
        struct unit *u = heap.unit + i;
        uint32_t kind = owner_kind(atomic_load_explicit(&u->owner, memory_order_relaxed));
        i += i == 0 || kind == UNIT_FOREIGN ? 1 : run_to_foreign(u, heap.unit + below);
    }
    if (end > used)
        space_add_hole(first > used ? first : used, end);
    lock_drop(&runs.lock);
}

/* ---- totals ---------------------------------------------------------------------------------- */

uint64_t heap_ready(void)
{
    lock_take(&runs.lock);
    uint64_t bytes = space_ready_bytes();
    lock_drop(&runs.lock);
    return bytes;
}

void heap_totals(uint64_t *total_bytes, uint64_t *free_bytes)
{
    *total_bytes = atomic_load_explicit(&heap.bytes, memory_order_relaxed);
    *free_bytes = atomic_load_explicit(&runs.units, memory_order_relaxed) << RTC_UNIT_SHIFT;
}

/* ---- forks ----------------------------------------------------------------------------------- */

void units_after_fork(bool trusted)
{
    lock_reset(&runs.lock);
    if (trusted)
        return;
    /*
     * A list may have been copied half-linked: units that were free are not used again, and not
     * merged.
     */
    memset(runs.list, 0, sizeof runs.list);
    runs.reported_free = 0;
    for (uint64_t i = 0; i < atomic_load(&heap.bytes) >> RTC_UNIT_SHIFT; i++)
        if (run_length(heap.unit + i))
            set_owner(heap.unit + i, 0, 0);
    runs.units = 0;
    runs.dirty_bytes = 0;
}
