/*
 * units.c - the heap's address space, in units of 64 KiB.
 *
 * Free runs are kept in lists by the logarithm of their length; a run's length stands in the
 * entries of its first and its last unit, so that neighbours find each other when one is freed.
 * Above heap.bytes nothing was ever used: the heap grows there, in steps, by mprotect.
 *
 * Unit 0 is never given out (0 ends lists).
 *
 * Address space.  Without a limit on it 1 TiB is reserved at once.  Under `ulimit -v` nothing is
 * taken in advance: the heap is extended where it ends, step by step, at an address far from
 * where the kernel puts mappings.  The tables are reserved for as much as the heap can become.
 *
 * Freed runs stay dirty (their pages resident) up to a bound (dirty_max); beyond it the run that
 * was freed last is given back to the kernel at once - or, when the program wants to hear of it before,
 * is due (due.c).  Then the program takes it for unmapped, unit by unit (gone), and is told when one is
 * used again (heap_grown).
 */
#include "pool_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define HEAP_BYTES_MAX (1ull << 40)
#define HEAP_BYTES_MIN (1ull << 26)
#define HEAP_ALIGN (1ull << 21)     /* huge pages need it */
#define HUGE_FROM_BYTES (8ull << 20) /* smaller heaps would only grow by huge pages */
#define STEP_BYTES_MIN (1ull << 20)
#define STEP_BYTES_MAX (32ull << 20)
#define STEP_SHARE 32u /* of the heap: what is ready and not used still counts in a core dump */
#define DIRTY_BYTES_MIN (16ull << 20)
#define DIRTY_SHARE 8u
#define PROGRESS_UNITS 64u /* copied between two signs of life */
#define RUN_LISTS 26u
#define TRIES_PER_LIST 64u
#define COME_MAX 8u

struct heap heap;
struct unit_note *unit_note;

static struct {
    struct lock lock;
    bool in_file;
    bool limited;          /* under ulimit -v: extended step by step */
    uint64_t max_units;    /* what the tables are reserved for */
    uint64_t usable_units; /* address space that is ours */
    uint64_t ready_bytes;  /* of the heap: readable and writable */
    uint64_t told_bytes;   /* of those: heap_grown has said so */
    uint64_t tables_ready; /* units whose table entries are */
    uint64_t dirty_bytes;
    _Atomic uint64_t free_units; /* written under the lock */
    uint32_t list[RUN_LISTS];
    uint64_t gone; /* units */
    uint32_t come; /* what is not gone any more, of which heap_grown has not said so */
    struct heap_part came[COME_MAX];
} space = {.lock = LOCK_INIT(RANK_UNITS)};

/* ---- start ---------------------------------------------------------------------------------- */

static int reserve_tables(uint64_t units)
{
    void *entries = os_reserve(NULL, align_up(units * sizeof *heap.unit, PAGE_BYTES), false);
    void *notes = os_reserve(NULL, align_up(units * sizeof *unit_note, PAGE_BYTES), false);
    if (os_failed(entries) || os_failed(notes)) {
        if (!os_failed(entries))
            os_unmap(entries, align_up(units * sizeof *heap.unit, PAGE_BYTES));
        if (!os_failed(notes))
            os_unmap(notes, align_up(units * sizeof *unit_note, PAGE_BYTES));
        return -ENOMEM;
    }
    heap.unit = entries;
    unit_note = notes;
    space.max_units = units;
    return 0;
}

static int reserve_ladder(void)
{
    for (uint64_t bytes = HEAP_BYTES_MAX; bytes >= HEAP_BYTES_MIN; bytes /= 2) {
        void *p = os_reserve(NULL, bytes + HEAP_ALIGN, false);
        if (os_failed(p))
            continue;
        if (reserve_tables(bytes >> RTC_UNIT_SHIFT) == 0) {
            heap.base = align_up((uintptr_t)p, HEAP_ALIGN);
            space.usable_units = bytes >> RTC_UNIT_SHIFT;
            return 0;
        }
        os_unmap(p, bytes + HEAP_ALIGN);
    }
    return -ENOMEM;
}

/* Somewhere between the program (0x55..) and the mappings (0x7f..), different in each run. */
static uintptr_t lonely_address(unsigned attempt)
{
    uintptr_t random = (uintptr_t)__builtin_frame_address(0) >> 12 & 0xfff; /* the stack's ASLR */
    return 0x200000000000ull + ((random + attempt * 977ull) << 30);
}

static int reserve_under_limit(uint64_t limit)
{
    uint64_t bytes = align_down(limit < HEAP_BYTES_MAX ? limit : HEAP_BYTES_MAX, HEAP_ALIGN);
    if (bytes < 2 * STEP_BYTES_MIN || reserve_tables(bytes >> RTC_UNIT_SHIFT))
        return -ENOMEM;
    space.limited = true;
    for (unsigned attempt = 0; attempt < 16; attempt++) {
        void *p = os_reserve((void *)lonely_address(attempt), STEP_BYTES_MIN, true);
        if (os_failed(p))
            continue;
        heap.base = (uintptr_t)p;
        space.usable_units = STEP_BYTES_MIN >> RTC_UNIT_SHIFT;
        return 0;
    }
    return -ENOMEM;
}

static int use_file(uint64_t bytes)
{
    char *p = run_heap();
    if (!p || reserve_tables(bytes >> RTC_UNIT_SHIFT))
        return -ENOMEM;
    heap.base = (uintptr_t)p;
    space.in_file = true;
    space.usable_units = bytes >> RTC_UNIT_SHIFT;
    return 0;
}

int heap_start(const struct heap_setup *setup)
{
    if (setup->in_file)
        return use_file(setup->file_bytes);
    uint64_t limit = os_limit(RLIMIT_AS);
    return limit == UINT64_MAX ? reserve_ladder() : reserve_under_limit(limit);
}

bool heap_in_file(void)
{
    return space.in_file;
}

/* ---- growth --------------------------------------------------------------------------------- */

static bool ready_tables(uint64_t units)
{
    if (units <= space.tables_ready)
        return true;
    uint64_t want = align_up(units, 256); /* the entries of 16 MiB of heap fill a page */
    if (want > space.max_units)
        want = space.max_units;
    if (want < units ||
        os_allow(heap.unit, align_up(want * sizeof *heap.unit, PAGE_BYTES)) ||
        os_allow(unit_note, align_up(want * sizeof *unit_note, PAGE_BYTES)))
        return false;
    space.tables_ready = want;
    return true;
}

static bool extend_space(uint64_t units)
{
    if (units <= space.usable_units)
        return true;
    if (!space.limited || units > space.max_units)
        return false;
    uint64_t have = space.usable_units << RTC_UNIT_SHIFT;
    uint64_t more = ((units << RTC_UNIT_SHIFT) - have);
    if (os_failed(os_reserve((void *)(heap.base + have), more, true)))
        return false;
    space.usable_units = units;
    return true;
}

/*
 * A reservation that becomes usable is not checked against RLIMIT_DATA by every kernel when the
 * address space is over its own limit already, and ours is large: a program that lowers its limits
 * shall be refused as it would be without us.
 */
static bool limits_allow(uint64_t more)
{
    uint64_t limit = os_sandboxed() ? UINT64_MAX : os_limit(RLIMIT_DATA);
    return limit == UINT64_MAX || os_data_bytes() + more <= limit;
}

static bool ready_bytes(uint64_t from, uint64_t to)
{
    char *at = (char *)heap.base + from;
    if (!limits_allow(to - from) || os_allow(at, to - from))
        return false;
    if (space.in_file)
        return os_populate(at, to - from) == 0;
    if (to > HUGE_FROM_BYTES)
        os_huge((char *)heap.base + align_up(from, HEAP_ALIGN),
                to > align_up(from, HEAP_ALIGN) ? to - align_up(from, HEAP_ALIGN) : 0);
    return true;
}

/* Makes [0, bytes) of the heap usable memory, and a step more where that is to be had. */
static bool ready_heap(uint64_t bytes)
{
    if (bytes <= space.ready_bytes)
        return true;
    uint64_t step = space.ready_bytes / STEP_SHARE;
    step = step < STEP_BYTES_MIN ? STEP_BYTES_MIN : step > STEP_BYTES_MAX ? STEP_BYTES_MAX : step;
    uint64_t want = align_up(bytes + step, STEP_BYTES_MIN);
    uint64_t tries[] = {want, align_up(bytes, UNIT_BYTES)};
    for (size_t i = 0; i < countof(tries); i++) {
        if (!extend_space(tries[i] >> RTC_UNIT_SHIFT) || !ready_bytes(space.ready_bytes, tries[i]))
            continue;
        space.ready_bytes = tries[i];
        if (heap_is_watched())
            notice_due();
        else
            space.told_bytes = space.ready_bytes; /* nobody asks */
        return true;
    }
    return false;
}

/* ---- free runs ------------------------------------------------------------------------------ */

static uint32_t list_of(uint64_t units)
{
    unsigned l = log2_floor(units);
    return l < RUN_LISTS ? l : RUN_LISTS - 1;
}

static uint64_t run_length(const struct unit *u)
{
    uint64_t owner = atomic_load_explicit(&u->owner, memory_order_relaxed);
    return owner_kind(owner) == UNIT_FREE ? (uint64_t)(uintptr_t)owner_pointer(owner) : 0;
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
    uint32_t *head = &space.list[list_of(n)];
    note->dirty = dirty;
    note->prev = 0;
    note->next = *head;
    if (*head)
        unit_note[*head].prev = unit_number(first);
    *head = unit_number(first);
    space.free_units += n;
    if (dirty)
        space.dirty_bytes += n << RTC_UNIT_SHIFT;
}

static void run_unlink(struct unit *first, uint64_t n)
{
    struct unit_note *note = note_of(first);
    if (note->prev)
        unit_note[note->prev].next = note->next;
    else
        space.list[list_of(n)] = note->next;
    if (note->next)
        unit_note[note->next].prev = note->prev;
    space.free_units -= n;
    if (note->dirty)
        space.dirty_bytes -= n << RTC_UNIT_SHIFT;
}

/* From the beginning of a run to the first multiple of `align`. */
ALWAYS_INLINE uint64_t skip_in(const struct unit *run, uint64_t align)
{
    if (likely(align == 1))
        return 0;
    uintptr_t address = unit_address(run);
    return (align_up(address, align * UNIT_BYTES) - address) >> RTC_UNIT_SHIFT;
}

/* A free run that holds n units at a multiple of `align`; NULL: none. */
static struct unit *run_search(uint64_t n, uint64_t align)
{
    for (uint32_t l = list_of(n); l < RUN_LISTS; l++) {
        uint32_t i = space.list[l];
        for (unsigned tries = 0; i && tries < TRIES_PER_LIST; tries++, i = unit_note[i].next) {
            struct unit *run = heap.unit + i;
            if (skip_in(run, align) + n <= run_length(run))
                return run;
        }
    }
    return NULL;
}

/* Makes the heap end in a free run that holds n units at a multiple of `align`; false: no memory. */
static bool grow(uint64_t n, uint64_t align)
{
    uint64_t bytes = atomic_load_explicit(&heap.bytes, memory_order_relaxed);
    uint64_t first = bytes >> RTC_UNIT_SHIFT;
    if (first == 0)
        first = 1; /* unit 0 stays out */
    uint64_t before = first > 1 ? run_length(heap.unit + first - 1) : 0;
    if (align == 1 && before < n)
        n -= before; /* the run that ends here is the beginning of it */
    uint64_t units;
    if (!checked_add(first, n, &units) || units > space.max_units || !ready_tables(units) ||
        !ready_heap(units << RTC_UNIT_SHIFT))
        return false;
    struct unit *at = heap.unit + first;
    bool dirty = false;
    if (before) {
        at -= before;
        dirty = note_of(at)->dirty;
        run_unlink(at, before);
        set_owner(at + before - 1, 0, 0); /* an end no more */
    }
    run_link(at, before + n, dirty);
    atomic_store_explicit(&heap.bytes, units << RTC_UNIT_SHIFT, memory_order_release);
    if (image())
        atomic_store_explicit(&image()->heap_bytes, units << RTC_UNIT_SHIFT, memory_order_relaxed);
    return true;
}

/* The calling thread is to tell that these are used again; of too many together, with what lies between. */
static void note_come(uint64_t from, uint64_t to)
{
    if (!heap_is_watched())
        return;
    notice_due();
    if (space.come < COME_MAX) {
        space.came[space.come++] = (struct heap_part){from, to};
        return;
    }
    struct heap_part *last = &space.came[COME_MAX - 1];
    last->from = from < last->from ? from : last->from;
    last->to = to > last->to ? to : last->to;
}

static COLD void come_back(const struct unit *first, uint64_t n)
{
    uint64_t at = (uint64_t)unit_number(first) << RTC_UNIT_SHIFT, begun = at;
    for (uint64_t i = 0; i < n; i++, at += UNIT_BYTES) {
        struct unit_note *note = note_of(first + i);
        if (note->gone) {
            note->gone = false;
            space.gone--;
            continue;
        }
        if (begun < at)
            note_come(begun, at);
        begun = at + UNIT_BYTES;
    }
    if (begun < at)
        note_come(begun, at);
}

/* Cuts n units out of the free run at `run`, `skip` units in. */
static struct unit *run_cut(struct unit *run, uint64_t skip, uint64_t n, bool *clean)
{
    uint64_t length = run_length(run);
    bool dirty = note_of(run)->dirty;
    run_unlink(run, length);
    if (skip)
        run_link(run, skip, dirty);
    if (skip + n < length)
        run_link(run + skip + n, length - skip - n, dirty);
    /* Until the new owner says what it is, a neighbour that is freed must not take it for free. */
    set_owner(run + skip, 0, 0);
    set_owner(run + skip + n - 1, 0, 0);
    *clean = !dirty;
    return run + skip;
}

struct unit *units_take(uint64_t n, uint64_t align, bool *clean)
{
    lock_take(&space.lock);
    struct unit *run = run_search(n, align);
    if (!run && grow(n + align - 1, align))
        run = run_search(n, align);
    struct unit *taken = NULL;
    if (run) {
        taken = run_cut(run, skip_in(run, align), n, clean);
        if (unlikely(space.gone))
            come_back(taken, n);
    }
    lock_drop(&space.lock);
    return taken;
}

bool units_take_at(struct unit *first, uint64_t n, bool *clean)
{
    lock_take(&space.lock);
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    uint64_t length = unit_number(first) < end ? run_length(first) : 0;
    if (unit_number(first) + length == end && length < n && grow(n - length, n))
        length = run_length(first);
    bool fits = length >= n && first->back == 0;
    if (fits)
        run_cut(first, 0, n, clean);
    if (unlikely(fits && space.gone))
        come_back(first, n);
    lock_drop(&space.lock);
    return fits;
}

/* Gives the pages back; the file's are kept, for it has a fixed size and they are paid for. */
static bool clean_run(struct unit *first, uint64_t n)
{
    return !space.in_file && os_release((void *)unit_address(first), n << RTC_UNIT_SHIFT) == 0;
}

/* A large heap may keep more: what is given back has to be faulted in again. */
static uint64_t dirty_max(void)
{
    uint64_t share = atomic_load_explicit(&heap.bytes, memory_order_relaxed) / DIRTY_SHARE;
    return share > DIRTY_BYTES_MIN ? share : DIRTY_BYTES_MIN;
}

/* ---- giving --------------------------------------------------------------------------------- */

static bool must_wait(void)
{
    return !space.in_file && heap_is_watched();
}

static void leave_due(struct unit *first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        set_owner(first + i, 0, 0);
    note_of(first)->units = (uint32_t)n;
    due_run(first);
}

/*
 * Two neighbours become one run, and one of them is dirty.  It is cleaned if it is not the larger: one
 * unit shall not make a large clean run dirty.  Or it becomes due: then the neighbour's *length is 0, or
 * the run itself IS_DUE and there is nothing left to join.
 */
enum meeting { CLEAN, DIRTY, IS_DUE };

ALWAYS_INLINE enum meeting meet(struct unit *first, uint64_t n, bool dirty, struct unit *neighbour,
                              uint64_t *length)
{
    if ((dirty ? n : *length) > (dirty ? *length : n))
        return DIRTY;
    if (!must_wait())
        return clean_run(dirty ? first : neighbour, dirty ? n : *length) ? CLEAN : DIRTY;
    if (dirty) {
        leave_due(first, n);
        return IS_DUE;
    }
    run_unlink(neighbour, *length);
    leave_due(neighbour, *length);
    *length = 0;
    return CLEAN;
}

/* The lock is held.  may_clean: pages may be given back, at once or - somebody wants to hear of it - later. */
ALWAYS_INLINE void give(struct unit *first, uint64_t n, enum meeting dirty, bool may_clean)
{
    if (may_clean && dirty && space.dirty_bytes + (n << RTC_UNIT_SHIFT) > dirty_max()) {
        if (must_wait()) {
            leave_due(first, n);
            return;
        }
        dirty = clean_run(first, n) ? CLEAN : DIRTY;
    }
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    uint64_t after = unit_number(first) + n < end ? run_length(first + n) : 0;
    uint64_t before = unit_number(first) > 1 ? run_length(first - 1) : 0;
    if (after && unlikely(note_of(first + n)->dirty != dirty))
        dirty = may_clean ? meet(first, n, dirty, first + n, &after) : DIRTY;
    if (dirty == IS_DUE)
        return;
    if (after) {
        run_unlink(first + n, after);
        set_owner(first + n, 0, 0);
    }
    if (before && unlikely(note_of(first - before)->dirty != dirty))
        dirty = may_clean ? meet(first, n + after, dirty, first - before, &before) : DIRTY;
    if (dirty == IS_DUE)
        return;
    if (before) {
        run_unlink(first - before, before);
        set_owner(first - 1, 0, 0);
    }
    /* Interior entries would answer for the block that was here. */
    for (uint64_t i = 0; i < n; i++)
        set_owner(first + i, 0, 0);
    run_link(first - before, before + n + after, dirty);
}

void units_give(struct unit *first, uint64_t n, bool dirty)
{
    lock_take(&space.lock);
    give(first, n, dirty, true);
    lock_drop(&space.lock);
}

void units_put_back(struct unit *first, uint64_t n, bool released)
{
    lock_take(&space.lock);
    for (uint64_t i = 0; i < n; i++) {
        space.gone += !note_of(first + i)->gone;
        note_of(first + i)->gone = true;
    }
    give(first, n, !released, released); /* else, refused (mlock), it would be due for ever */
    lock_drop(&space.lock);
}

bool heap_grown(struct heap_part *part)
{
    lock_take(&space.lock);
    *part = (struct heap_part){space.told_bytes, space.ready_bytes};
    space.told_bytes = space.ready_bytes;
    if (part->from == part->to && space.come)
        *part = space.came[--space.come];
    lock_drop(&space.lock);
    return part->from < part->to;
}

uint64_t heap_ready(void)
{
    lock_take(&space.lock);
    uint64_t bytes = space.ready_bytes;
    lock_drop(&space.lock);
    return bytes;
}

void heap_totals(uint64_t *total_bytes, uint64_t *free_bytes)
{
    *total_bytes = atomic_load_explicit(&heap.bytes, memory_order_relaxed);
    *free_bytes = atomic_load_explicit(&space.free_units, memory_order_relaxed) << RTC_UNIT_SHIFT;
}

/* ---- forks ---------------------------------------------------------------------------------- */

void units_after_fork(bool trusted)
{
    lock_reset(&space.lock);
    if (trusted)
        return;
    /* A list may have been copied half-linked: what was free stays unused, and finds no neighbour. */
    memset(space.list, 0, sizeof space.list);
    space.gone = space.come = 0;
    for (uint64_t i = 0; i < atomic_load(&heap.bytes) >> RTC_UNIT_SHIFT; i++)
        if (run_length(heap.unit + i))
            set_owner(heap.unit + i, 0, 0);
    space.free_units = 0;
    space.dirty_bytes = 0;
}

/* The units that hold something; free runs are left out, clean or dirty. */
static void copy_in_use(char *to, const char *from, _Atomic uint32_t *progress)
{
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    uint32_t copied = 0;
    for (uint64_t i = 1; i < end;) {
        uint64_t length = run_length(heap.unit + i);
        if (!length) {
            memcpy(to + (i << RTC_UNIT_SHIFT), from + (i << RTC_UNIT_SHIFT), UNIT_BYTES);
            if (++copied % PROGRESS_UNITS == 0)
                atomic_fetch_add_explicit(progress, 1, memory_order_relaxed);
        }
        i += length ? length : 1;
    }
}

/*
 * heap=file: the mapping is shared with the parent, which waits (fork.c) until all is out.  Copied
 * twice, because moving pages is a system call of its own kind.
 */
void *heap_copy_out(_Atomic uint32_t *progress)
{
    char *copy = os_map(space.ready_bytes);
    if (os_failed(copy))
        return NULL;
    copy_in_use(copy, (char *)heap.base, progress);
    return copy;
}

void heap_put_back(void *copy)
{
    _Atomic uint32_t nobody_waits = 0;
    uint64_t bytes = space.ready_bytes;
    char *at = (char *)heap.base;
    if (!copy || os_failed(os_replace(at, space.usable_units << RTC_UNIT_SHIFT)) ||
        os_allow(at, bytes))
        os_exit_now(127); /* the shared heap must not be written by two */
    copy_in_use(at, copy, &nobody_waits);
    os_unmap(copy, bytes);
    space.in_file = false;
}
