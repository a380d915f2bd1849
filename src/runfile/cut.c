/*
 * cut.c - survival of a run file that is truncated while it is mapped.
 *
 * Somebody who may write to the file can make it shorter: the program itself, its user, or a
 * cleaner of temporary files.  (A memfd is sealed against that, a file by hand cannot be.)  Every
 * access to a page past the end then raises SIGBUS, and the next malloc would end the program.  So
 * the handler of SIGBUS (init/fatal.c) replaces lost pages by private memory, and the instruction
 * is repeated.
 *
 * What was in these pages is lost.  The new pages hold zeros, which no reader of records follows
 * anywhere, except
 *  - the headers of run and image, as they were at start: their constants describe the file,
 *  - records of blocks, made by `fill`: all are of blocks that the program may have.
 *
 * The new pages are prepared elsewhere and moved into place by one system call.  Until then each
 * access by another thread raises SIGBUS too, and waits here; so no access sees a page half filled,
 * and no write to a lost page succeeds before.  Pages in front of the new end are not touched: they
 * may be truncated later, by another SIGBUS.
 */
#include "heap.h"
#include "runfile_priv.h"

static _Atomic bool is_cut;
static _Atomic bool replacing; /* a lock: all signals are blocked in the handler that holds it */

/* Without a header the file was truncated and made longer again, which raises no signal. */
bool run_is_cut(void)
{
    const struct run_header *run = run_header();
    return atomic_load_explicit(&is_cut, memory_order_relaxed) ||
           (run && run->magic != RTC_RUN_MAGIC);
}

bool run_is_gone(void)
{
    return run_header() && !os_is_readable((uintptr_t)run_header());
}

/* From the page of p to the next page that still exists, or to the end of the area. */
static struct lost_records find_lost(uintptr_t p, uintptr_t window, uint64_t area_bytes)
{
    uintptr_t start = align_down(p, PAGE_BYTES), end = start + PAGE_BYTES,
              last = window + align_up(end - window, area_bytes);
    while (end < last && !os_is_readable(end))
        end += PAGE_BYTES;
    return (struct lost_records){.start = start, .end = end};
}

/* Write the part of an object at `at` that was lost, from its copy. */
static void restore(const struct lost_records *lost, const void *at, const void *copy, size_t bytes)
{
    uintptr_t from = (uintptr_t)at, end = from + bytes;
    uintptr_t first = from > lost->start ? from : lost->start,
              last = end < lost->end ? end : lost->end;
    if (first < last)
        memcpy(lost->content + (first - lost->start), (const char *)copy + (first - from),
               last - first);
}

/* Numbers of images that began since then are not known: begin above all that are possible. */
static void restore_run(const struct lost_records *lost)
{
    const struct run_header *first = run_header_at_start();
    uint32_t next = image_number() + first->area_count;
    restore(lost, run_header(), first, sizeof *first);
    restore(lost, &run_header()->next_image, &next, sizeof next);
}

static bool replace(struct lost_records *lost, void (*fill)(const struct lost_records *lost))
{
    size_t bytes = lost->end - lost->start;
    lost->content = os_map(bytes);
    if (os_failed(lost->content))
        return false;
    restore_run(lost);
    restore(lost, image(), image_at_start(), sizeof *image());
    fill(lost);
    return os_move_over(lost->content, bytes, (void *)lost->start) == 0;
}

bool run_replace_lost(const void *p, void (*fill)(const struct lost_records *lost))
{
    uint64_t bytes, area_bytes = run_header_at_start()->area_bytes;
    uintptr_t window = (uintptr_t)run_window(&bytes), at = (uintptr_t)p;
    if (at - window >= bytes || run_heap())
        return false; /* with heap=file the program's own memory is lost, too */
    while (atomic_exchange_explicit(&replacing, true, memory_order_acquire))
        os_yield();              /* pairs with the store below */
    atomic_store(&is_cut, true); /* first: from now on no finding is believed */
    struct lost_records lost = find_lost(at, window, area_bytes);
    bool done = os_is_readable(at) /* by another thread */ || replace(&lost, fill);
    atomic_store_explicit(&replacing, false, memory_order_release);
    return done;
}
