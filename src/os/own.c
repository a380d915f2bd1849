/*
 * own.c - the address ranges that belong to the runtime, not to the program.
 *
 * An unordered table with lock-free access: entries are few, and lookups are not time-critical.  A
 * range that finds no free entry is not recorded; readers then attribute it to the program.
 */
#include "os.h"
#include "os_priv.h"

#define OWN_MAX 4096u

static struct {
    struct {
        _Atomic uintptr_t start; /* 0: free */
        _Atomic uintptr_t end;   /* 0: not set yet */
    } area[OWN_MAX];
    _Atomic uint32_t high; /* all used entries are below this index */
} own;

/* Record a range.  false: the table is full. */
static bool note(const void *at, size_t bytes)
{
    for (uint32_t i = 0; i < OWN_MAX; i++) {
        uintptr_t expected = 0;
        if (!atomic_compare_exchange_strong(&own.area[i].start, &expected, (uintptr_t)at))
            continue;
        atomic_store(&own.area[i].end, (uintptr_t)at + align_up(bytes, PAGE_BYTES));
        uint32_t high = atomic_load(&own.high);
        while (high <= i && !atomic_compare_exchange_weak(&own.high, &high, i + 1))
            ;
        return true;
    }
    return false;
}

void os_note_own(const void *at, size_t bytes)
{
    note(at, bytes);
}

void os_forget_own(const void *at)
{
    for (uint32_t i = 0; i < atomic_load(&own.high); i++)
        if (atomic_load(&own.area[i].start) == (uintptr_t)at) {
            atomic_store(&own.area[i].end, 0);
            atomic_store(&own.area[i].start, 0);
            return;
        }
}

/*
 * Remove [start, end) from an entry.  The part above `end` is recorded before the entry is cut, so
 * readers never miss memory that stays the runtime's.
 */
static bool cut(uint32_t i, uintptr_t start, uintptr_t end)
{
    uintptr_t s = atomic_load(&own.area[i].start), e = atomic_load(&own.area[i].end);
    if (!s || e <= start || s >= end)
        return true;
    if (s < start && e > end && !note((const void *)end, e - end))
        return false;
    if (s < start) {
        atomic_store(&own.area[i].end, start);
    } else if (e > end) {
        atomic_store(&own.area[i].start, end);
    } else {
        atomic_store(&own.area[i].end, 0);
        atomic_store(&own.area[i].start, 0);
    }
    return true;
}

bool os_disown(uintptr_t start, uintptr_t end)
{
    bool done = true;
    for (uint32_t i = 0; done && i < atomic_load(&own.high); i++)
        done = cut(i, start, end);
    return done;
}

void os_next_own(uintptr_t at, uintptr_t *start, uintptr_t *end)
{
    *start = *end = UINTPTR_MAX;
    for (uint32_t i = 0; i < atomic_load(&own.high); i++) {
        uintptr_t s = atomic_load(&own.area[i].start), e = atomic_load(&own.area[i].end);
        if (!s || e <= at || s >= *start)
            continue;
        *start = s > at ? s : at;
        *end = e;
    }
}
