/*
 * space.c - the heap's address space: its location, its growth, and the parallel private tables.
 *
 * Without a limit on the address space 1 TiB is reserved at once.  Under `ulimit -v` nothing is
 * reserved ahead: the heap is extended at its end, step by step, at an address far from the
 * kernel's mappings.  The tables are reserved for the largest possible heap.
 *
 * Ready units are writable memory.  Units become ready in steps by mprotect, from the heap's start
 * on.
 *
 * The heap starts without huge pages, even if the kernel would use them by default.  With them, the
 * redzone of a large block that the program never writes would make 2 MiB resident.  units.c
 * advises huge pages for slabs, large.c inside very large blocks.
 *
 * The heap grows with the lock of units.c held, or while only one thread runs.
 */
#include "guard.h"
#include "heap_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define HEAP_BYTES_MAX (1ull << 40)
#define HEAP_BYTES_MIN (1ull << 26)
#define HEAP_ALIGN (1ull << 21) /* required by huge pages */
#define STEP_BYTES_MIN (1ull << 20)
#define STEP_BYTES_MAX (32ull << 20)
/* a step is 1/32 of the ready heap: memory that is ready and unused counts in core dumps */
#define STEP_SHARE 32u
#define PROGRESS_UNITS 64u /* copied between two increments of *progress */

#define HOLES_MAX 32u /* above the heap's end; below it the number is unlimited */

struct heap heap;
struct unit_note *unit_note;
struct slab_bits *slab_bits;

static struct {
    bool limited;          /* under ulimit -v: extended step by step */
    uint64_t max_units;    /* maximum size of the heap; the tables are reserved for it */
    uint64_t usable_units; /* reserved address space */
    uint64_t ready_bytes;  /* readable and writable bytes of the heap */
    uint64_t tables_ready; /* number of units with usable table entries */
    uint32_t holes;        /* above heap.bytes; ascending, each ends before the next begins */
    struct hole hole[HOLES_MAX];
    _Atomic bool has_gaps;
} space;

/* ---- start ----------------------------------------------------------------------------------- */

enum { TABLES = 3 };
static const uint64_t entry_bytes[TABLES] = {sizeof *heap.unit, sizeof *unit_note,
                                             sizeof *slab_bits};

static uint64_t table_bytes(unsigned table, uint64_t units)
{
    return align_up(units * entry_bytes[table], PAGE_BYTES);
}

static int reserve_tables(uint64_t units)
{
    void *at[TABLES];
    for (unsigned i = 0; i < TABLES; i++) {
        at[i] = os_reserve(NULL, table_bytes(i, units), false);
        if (!os_failed(at[i]))
            continue;
        while (i-- > 0)
            os_unmap(at[i], table_bytes(i, units));
        return -ENOMEM;
    }
    heap.unit = at[0];
    unit_note = at[1];
    slab_bits = at[2];
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
            os_no_huge((void *)heap.base, bytes);
            space.usable_units = bytes >> RTC_UNIT_SHIFT;
            return 0;
        }
        os_unmap(p, bytes + HEAP_ALIGN);
    }
    return -ENOMEM;
}

/* An address between the program (0x55..) and the mappings (0x7f..), different in each run. */
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
        os_no_huge(p, STEP_BYTES_MIN);
        space.usable_units = STEP_BYTES_MIN >> RTC_UNIT_SHIFT;
        return 0;
    }
    return -ENOMEM;
}

static int use_file(void)
{
    uint64_t bytes;
    char *p = in_file_start(&bytes);
    if (!p || reserve_tables(bytes >> RTC_UNIT_SHIFT))
        return -ENOMEM;
    heap.base = (uintptr_t)p;
    space.usable_units = bytes >> RTC_UNIT_SHIFT;
    return 0;
}

int heap_start(bool in_file)
{
    if (in_file)
        return use_file();
    uint64_t limit = os_limit(RLIMIT_AS);
    return limit == UINT64_MAX ? reserve_ladder() : reserve_under_limit(limit);
}

/* ---- growth ---------------------------------------------------------------------------------- */

static bool ready_tables(uint64_t units)
{
    if (units <= space.tables_ready)
        return true;
    uint64_t want = align_up(units, 256); /* the entries of 16 MiB of heap fill a page */
    if (want > space.max_units)
        want = space.max_units;
    if (want < units || os_allow(heap.unit, table_bytes(0, want)) ||
        os_allow(unit_note, table_bytes(1, want)) || os_allow(slab_bits, table_bytes(2, want)))
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
    os_no_huge((void *)(heap.base + have), more);
    space.usable_units = units;
    return true;
}

/* ---- holes: memory that the program has mapped over ------------------------------------------ */

uintptr_t heap_space_end(void)
{
    return heap.base + (space.usable_units << RTC_UNIT_SHIFT);
}

void heap_note_gap(uintptr_t start, uintptr_t end)
{
    if (start < heap_space_end() && end > heap.base)
        atomic_store_explicit(&space.has_gaps, true, memory_order_relaxed);
}

bool heap_has_gaps(void)
{
    return atomic_load_explicit(&space.has_gaps, memory_order_relaxed);
}

struct hole space_next_hole(void)
{
    return space.holes ? space.hole[0] : (struct hole){UINT64_MAX, UINT64_MAX};
}

bool space_is_hole(uint64_t first, uint64_t end)
{
    for (uint32_t i = 0; i < space.holes; i++)
        if (space.hole[i].first < end && space.hole[i].end > first)
            return true;
    return false;
}

/* If the table is full, the heap can never grow past the new hole; holes above it are dropped. */
void space_add_hole(uint64_t first, uint64_t end)
{
    uint32_t at = 0, next;
    while (at < space.holes && space.hole[at].end < first)
        at++;
    for (next = at; next < space.holes && space.hole[next].first <= end; next++) {
        first = space.hole[next].first < first ? space.hole[next].first : first;
        end = space.hole[next].end > end ? space.hole[next].end : end;
    }
    if (next == at && space.holes == HOLES_MAX) {
        space.max_units = space.usable_units = first;
        space.holes = at;
        return;
    }
    memmove(space.hole + at + 1, space.hole + next, (space.holes - next) * sizeof *space.hole);
    space.holes = space.holes - (next - at) + 1;
    space.hole[at] = (struct hole){first, end};
}

bool space_pass_hole(void)
{
    uint64_t end = space.hole[0].end;
    if (!ready_tables(end))
        return false;
    if (space.ready_bytes < end << RTC_UNIT_SHIFT)
        space.ready_bytes = end << RTC_UNIT_SHIFT;
    space.holes--;
    memmove(space.hole, space.hole + 1, space.holes * sizeof *space.hole);
    return true;
}

bool space_has_huge(void)
{
    return !heap_in_file() && !space.limited;
}

/*
 * Not every kernel checks RLIMIT_DATA when a reservation becomes writable and the address space is
 * already over its own limit; the heap's reservation is large.  A program that lowers its limits
 * must be refused as it would be natively.
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
    os_dump(at, to - from);
    return true;
}

/* Make [0, bytes) of the heap usable memory, and a step more if possible. */
static bool ready_heap(uint64_t bytes)
{
    if (bytes <= space.ready_bytes)
        return true;
    uint64_t step = space.ready_bytes / STEP_SHARE;
    step = step < STEP_BYTES_MIN ? STEP_BYTES_MIN : step > STEP_BYTES_MAX ? STEP_BYTES_MAX : step;
    uint64_t want = align_up(bytes + step, STEP_BYTES_MIN), hole = space_next_hole().first;
    if (heap_in_file())
        want = align_up(want, HUGE_PAGE_BYTES); /* a huge page has one protection */
    if (want >> RTC_UNIT_SHIFT > hole)
        want = hole << RTC_UNIT_SHIFT;
    uint64_t tries[] = {want, align_up(bytes, UNIT_BYTES)};
    for (size_t i = 0; i < countof(tries); i++) {
        if (!extend_space(tries[i] >> RTC_UNIT_SHIFT) || !ready_bytes(space.ready_bytes, tries[i]))
            continue;
        space.ready_bytes = tries[i];
        pending_note_ready(tries[i]);
        return true;
    }
    return false;
}

bool space_could_hold(uint64_t units)
{
    return units <= space.max_units;
}

bool space_make_ready(uint64_t units)
{
    return space_could_hold(units) && ready_tables(units) && ready_heap(units << RTC_UNIT_SHIFT);
}

uint64_t space_ready_bytes(void)
{
    return space.ready_bytes;
}

uint64_t space_units_usable(void)
{
    return space.usable_units;
}

/* ---- forks ----------------------------------------------------------------------------------- */

bool space_is_foreign(uint64_t unit)
{
    if (unit >= atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT)
        return space_is_hole(unit, unit + 1);
    return owner_kind(atomic_load_explicit(&heap.unit[unit].owner, memory_order_relaxed)) ==
           UNIT_FOREIGN;
}

/* The first end of a hole, either one, above `unit`; at most `end`. */
static uint64_t border_after(uint64_t unit, uint64_t end)
{
    for (uint32_t i = 0; i < space.holes; i++) {
        const struct hole *h = &space.hole[i];
        uint64_t border = h->first > unit ? h->first : h->end;
        if (border > unit)
            return border < end ? border : end;
    }
    return end;
}

uint64_t space_same_until(uint64_t first, uint64_t end)
{
    uint64_t used = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    uint64_t next = first;
    do
        next = next < used ? next + 1 : border_after(next, end);
    while (next < end && space_is_foreign(next) == space_is_foreign(first));
    return next;
}

/* Copy the units in use; free runs, clean or dirty, and foreign units are left out. */
static void copy_in_use(char *to, const char *from, _Atomic uint32_t *progress)
{
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_relaxed) >> RTC_UNIT_SHIFT;
    uint32_t copied = 0;
    for (uint64_t i = 1; i < end;) {
        uint64_t length = run_length(heap.unit + i);
        if (guard_bits(heap.unit + i)) {
            struct heap_part part = guard_accessible(heap.unit + i);
            memcpy(to + part.from, from + part.from, part.to - part.from);
        } else if (!length && !space_is_foreign(i)) {
            memcpy(to + (i << RTC_UNIT_SHIFT), from + (i << RTC_UNIT_SHIFT), UNIT_BYTES);
            if (++copied % PROGRESS_UNITS == 0)
                atomic_fetch_add_explicit(progress, 1, memory_order_relaxed);
        }
        i += length ? length : 1;
    }
}

/*
 * heap=file: the mapping is shared with the parent, which waits (fork.c) for the end of the copy.
 * Copied twice, because moving pages would need another system call (mremap).
 */
void *heap_copy_out(_Atomic uint32_t *progress)
{
    char *copy = os_map(space.ready_bytes);
    if (os_failed(copy))
        return NULL;
    copy_in_use(copy, (char *)heap.base, progress);
    return copy;
}

/* Map private memory at these units; false: failed. */
static bool replace(uint64_t first, uint64_t end)
{
    char *at = (char *)heap.base + (first << RTC_UNIT_SHIFT);
    uint64_t ready = space.ready_bytes >> RTC_UNIT_SHIFT, last = end < ready ? end : ready;
    if (os_failed(os_replace(at, (end - first) << RTC_UNIT_SHIFT)))
        return false;
    if (last <= first)
        return true;
    os_dump(at, (last - first) << RTC_UNIT_SHIFT);
    return os_allow(at, (last - first) << RTC_UNIT_SHIFT) == 0;
}

static bool replace_all(void)
{
    uint64_t end = space.usable_units;
    for (uint64_t first = 0, next; first < end; first = next) {
        next = space_same_until(first, end);
        if (!space_is_foreign(first) && !replace(first, next))
            return false;
    }
    return true;
}

void heap_put_back(void *copy)
{
    _Atomic uint32_t unused_progress = 0;
    uint64_t bytes = space.ready_bytes;
    if (!copy || !replace_all())
        os_exit_now(127); /* parent and child must not both write the shared heap */
    copy_in_use((char *)heap.base, copy, &unused_progress);
    os_unmap(copy, bytes);
    in_file_end();
    guard_restore();
}
