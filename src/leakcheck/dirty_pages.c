/*
 * dirty_pages.c - the pages of the program's memory that may contain pointers and can be read.
 *
 * /proc/thread-self/pagemap reports for each page of a mapping whether it is in memory or swapped
 * out.  All pages are looked up before they are read in place:
 *
 *   - In memory: the page is read.  In a private mapping of a file that is not writable, only if the
 *     program has written it before mprotect: then it is not a page of the file.
 *   - Swapped out: so are some guards reported; read if the kernel can read it.
 *   - Neither, in private memory: the page was never written, or was discarded.  Reading it would
 *     allocate it, or wait for a stopped thread that provides pages (userfaultfd), or fault at a
 *     guard (MADV_GUARD_INSTALL).
 *   - Neither, in shared memory: this mapping has not used the page, or the kernel has taken it
 *     back.  It may have contents, from another mapping, process or system call.  Pages that
 *     mincore reports as resident are read, if the kernel can read them; others of a file only if
 *     the file is on a disk.  Of such pages a limited number is read: a mapping may be large, and
 *     its contents unrelated to this process.  This limit does not apply to the heap of heap=file.
 *
 * Without the pagemap (a process that is not dumpable, no free descriptor) mincore reports which
 * pages are resident.  It does not report what is swapped out: if something is, the kernel tests
 * each page.
 */
#include "leakcheck_priv.h"

#include <string.h>

#define PAGES_AT_A_TIME 4096u

/* Limits of a check for shared pages that this process has not used; the kernel reports them one
 * by one. */
#define ASKED_BYTES (16ull << 30)
#define RESIDENT_BYTES (256ull << 20)
#define ABSENT_BYTES (16ull << 20) /* not resident: read from disk */

#define PAGE_UNSURE 8u /* in the state of a page: without the pagemap, perhaps in memory */

struct window {
    uintptr_t from;
    uint32_t count; /* number of pages */
    uint8_t state[PAGES_AT_A_TIME];
};

static struct { /* one check at a time */
    struct pages pages;
    bool tried, open;       /* the pagemap file */
    struct window known;    /* by the pagemap */
    struct window resident; /* by mincore, of shared memory */
    enum { SWAP_UNKNOWN, SWAP_UNUSED, SWAP_USED } swap;
    uint64_t asked_left, resident_left, absent_left;
} dirty_pages;

void dirty_pages_begin(void)
{
    dirty_pages.known.count = dirty_pages.resident.count = 0;
    dirty_pages.tried = dirty_pages.open = false;
    dirty_pages.swap = SWAP_UNKNOWN;
    dirty_pages.asked_left = ASKED_BYTES;
    dirty_pages.resident_left = RESIDENT_BYTES;
    dirty_pages.absent_left = ABSENT_BYTES;
}

/*
 * Opened at the first page, after /proc/self/maps: only one descriptor may be available, and maps
 * needs it.
 */
static bool is_open(void)
{
    if (!dirty_pages.tried)
        dirty_pages.open = os_pages_open(&dirty_pages.pages);
    dirty_pages.tried = true;
    return dirty_pages.open;
}

void dirty_pages_try_again(void)
{
    if (!dirty_pages.open) {
        dirty_pages.tried = false;
        dirty_pages.known.count = 0;
    }
}

void dirty_pages_end(void)
{
    if (dirty_pages.open)
        os_pages_close(&dirty_pages.pages);
}

/* ---- states ---------------------------------------------------------------------------------- */

static bool is_swap_used(void)
{
    if (dirty_pages.swap == SWAP_UNKNOWN)
        dirty_pages.swap = os_swap_in_use() ? SWAP_USED : SWAP_UNUSED;
    return dirty_pages.swap == SWAP_USED;
}

/* Move the window to the page at `at` and those up to `end`.  false: it contains the page. */
static bool move_window(struct window *w, uintptr_t at, uintptr_t end)
{
    uintptr_t page = align_down(at, PAGE_BYTES);
    uint64_t left = align_up(end - page, PAGE_BYTES) / PAGE_BYTES;
    if (page - w->from < w->count * PAGE_BYTES)
        return false;
    w->from = page;
    w->count = left < PAGES_AT_A_TIME ? (uint32_t)left : PAGES_AT_A_TIME;
    return true;
}

static uint8_t *state_in(struct window *w, uintptr_t at)
{
    return &w->state[(at - w->from) / PAGE_BYTES];
}

/* mincore refuses a range with a hole as a whole. */
static void look_without_pagemap(struct window *w)
{
    bool is_known = os_pages_resident(w->from, w->count, w->state);
    for (uint32_t i = 0; i < w->count; i++)
        w->state[i] = !is_known || w->state[i] || is_swap_used() ? PAGE_UNSURE : 0;
}

static uint8_t state_of(uintptr_t at, uintptr_t end)
{
    struct window *w = &dirty_pages.known;
    if (move_window(w, at, end) &&
        !(is_open() && os_pages_look(&dirty_pages.pages, w->from, w->count, w->state)))
        look_without_pagemap(w);
    return *state_in(w, at);
}

static bool take(uint64_t *left)
{
    if (*left < PAGE_BYTES)
        return false;
    *left -= PAGE_BYTES;
    return true;
}

/* A page of shared memory that this mapping has not used. */
static bool is_shared_dirty(enum memory memory, uintptr_t at, uintptr_t end)
{
    struct window *w = &dirty_pages.resident;
    if (!take(&dirty_pages.asked_left))
        return false;
    if (move_window(w, at, end) && !os_pages_resident(w->from, w->count, w->state))
        memset(w->state, 1, w->count); /* a hole: each page is tested */
    bool may_be = memory == MEMORY_ON_DISK || is_swap_used();
    return (*state_in(w, at) ? take(&dirty_pages.resident_left)
                             : may_be && take(&dirty_pages.absent_left)) &&
           os_is_readable(at);
}

static bool is_dirty(enum memory memory, uintptr_t at, uintptr_t end)
{
    uint8_t state = state_of(at, end);
    if (state & PAGE_IN_MEMORY)
        return !(state & PAGE_OF_FILE) || (memory != MEMORY_CLOSED && memory != MEMORY_WRITTEN);
    if (state & (PAGE_IN_SWAP | PAGE_UNSURE))
        return memory == MEMORY_CLOSED || os_is_readable(at);
    if (memory == MEMORY_OF_HEAP)
        return os_is_readable(at);
    return memory >= MEMORY_SHARED && is_shared_dirty(memory, at, end);
}

/* ---- runs of pages --------------------------------------------------------------------------- */

static uintptr_t next_page(uintptr_t at)
{
    return align_down(at, PAGE_BYTES) + PAGE_BYTES;
}

bool dirty_pages_next(enum memory memory, uintptr_t *at, uintptr_t end, uintptr_t *piece_end)
{
    while (*at < end && !is_dirty(memory, *at, end))
        *at = next_page(*at);
    if (*at >= end)
        return false;
    *piece_end = next_page(*at);
    while (*piece_end < end && is_dirty(memory, *piece_end, end))
        *piece_end = next_page(*piece_end);
    if (*piece_end > end)
        *piece_end = end;
    return true;
}
