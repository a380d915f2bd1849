/*
 * dirty_pages.c - the written pages of memory that may be large and sparse.
 *
 * /proc/thread-self/pagemap reports for each page whether it is in memory or swapped out.  A page of
 * private memory that is neither was never written, or was discarded: it contains no pointer.
 * Reading it would allocate it, or wait for a stopped thread that handles its faults (userfaultfd),
 * or it is a guard, where a read is a fault.  So all pages of the program are looked up before they
 * are read in place.  Some guards are reported as swapped out; the kernel tests whether such a page
 * is readable.
 */
#include "leakcheck_priv.h"

#define PAGES_AT_A_TIME 4096u

static struct { /* one check at a time */
    struct pages pages;
    bool tried, open; /* the pagemap file */
    uintptr_t from;   /* start of the range in `state` */
    uint32_t count;   /* number of pages */
    uint8_t state[PAGES_AT_A_TIME];
} dirty_pages;

void dirty_pages_begin(void)
{
    dirty_pages.count = 0;
    dirty_pages.tried = dirty_pages.open = false;
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

void dirty_pages_end(void)
{
    if (dirty_pages.open)
        os_pages_close(&dirty_pages.pages);
}

/* Is the state of the page at `at` known?  If not, read it, and that of the pages up to `end`. */
static bool query_pages(uintptr_t at, uintptr_t end)
{
    uintptr_t page = align_down(at, PAGE_BYTES);
    uint64_t left = align_up(end - page, PAGE_BYTES) / PAGE_BYTES;
    if (page - dirty_pages.from < dirty_pages.count * PAGE_BYTES)
        return true;
    if (!is_open())
        return false;
    dirty_pages.from = page;
    dirty_pages.count = left < PAGES_AT_A_TIME ? (uint32_t)left : PAGES_AT_A_TIME;
    if (os_pages_look(&dirty_pages.pages, page, dirty_pages.count, dirty_pages.state))
        return true;
    dirty_pages.count = 0;
    return false;
}

static uint8_t state_of(uintptr_t at)
{
    return dirty_pages.state[(at - dirty_pages.from) / PAGE_BYTES];
}

static bool is_dirty(enum memory memory, uintptr_t at)
{
    uint8_t state = state_of(at);
    return state & PAGE_IN_MEMORY ||
           (state & PAGE_IN_SWAP && (memory == MEMORY_CLOSED || os_is_readable(at)));
}

static uintptr_t next_page(uintptr_t at)
{
    return align_down(at, PAGE_BYTES) + PAGE_BYTES;
}

enum dirty_pages dirty_pages_next(enum memory memory, uintptr_t *at, uintptr_t end,
                                  uintptr_t *piece_end)
{
    while (*at < end && query_pages(*at, end) && !is_dirty(memory, *at))
        *at = next_page(*at);
    if (*at >= end)
        return DIRTY_NONE;
    if (!query_pages(*at, end))
        return DIRTY_UNKNOWN;
    for (*piece_end = *at;
         *piece_end < end && query_pages(*piece_end, end) && is_dirty(memory, *piece_end);)
        *piece_end = next_page(*piece_end);
    if (*piece_end > end)
        *piece_end = end;
    return DIRTY_RANGE;
}
