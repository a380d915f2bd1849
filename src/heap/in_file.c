/*
 * in_file.c - the heap in the run file (heap=file), and what a fork makes of it.
 *
 * Shared memory would be written by parent and child.  The kernel copies only private memory, at one
 * instant and for all threads.  So before a fork the heap's mapping is replaced by a private mapping of the
 * same part of the file (heap_make_private).  Contents stay, no thread has to be stopped, and the fork is as
 * cheap as with a heap in memory: pages of the file are copied when they are written.
 *
 * With --fork=private this is all.  Both heaps are private memory from then on, and the file keeps the contents
 * from before the fork.  With --fork=copy the child writes its memory to another heap of the file, and maps
 * that one (heap_move_to_file).  The parent writes the pages that have changed since the fork to the file, and
 * maps it shared again (heap_back_to_file).  First it waits until the child has finished, because the child
 * reads pages of the file until then.  The parent's other threads are stopped only while these pages are
 * written.
 *
 * If the file cannot be opened (a sandbox, another root directory), the mapping stays shared: then the
 * child copies it while the parent waits (heap_copy_out), and writes of other threads may be torn.
 *
 * Pages that the program made inaccessible are copied, too, and stay so.  Pages that it discards by madvise
 * are cleared, as in private memory (heap_discard).  Memory that the program mapped
 * over the heap is left alone (UNIT_FOREIGN).
 */
#include "guard.h"
#include "heap_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PROGRESS_UNITS 64u /* copied between two increments of *progress */

#define HOLE_UNITS_ON_DISK 16u

enum heap_backing heap_backing;
bool heap_can_collapse;
uint32_t heap_hole_units = 1;

/* Map a heap of the file.  Return its address, and its size in bytes; NULL: there is none. */
void *in_file_start(uint64_t *bytes)
{
    char *pool = run_pool(bytes);
    if (pool) {
        heap_backing = HEAP_IN_FILE;
        heap_hole_units = UINT32_MAX; /* its size is fixed, its space reserved */
        return pool;
    }
    uint32_t taken = heap_file_take();
    *bytes = heap_file_bytes();
    if (!taken)
        return NULL;
    char *whole = os_reserve(NULL, *bytes + HUGE_PAGE_BYTES, false);
    char *at = (char *)align_up((uintptr_t)whole, HUGE_PAGE_BYTES);
    if (os_failed(whole) || heap_file_map(taken, 0, *bytes, at)) {
        heap_file_drop(taken);
        return NULL;
    }
    heap_file_use(taken);
    heap_can_collapse = run_is_in_memory();
    heap_hole_units = heap_can_collapse ? 1 : HOLE_UNITS_ON_DISK;
    heap_backing = HEAP_IN_FILE;
    return at;
}

void in_file_end(void)
{
    heap_file_use(0);
    heap_backing = HEAP_IN_MEMORY;
}

/* ---- mappings of the heap -------------------------------------------------------------------- */

struct walk {
    int fd;      /* of the file */
    char *spare; /* in place of libvmmalloc */
    struct pages pages;
    uint32_t number_1;
    bool only_changed;
    uint32_t copied;
    _Atomic uint32_t *progress;
    char *cleared, *cleared_end;
};

/* A part of a mapping that is ready memory of the heap: [start, end). */
typedef bool action(struct walk *w, char *start, char *end, int protection);

static bool is_foreign_at(uintptr_t at)
{
    return space_is_foreign((at - heap.base) >> RTC_UNIT_SHIFT);
}

/*
 * As the kernel has them: the program may have protected pages.  false: not all are known, or an action
 * failed.
 */
static bool each_mapping(struct walk *w, action *act)
{
    struct mappings all;
    struct mapping m;
    uintptr_t end = heap.base + space_ready_bytes();
    bool done = os_mappings_open(&all) == 0;
    if (!done)
        return false;
    while (done && os_mappings_next(&all, &m) && m.start < end) {
        uintptr_t from = m.start > heap.base ? m.start : heap.base, to = m.end < end ? m.end : end;
        if (from < to && !is_foreign_at(from))
            done = act(w, (char *)from, (char *)to, m.protection);
    }
    os_mappings_close(&all);
    return done;
}

/* The part that is not ready yet, in runs without foreign units: from unit `first` to `end`. */
static bool each_unready(bool (*act)(uint32_t number_1, uint64_t first, uint64_t end),
                         uint32_t number_1)
{
    uint64_t end = space_units_usable();
    for (uint64_t first = space_ready_bytes() >> RTC_UNIT_SHIFT, next; first < end; first = next) {
        next = space_same_until(first, end);
        if (!space_is_foreign(first) && !act(number_1, first, next))
            return false;
    }
    return true;
}

static char *unit_at(uint64_t number)
{
    return (char *)heap.base + (number << RTC_UNIT_SHIFT);
}

static uint64_t offset_of(const char *at)
{
    return (uintptr_t)at - heap.base;
}

/* ---- to private memory ----------------------------------------------------------------------- */

static bool make_private(struct walk *w, char *start, char *end, int protection)
{
    return os_replace_by_copy(start, (size_t)(end - start), protection, w->fd,
                              heap_file_offset(w->number_1) + offset_of(start)) == 0;
}

/* In place of libvmmalloc the file cannot be opened: the private mapping exists, and is moved here. */
static bool move_private(struct walk *w, char *start, char *end, int protection)
{
    size_t bytes = (size_t)(end - start);
    char *from = w->spare + offset_of(start);
    return os_protect(from, bytes, protection) == 0 && os_move_part(from, bytes, start) == 0;
}

static bool unready_to_memory(uint32_t number_1, uint64_t first, uint64_t end)
{
    (void)number_1;
    return !os_failed(os_replace(unit_at(first), (end - first) << RTC_UNIT_SHIFT));
}

static bool open_and_map(void)
{
    struct walk w = {.fd = run_open(), .number_1 = heap_file_used()};
    bool done = w.fd >= 0 && each_mapping(&w, make_private);
    if (w.fd >= 0)
        os_close(w.fd);
    return done;
}

static bool use_spare(void)
{
    struct walk w = {.spare = run_pool_take_spare(space_ready_bytes())};
    return w.spare && each_mapping(&w, move_private);
}

bool heap_make_private(bool is_quiescent)
{
    uint64_t pool_bytes;
    bool done = run_pool(&pool_bytes) ? use_spare() : open_and_map();
    if (!done || !each_unready(unready_to_memory, 0))
        return false; /* the fork is torn, if a part is shared */
    heap_backing = HEAP_COPY_OF_FILE;
    if (is_quiescent) /* else guard pages stay open: a thread may be about to use one */
        guard_restore();
    image_flag(IMAGE_HEAP_LEFT);
    return true;
}

/* ---- back to the file ------------------------------------------------------------------------ */

/*
 * By write: the kernel copies without clearing new pages first, and a full file system or pages that
 * cannot be read are errors.  Pages that the program has made unreadable for itself are left out.
 */
static bool copy_bytes(struct walk *w, uint64_t from, uint64_t to)
{
    uint64_t in_file = heap_file_offset(w->number_1);
    while (from < to) {
        long n = os_write_at(w->fd, (char *)heap.base + from, to - from, in_file + from);
        if (n <= 0 && !(n == -EFAULT && heap_has_gaps()))
            return false;
        from = n > 0 ? from + (uint64_t)n : align_down(from, PAGE_BYTES) + PAGE_BYTES;
    }
    return true;
}

/* Of [from, to) in one unit: the pages that are no longer those of the file. */
static bool copy_changed(struct walk *w, uint64_t from, uint64_t to)
{
    uint8_t state[UNIT_BYTES / PAGE_BYTES];
    uint32_t count = (uint32_t)((to - from) / PAGE_BYTES);
    if (!os_pages_look(&w->pages, heap.base + from, count, state))
        return false;
    for (uint32_t i = 0; i < count; i++, from += PAGE_BYTES)
        if (state[i] & (PAGE_IN_MEMORY | PAGE_IN_SWAP) && !(state[i] & PAGE_OF_FILE) &&
            !copy_bytes(w, from, from + PAGE_BYTES))
            return false;
    return true;
}

static bool copy_unit(struct walk *w, uint64_t number, uint64_t from, uint64_t to)
{
    if (++w->copied % PROGRESS_UNITS == 0)
        atomic_fetch_add_explicit(w->progress, 1, memory_order_relaxed);
    if (guard_bits(heap.unit + number)) { /* from the first page of the block's run: all of it */
        struct heap_part part = guard_accessible(heap.unit + number);
        return from != number << RTC_UNIT_SHIFT || copy_bytes(w, part.from, part.to);
    }
    return w->only_changed ? copy_changed(w, from, to) : copy_bytes(w, from, to);
}

/* Free runs are left out. */
static bool copy_units(struct walk *w, uint64_t from, uint64_t end)
{
    uint64_t used = atomic_load_explicit(&heap.bytes, memory_order_relaxed);
    end = end < used ? end : used;
    for (uint64_t at = from, next; at < end; at = next) {
        uint64_t number = at >> RTC_UNIT_SHIFT, length = run_length(heap.unit + number);
        next = (number + (length ? length : 1)) << RTC_UNIT_SHIFT;
        if (!length && !copy_unit(w, number, at, next < end ? next : end))
            return false;
    }
    return true;
}

/* The program may have made it unreadable. */
static bool copy_mapping(struct walk *w, char *start, char *end, int protection)
{
    size_t bytes = (size_t)(end - start);
    if (!(protection & PROT_READ) && os_read_only(start, bytes))
        return false;
    bool done = copy_units(w, offset_of(start), offset_of(end));
    return (protection & PROT_READ || os_protect(start, bytes, protection) == 0) && done;
}

static bool share(struct walk *w, char *start, char *end, int protection)
{
    size_t bytes = (size_t)(end - start);
    if (heap_file_map(w->number_1, offset_of(start), bytes, start) ||
        os_protect(start, bytes, protection))
        return false;
    os_dump(start, bytes); /* the reservation that it was mapped from is left out of core dumps */
    return true;
}

static bool share_unready(uint32_t number_1, uint64_t first, uint64_t end)
{
    return heap_file_map(number_1, first << RTC_UNIT_SHIFT, (end - first) << RTC_UNIT_SHIFT,
                         unit_at(first)) == 0;
}

/* If a part could not be replaced, the contents of others are in the file alone: then it is the end. */
static bool copy_and_share(struct walk *w)
{
    w->fd =
        os_limit(RLIMIT_FSIZE) == UINT64_MAX ? run_open() : -EFBIG; /* write would raise SIGXFSZ */
    bool is_copied = w->fd >= 0 && each_mapping(w, copy_mapping);
    if (w->fd >= 0)
        os_close(w->fd);
    if (!is_copied)
        return false;
    if (!each_mapping(w, share) || !each_unready(share_unready, w->number_1))
        os_exit_now(127);
    heap_file_use(w->number_1);
    heap_backing = HEAP_IN_FILE;
    guard_restore();
    atomic_fetch_and(&image()->flags, ~IMAGE_HEAP_LEFT);
    return true;
}

bool heap_move_to_file(uint32_t number_1, _Atomic uint32_t *progress)
{
    struct walk w = {.number_1 = number_1, .progress = progress};
    return copy_and_share(&w);
}

bool heap_back_to_file(void)
{
    _Atomic uint32_t unused_progress = 0;
    struct walk w = {
        .number_1 = heap_file_used(), .progress = &unused_progress, .only_changed = true};
    if (!w.number_1 || !os_pages_open(&w.pages))
        return false;
    bool done = copy_and_share(&w);
    os_pages_close(&w.pages);
    return done;
}

/* ---- advice of the program ------------------------------------------------------------------- */

bool heap_has_pages_in_file(uintptr_t at, size_t bytes)
{
    return heap_in_file() && at - heap.base < space_ready_bytes() &&
           bytes <= space_ready_bytes() - (at - heap.base);
}

/*
 * A hole in the file; zeros in a private copy, which would show the file's old contents, and in place of
 * libvmmalloc, whose space is reserved.  Fails if a page is not writable.
 */
static int clear(char *at, size_t bytes)
{
    if (heap_is_shared() && heap_hole_units != UINT32_MAX)
        return os_release_file(at, bytes);
    int err = os_populate(at, bytes);
    if (!err)
        memset(at, 0, bytes);
    return err;
}

static bool clear_mapping(struct walk *w, char *start, char *end, int protection)
{
    start = start > w->cleared ? start : w->cleared;
    end = end < w->cleared_end ? end : w->cleared_end;
    if (start >= end)
        return true;
    size_t bytes = (size_t)(end - start);
    bool done = os_allow(start, bytes) == 0 && clear(start, bytes) == 0;
    return os_protect(start, bytes, protection) == 0 && done;
}

int heap_discard(uintptr_t at, size_t bytes)
{
    struct walk w = {.cleared = (char *)at, .cleared_end = (char *)at + bytes};
    int err = clear(w.cleared, bytes);
    if (!err || err == -EINVAL)
        return err;
    return each_mapping(&w, clear_mapping) ? 0 : -EAGAIN; /* pages that the program has protected */
}
