/*
 * touched.c - of memory that may be large and hardly used, the pages that hold anything.
 *
 * The kernel tells for each page whether it is there, or has been swapped out.  One that is neither was
 * never written: there is no pointer in it, and reading it would make it real.
 */
#include "leave_priv.h"

#define PAGES_AT_A_TIME 4096u

static struct { /* one check at a time */
    struct pages pages;
    bool tried, open; /* the file of pages */
    uintptr_t from; /* of what is known now */
    uint32_t count; /* pages */
    uint8_t held[PAGES_AT_A_TIME];
} touched;

void touched_begin(void)
{
    touched.count = 0;
    touched.tried = touched.open = false;
}

/* At the first page, when /proc/self/maps is open: that is needed more, and there may be one descriptor only. */
static bool is_open(void)
{
    if (!touched.tried)
        touched.open = os_pages_open(&touched.pages);
    touched.tried = true;
    return touched.open;
}

void touched_end(void)
{
    if (touched.open)
        os_pages_close(&touched.pages);
}

/* Is it known of the page at `at`?  If it is not, it is asked for, and for what follows up to `end`. */
static bool know(uintptr_t at, uintptr_t end)
{
    uintptr_t page = align_down(at, PAGE_BYTES);
    uint64_t left = align_up(end - page, PAGE_BYTES) / PAGE_BYTES;
    if (page - touched.from < touched.count * PAGE_BYTES)
        return true;
    if (!is_open())
        return false;
    touched.from = page;
    touched.count = left < PAGES_AT_A_TIME ? (uint32_t)left : PAGES_AT_A_TIME;
    if (os_pages_held(&touched.pages, page, touched.count, touched.held))
        return true;
    touched.count = 0;
    return false;
}

static bool is_held(uintptr_t at)
{
    return touched.held[(at - touched.from) / PAGE_BYTES];
}

static uintptr_t next_page(uintptr_t at)
{
    return align_down(at, PAGE_BYTES) + PAGE_BYTES;
}

enum touched touched_next(uintptr_t *at, uintptr_t end, uintptr_t *piece_end)
{
    while (*at < end && know(*at, end) && !is_held(*at))
        *at = next_page(*at);
    if (*at >= end)
        return TOUCHED_NOTHING;
    if (!know(*at, end))
        return TOUCHED_UNKNOWN;
    for (*piece_end = *at; *piece_end < end && know(*piece_end, end) && is_held(*piece_end);)
        *piece_end = next_page(*piece_end);
    if (*piece_end > end)
        *piece_end = end;
    return TOUCHED_PIECE;
}
