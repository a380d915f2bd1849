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
 * The last page that still exists is torn: the kernel has cleared its part past the end, without a
 * signal.  It is replaced, too; its other content is copied.  If an operation finds such a cleared
 * record first, run_notice_cut reads the end of the file's last page, which raises the signal.  (Not
 * detected is a record of which the kernel has cleared one half: its block may seem shorter.)
 *
 * The new pages are prepared elsewhere and moved into place by one system call.  Until then each
 * access by another thread raises SIGBUS too, and waits here; so no access sees a page half filled,
 * and no write to a lost page succeeds before.
 */
#include "fork.h"
#include "heap.h"
#include "runfile_priv.h"

#define REPLACED_MAX 256u

static _Atomic bool is_cut;

/* A lock: the pid of the process whose handler holds it, with all signals blocked; 0: free. */
static _Atomic uint32_t replacing;

static struct {
    uintptr_t start, end;
} replaced[REPLACED_MAX]; /* protected by the lock */
static uint32_t replaced_count;

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

bool run_notice_cut(void)
{
    const volatile char *last = area_last_byte();
    if (!last || atomic_load_explicit(&is_cut, memory_order_relaxed) ||
        os_is_readable((uintptr_t)last))
        return false;
    (void)*last; /* SIGBUS */
    return atomic_load(&is_cut);
}

/* ---- the lock -------------------------------------------------------------------------------- */

/*
 * A child that was forked while another thread of its parent held the lock takes it over.  A vfork
 * child shares the memory, so the holder is alive.
 */
static void lock_replaced(void)
{
    uint32_t me = os_pid(), holder = 0;
    while (!atomic_compare_exchange_strong(&replacing, &holder, me)) {
        if (holder != me && !fork_shares_memory())
            continue; /* with the holder's pid as the expected value */
        os_yield();
        holder = 0;
    }
}

static void unlock_replaced(void)
{
    atomic_store(&replacing, 0); /* pairs with the exchange above */
}

static bool is_replaced(uintptr_t at)
{
    for (uint32_t i = 0; i < replaced_count; i++)
        if (at >= replaced[i].start && at < replaced[i].end)
            return true;
    return false;
}

/* ---- the pages ------------------------------------------------------------------------------- */

/* The lost pages around p, in its area. */
static struct lost_records find_lost(uintptr_t p, uintptr_t window, uint64_t area_bytes)
{
    uintptr_t start = align_down(p, PAGE_BYTES), end = start + PAGE_BYTES,
              first = window + align_down(start - window, area_bytes), last = first + area_bytes;
    while (end < last && !os_is_readable(end))
        end += PAGE_BYTES;
    while (start > first && !os_is_readable(start - PAGE_BYTES))
        start -= PAGE_BYTES;
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

/* Does the page before the lost ones exist?  Then it is torn. */
static bool follows_torn(const struct lost_records *lost, uintptr_t window)
{
    uintptr_t before = lost->start - PAGE_BYTES;
    return lost->start > window && !is_replaced(before) && os_is_readable(before);
}

static bool replace(struct lost_records *lost, bool torn, void (*fill)(const struct lost_records *))
{
    lost->start -= torn ? PAGE_BYTES : 0;
    size_t bytes = lost->end - lost->start;
    lost->content = os_map(bytes);
    if (replaced_count == REPLACED_MAX || os_failed(lost->content))
        return false;
    if (torn)
        memcpy(lost->content, (const void *)lost->start, PAGE_BYTES);
    restore_run(lost);
    restore(lost, image(), image_at_start(), sizeof *image());
    fill(lost);
    if (os_move_over(lost->content, bytes, (void *)lost->start))
        return false;
    replaced[replaced_count].start = lost->start;
    replaced[replaced_count++].end = lost->end;
    return true;
}

bool run_replace_lost(const void *p, void (*fill)(const struct lost_records *lost))
{
    uint64_t bytes, area_bytes = run_header_at_start()->area_bytes;
    uintptr_t window = (uintptr_t)run_window(&bytes), at = (uintptr_t)p;
    if (at - window >= bytes || heap_file_bytes())
        return false; /* with heap=file the program's own memory is lost, too */
    lock_replaced();
    atomic_store(&is_cut, true); /* first: from now on no finding is believed */
    bool done = is_replaced(at); /* by another thread */
    if (!done) {
        struct lost_records lost = find_lost(at, window, area_bytes);
        done = replace(&lost, follows_torn(&lost, window), fill);
    }
    unlock_replaced();
    return done;
}
