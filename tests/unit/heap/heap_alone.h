/*
 * heap_alone.h - a heap without a run, for tests of the units.  Use it in a child of the test: a
 * process has one heap.
 */
#ifndef HEAP_ALONE_H
#define HEAP_ALONE_H

#include <stdint.h>
#include <sys/prctl.h>

#include "heap.h"
#include "../in_child.h"

#define MIB (1ull << 20)

static inline void heap_alone(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* touching one unit must not populate its neighbours */
    MUST(heap_start(false) == 0);
    MUST(!heap_in_file() && heap.bytes == 0);
}

/* With a handler registered, do pending releases at once, as at the end of a critical section. */
static inline void give_units(struct unit *first, uint64_t n, bool dirty)
{
    struct pending_release d;
    units_give(first, n, dirty);
    while (pending_take(&d)) {
        MUST(heap_watched && !d.block);
        pending_put(&d, os_release((void *)unit_address(d.head), d.units << RTC_UNIT_SHIFT) == 0);
    }
}

#endif
