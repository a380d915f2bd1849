/*
 * area.c - the areas of this image: claimed from the run, filled from front to back.
 *
 * An area is claimed by one compare-and-swap in the run's table: first a free one that was
 * reclaimed, else the next unused one.  Pages are populated in steps (READY_STEP) before the first
 * access, so a full file system is an error here and not a SIGBUS.  Callers hold the lock of
 * segment.c, except where only one thread runs.
 */
#include "runfile_priv.h"

#include <string.h>

#define READY_STEP (64u << 10)

static struct current_area {
    uint32_t area; /* 0 = none */
    char *base;    /* its mapping */
    uint64_t used, ready;
    uint64_t reserved; /* part of `ready` that is kept for findings: segment.c */
} current;

static struct {
    uint32_t area[RTC_AREA_COUNT_MAX];
    uint32_t count;
} claimed; /* all areas of this image, for a child to close */

/* ---- claiming -------------------------------------------------------------------------------- */

static bool try_claim(uint32_t index)
{
    struct area_entry *e = &run_areas()[index];
    uint64_t vacant = area_owner(AREA_FREE, 0);
    if (!atomic_compare_exchange_strong_explicit(&e->owner, &vacant,
                                                 area_owner(AREA_CLAIMED, image_number()),
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false; /* pairs with itself: one process wins */
    atomic_store_explicit(&e->pid, image_pid(), memory_order_relaxed);
    return true;
}

/*
 * Clear the pid first: until the next owner stores its pid, a stale pid could be taken for a dead
 * owner's.
 */
void area_free(struct area_entry *e)
{
    atomic_store_explicit(&e->pid, 0, memory_order_relaxed);
    atomic_store_explicit(&e->owner, area_owner(AREA_FREE, 0), memory_order_release);
}

/* 0 = none available. */
static uint32_t area_claim(void)
{
    struct run_header *run = run_header();
    uint32_t limit = run_is_cut() ? 0 : run_area_limit();
    uint32_t used = atomic_load_explicit(&run->next_area, memory_order_relaxed);
    for (uint32_t i = 1; i < used && i < limit; i++)
        if (!atomic_load_explicit(&run_areas()[i].owner, memory_order_relaxed) && try_claim(i))
            return i;
    while (used < limit) {
        uint32_t i = atomic_fetch_add_explicit(&run->next_area, 1, memory_order_relaxed);
        if (i < limit && try_claim(i))
            return i;
        used = i + 1;
    }
    return 0;
}

static uint32_t area_claim_hard(void)
{
    reclaim_if_crowded();
    uint32_t index = area_claim();
    if (!index) {
        reclaim_all();
        index = area_claim();
    }
    return index;
}

/* ---- filling --------------------------------------------------------------------------------- */

static bool populate_to(uint64_t end)
{
    _Atomic uint32_t *populated = &run_areas()[current.area].populated_bytes;
    char *at = current.base + current.ready;
    /*
     * Published before the pages exist: a process that reclaims the area must not miss any page.  A
     * failed attempt may have left pages beyond the end of a later, shorter one.
     */
    if (end > atomic_load_explicit(populated, memory_order_relaxed))
        atomic_store_explicit(populated, (uint32_t)end, memory_order_release);
    if (os_allow(at, end - current.ready) || os_populate(at, end - current.ready))
        return false;
    current.ready = end;
    return true;
}

/* Make the first `bytes` of the current area usable: ahead of need, or only what is needed. */
static bool ready_to(uint64_t bytes)
{
    if (bytes <= current.ready)
        return true;
    uint64_t grown = (current.ready - current.reserved) / 4;
    uint64_t step = grown > READY_STEP ? align_up(grown, READY_STEP) : READY_STEP;
    uint64_t want = align_up(bytes, READY_STEP);
    want = current.ready ? want + step - READY_STEP : want;
    if (want > run_header()->area_bytes)
        want = run_header()->area_bytes;
    return populate_to(want) || populate_to(align_up(bytes, PAGE_BYTES));
}

/* Without memory for its first page the area before stays current: there may be memory later. */
static bool area_open(uint32_t index, uint32_t previous, uint32_t ordinal)
{
    struct current_area before = current;
    current =
        (struct current_area){.area = index, .base = run_area(index), .used = RTC_AREA_HEAD_BYTES};
    if (!ready_to(RTC_AREA_HEAD_BYTES + (ordinal ? 0 : sizeof(struct image_header)))) {
        area_free(&run_areas()[index]);
        current = before;
        return false;
    }
    struct area_head *head = (struct area_head *)(void *)current.base;
    head->image = image_number();
    head->ordinal = ordinal;
    head->area = index;
    head->previous = previous;
    atomic_store_explicit(&head->used_bytes, current.used, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    head->magic = RTC_AREA_MAGIC;
    claimed.area[claimed.count++ % RTC_AREA_COUNT_MAX] = index;
    return true;
}

void *area_begin(uint32_t bytes)
{
    uint32_t index = area_claim_hard();
    if (!index || !area_open(index, 0, 0))
        return NULL;
    current.used = align_up(current.used + bytes, RTC_SEGMENT_ALIGN);
    return current.base + RTC_AREA_HEAD_BYTES;
}

void *area_append(uint32_t bytes)
{
    if (!current.area)
        return NULL;
    if (current.used + bytes > run_header()->area_bytes) {
        uint32_t index = area_claim_hard(), previous = current.area;
        if (!index || !area_open(index, previous, claimed.count))
            return NULL;
        notify_defer(self, NOTIFY_POOL_GROW);
    }
    if (!ready_to(current.used + bytes))
        return NULL;
    return current.base + current.used;
}

/*
 * If a signal handler leaves by siglongjmp before this call, the next append reuses the space:
 * readers could not find the end of the incomplete segment.
 */
void area_publish(uint32_t bytes)
{
    if (!current.area)
        return;
    atomic_signal_fence(memory_order_seq_cst);
    current.used += bytes;
    struct area_head *head = (struct area_head *)(void *)current.base;
    atomic_store_explicit(&head->used_bytes, current.used, memory_order_release);
}

void area_reserved(uint32_t bytes)
{
    current.reserved = bytes;
}

bool area_renew(void)
{
    uint32_t previous = current.area, index = previous ? area_claim_hard() : 0;
    return index && area_open(index, previous, claimed.count ? claimed.count : 1);
}

/* Of the current area; of one that lies higher in the file the first page is sufficient. */
const char *area_last_byte(void)
{
    uint32_t highest = current.area;
    for (uint32_t i = 0; i < claimed.count && i < RTC_AREA_COUNT_MAX; i++)
        highest = claimed.area[i] > highest ? claimed.area[i] : highest;
    return !highest                  ? NULL
           : highest == current.area ? current.base + current.ready - 1
                                     : run_area(highest);
}

void area_room(uint64_t *bytes, uint64_t *used)
{
    uint64_t each = current.area ? run_header()->area_bytes : 0;
    *bytes = claimed.count * each;
    /* the unused ends of earlier areas count as used */
    *used = each ? *bytes - each + current.used : 0;
}

/* ---- forks ----------------------------------------------------------------------------------- */

void areas_after_fork(void)
{
    for (uint32_t i = 0; i < claimed.count && i < RTC_AREA_COUNT_MAX; i++) {
        uint32_t index = claimed.area[i];
        uint32_t bytes = atomic_load(&run_areas()[index].populated_bytes);
        if (bytes)
            os_read_only(run_area(index), bytes);
    }
    claimed.count = 0;
    current.area = 0;
}

void areas_privatise(void)
{
    for (uint32_t i = 0; i < claimed.count && i < RTC_AREA_COUNT_MAX; i++) {
        uint32_t bytes = atomic_load(&run_areas()[claimed.area[i]].populated_bytes);
        char *at = run_area(claimed.area[i]), *copy = bytes ? os_map(bytes) : NULL;
        if (!copy || os_failed(copy))
            continue;
        memcpy(copy, at, bytes);
        if (!os_failed(os_replace(at, bytes)) && os_allow(at, bytes) == 0)
            memcpy(at, copy, bytes);
        os_unmap(copy, bytes);
    }
}
