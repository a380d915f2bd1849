/*
 * large.c - large blocks: 32 KiB and more, in units of their own.
 *
 * Their records are items of SEGMENT_LARGE segments, with a free list.  Freed blocks stay in a FIFO
 * quarantine shared by all threads.  Small ones (up to RESIDENT_MAX) keep their pages and the fill.
 * The pages of larger ones are released at once, and only the address is kept from reuse, so that a
 * double free finds its record.  If the program must be notified before pages are released, the
 * block is *pending* before it enters the FIFO (sync/notice.c).
 *
 *  first unit | lead: left redzone at its end | requested ......... | right redzone  |  last unit
 *             0                             lead              lead + request
 *
 * The lead is as small as the alignment allows, so that the left redzone shares its page with the
 * block's first bytes.  A block that the program never writes has two resident pages, those of its
 * redzones; in glibc it has one, that of the header.  Huge pages are advised only in blocks of
 * HUGE_FROM_BYTES and more, from the first huge page without redzone to the last.  At most
 * HUGE_BLOCKS_MAX blocks have them, because each splits the heap's mapping in three.
 *
 * Locks: `lock` (RANK_LARGE), then those of units.c and copy.c, then `records_lock` (RANK_RECORDS),
 * then that of segment.c.
 */
#include "byte_shadow.h"
#include "heap_priv.h"

#include <string.h>

#define LARGE_CHUNK 63u                    /* with the segment header: one page */
#define QUARANTINED_MAX 64u                /* maximum of blocks in the FIFO */
#define QUARANTINED_BYTES_MAX (4ull << 20) /* maximum of resident bytes */
#define RESIDENT_MAX (1ull << 20)
#define LEAD_BYTES 64u /* a cache line: large blocks are aligned to one, as slabs are */
#define HUGE_FROM_BYTES (4ull << 20)
#define HUGE_BLOCKS_MAX 512u

enum { RELEASED = 1, REPORTED = 2 };

static struct {
    struct lock lock; /* of the FIFO */
    struct lock records_lock;
    struct large_record *vacant[512]; /* stack of free records */
    uint32_t vacant_count;
    uint64_t next_chunk;
    struct quarantined {
        struct unit *head;
        /* RELEASED: the pages were released and read as zero; REPORTED: as released */
        uint8_t pages;
    } quarantined[QUARANTINED_MAX];
    uint32_t head, tail;        /* FIFO: head leaves next */
    uint64_t quarantined_bytes; /* resident */
    _Atomic uint32_t huge_blocks;
} large = {.lock = LOCK_INIT(RANK_LARGE), .records_lock = LOCK_INIT(RANK_RECORDS)};

/* ---- records --------------------------------------------------------------------------------- */

static bool more_records(void)
{
    struct segment *s =
        segment_take(SEGMENT_LARGE, LARGE_CHUNK, sizeof(struct large_record), large.next_chunk++);
    if (!s)
        return false;
    atomic_store_explicit(&s->count, LARGE_CHUNK, memory_order_relaxed);
    segment_publish(s);
    struct large_record *item = segment_items(s);
    for (uint32_t i = LARGE_CHUNK; i-- > 0;)
        large.vacant[large.vacant_count++] = item + i;
    return true;
}

struct large_record *large_record_take(void)
{
    lock_take(&large.records_lock);
    bool any = large.vacant_count || more_records();
    struct large_record *r = any ? large.vacant[--large.vacant_count] : NULL;
    lock_drop(&large.records_lock);
    return r;
}

void large_start(void)
{
    lock_take(&large.records_lock);
    /* while there is memory: later a block may need a record when there is none */
    more_records();
    lock_drop(&large.records_lock);
}

void large_record_clear(struct large_record *r)
{
    uint64_t word = atomic_load_explicit(&r->block.word, memory_order_relaxed);
    /* the generation is kept: it distinguishes the slot's lifetimes */
    atomic_store_explicit(&r->block.word, word & (uint64_t)BLOCK_GEN_MASK << BLOCK_GEN_SHIFT,
                          memory_order_release);
    atomic_store_explicit(&r->superseded, 0, memory_order_relaxed);
}

void large_record_vacate(struct large_record *r)
{
    lock_take(&large.records_lock);
    large_record_clear(r);
    /* else the record is not reused */
    if (large.vacant_count < countof(large.vacant) - LARGE_CHUNK)
        large.vacant[large.vacant_count++] = r;
    lock_drop(&large.records_lock);
}

struct large_record *large_record_copy(const struct unit *head, const struct large_record *from)
{
    struct large_record *to = large_record_take();
    if (!to)
        return NULL;
    to->unit = unit_number(head);
    to->units = note_of(head)->units;
    to->lead = note_of(head)->lead;
    to->epoch = fork_epoch();
    to->request = atomic_load((_Atomic uint64_t *)(uintptr_t)&from->request);
    block_copy(&to->block, &from->block, 1, sizeof *to, false);
    return to;
}

void large_record_distrust(struct large_record *r)
{
    r->request = large_room(heap.unit + r->unit);
    block_distrust(&r->block, 1, sizeof *r);
}

/* ---- allocation ------------------------------------------------------------------------------ */

uint64_t large_room(const struct unit *head)
{
    /* a guard page takes the place of the redzone */
    return large_end_byte(head) - note_of(head)->lead - (guard_bits(head) ? 0 : 1);
}

static void set_units(struct unit *head, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        head[i].back = (uint32_t)i;
        atomic_store_explicit(&head[i].owner, 0, memory_order_relaxed);
    }
}

static uint64_t lead_for(size_t align)
{
    /* for larger alignments the units in front are returned */
    uint64_t lead = align < UNIT_BYTES ? align : UNIT_BYTES;
    uint64_t least = align_up(pool_knobs.redzone_bytes, LEAD_BYTES);
    return align_up(least, lead < LEAD_BYTES ? LEAD_BYTES : lead);
}

static uint64_t units_for(uint64_t request, uint64_t lead)
{
    return ((lead + request + pool_knobs.redzone_bytes - 1) >> RTC_UNIT_SHIFT) + 1;
}

uintptr_t large_start_of(const struct unit *head)
{
    return unit_address(head) + note_of(head)->lead;
}

/* Take n units; the second starts at a multiple of `align` units. */
static struct unit *take_with_lead(uint64_t n, uint64_t align, bool *clean)
{
    uint64_t most;
    struct unit *run = checked_add(n, align, &most) ? units_take_unpopulated(most, clean) : NULL;
    if (!run)
        return NULL;
    uintptr_t second = unit_address(run) + UNIT_BYTES;
    uint64_t front = (align_up(second, align * UNIT_BYTES) - second) >> RTC_UNIT_SHIFT;
    if (front)
        units_give(run, front, !*clean);
    units_give(run + front + n, align - front, !*clean);
    return units_populate(run + front, n, *clean) ? run + front : NULL;
}

static struct unit *take_units(uint64_t n, size_t align, bool *clean)
{
    if (likely(align <= UNIT_BYTES))
        return units_take(n, 1, clean);
    return take_with_lead(n, align >> RTC_UNIT_SHIFT, clean);
}

static void huge_begin(struct unit *head, uint64_t request)
{
    uintptr_t start = large_start_of(head), from = align_up(start, HUGE_PAGE_BYTES);
    uintptr_t to = align_down(start + request, HUGE_PAGE_BYTES);
    struct unit_note *note = note_of(head);
    if (likely(request < HUGE_FROM_BYTES) || from >= to || note->huge || !space_has_huge())
        return;
    if (atomic_fetch_add_explicit(&large.huge_blocks, 1, memory_order_relaxed) < HUGE_BLOCKS_MAX) {
        os_huge((void *)from, to - from);
        note->advised = true;
        return;
    }
    atomic_fetch_sub_explicit(&large.huge_blocks, 1, memory_order_relaxed);
}

static void huge_end(struct unit *head, uint64_t units)
{
    struct unit_note *note = note_of(head);
    if (likely(!note->advised))
        return;
    os_no_huge((void *)unit_address(head), units << RTC_UNIT_SHIFT);
    note->advised = false;
    atomic_fetch_sub_explicit(&large.huge_blocks, 1, memory_order_relaxed);
}

void large_enter(struct unit *head, struct large_record *r, uint64_t lead, uint64_t request,
                 struct found *f)
{
    uint64_t units = r->units;
    r->unit = unit_number(head);
    r->lead = lead;
    r->epoch = fork_epoch();
    atomic_store_explicit(&r->request, request, memory_order_relaxed);
    set_units(head, 1, units);
    head->back = 0;
    note_of(head)->units = (uint32_t)units;
    note_of(head)->lead = (uint32_t)lead;
    if (likely(!guard_bits(head)))
        huge_begin(head, request);
    atomic_store_explicit(&head->epoch, (uint32_t)r->epoch, memory_order_relaxed);
    atomic_store_explicit(&head->owner, owner_of(UNIT_LARGE, (uintptr_t)r),
                          memory_order_release); /* pairs with pool_find */
    *f = (struct found){PTR_START, head, UNIT_LARGE, 0, 0};
    redzone_put_before_large(head);
    redzone_put_large(f, (void *)large_start_of(head), request);
    if (byte_shadow_is_on)
        byte_shadow_forbid((const void *)unit_address(head),
                           large_start_of(head) - unit_address(head), BYTE_SHADOW_REDZONE);
}

void *large_take(size_t request, size_t align, bool *clean, struct found *f)
{
    uint64_t lead = lead_for(align), n = units_for(request, lead);
    struct unit *head = take_units(n, align, clean);
    if (!head && (large_evict_all() || guard_evict_all()))
        head = take_units(n, align, clean);
    if (!head)
        return NULL;
    struct large_record *r = large_record_take();
    if (!r) {
        units_give(head, n, !*clean);
        return NULL;
    }
    r->units = n;
    large_enter(head, r, lead, request, f);
    return (void *)large_start_of(head);
}

/* ---- free ------------------------------------------------------------------------------------ */

static uint64_t resident_bytes(uint64_t units)
{
    uint64_t bytes = units << RTC_UNIT_SHIFT;
    return bytes <= RESIDENT_MAX ? bytes : 0;
}

/* Evict the oldest block of the FIFO.  Caller holds the lock. */
static void evict_oldest(void)
{
    struct quarantined *quarantined = &large.quarantined[large.head++ % QUARANTINED_MAX];
    struct unit *head = quarantined->head;
    struct large_record *r =
        owner_pointer(atomic_load_explicit(&head->owner, memory_order_relaxed));
    uint64_t n = note_of(head)->units;
    uint32_t epoch = atomic_load_explicit(&head->epoch, memory_order_relaxed);
    large.quarantined_bytes -= resident_bytes(n);
    huge_end(head, n);
    if (!(quarantined->pages & RELEASED))
        quarantine_check_large(head, r);
    /* The record may be reused at once: no lookup may reach it by these units. */
    atomic_store_explicit(&head->owner, 0, memory_order_release); /* pairs with pool_find */
    if (epoch == fork_epoch())
        large_record_vacate(r);
    else
        fork_retire_large(r, epoch);
    if (unlikely(quarantined->pages & REPORTED))
        units_put_back(head, n, quarantined->pages & RELEASED);
    else
        units_give(head, n, !quarantined->pages);
}

/* Position in the FIFO; its end: not there.  Caller holds the lock. */
static uint32_t position_in_fifo(const struct unit *head)
{
    uint32_t i = large.head;
    while (i != large.tail && large.quarantined[i % QUARANTINED_MAX].head != head)
        i++;
    return i;
}

bool large_is_held(const struct unit *head)
{
    lock_take(&large.lock);
    bool quarantined = position_in_fifo(head) != large.tail;
    lock_drop(&large.lock);
    return quarantined;
}

void large_drop(const struct unit *head)
{
    lock_take(&large.lock);
    uint32_t i = position_in_fifo(head);
    struct quarantined quarantined = large.quarantined[i % QUARANTINED_MAX];
    for (; i != large.head; i--)
        large.quarantined[i % QUARANTINED_MAX] = large.quarantined[(i - 1) % QUARANTINED_MAX];
    large.quarantined[i % QUARANTINED_MAX] = quarantined;
    evict_oldest();
    lock_drop(&large.lock);
}

uint64_t large_quarantined(void)
{
    /* a recent value */
    return __atomic_load_n(&large.quarantined_bytes, __ATOMIC_RELAXED);
}

bool large_is_filled(const struct unit *head)
{
    return !guard_bits(head) && note_of(head)->is_filled;
}

bool large_fills(const struct unit *head)
{
    uint64_t n = note_of(head)->units;
    note_of(head)->is_filled = resident_bytes(n) || !units_can_release(n);
    return large_is_filled(head);
}

ALWAYS_INLINE void keep(struct unit *head, uint64_t n, uint8_t pages)
{
    lock_take(&large.lock);
    large.quarantined[large.tail++ % QUARANTINED_MAX] = (struct quarantined){head, pages};
    large.quarantined_bytes += resident_bytes(n);
    while (large.tail - large.head == QUARANTINED_MAX ||
           (large.quarantined_bytes > QUARANTINED_BYTES_MAX && large.tail != large.head))
        evict_oldest();
    lock_drop(&large.lock);
}

void large_quarantine(struct unit *head, bool released)
{
    keep(head, note_of(head)->units, released ? REPORTED | RELEASED : REPORTED);
}

void large_give(const struct found *f)
{
    uint64_t n = note_of(f->head)->units;
    bool is_released = !large_is_filled(f->head);
    if (unlikely(is_released) && heap_is_watched())
        pending_add_block(f->head);
    else if (is_released && units_release(f->head, n))
        keep(f->head, n, RELEASED);
    else
        keep(f->head, n, 0);
}

bool large_evict_all(void)
{
    lock_take(&large.lock);
    bool any = large.head != large.tail;
    while (large.head != large.tail)
        evict_oldest();
    lock_drop(&large.lock);
    return any;
}

/*
 * Ordered so that the request fits the units at every moment: the process may be killed between the
 * stores.
 */
static void record_resize(struct large_record *r, uint64_t request, uint64_t units)
{
    if (units > r->units)
        __atomic_store_n(&r->units, units, __ATOMIC_RELEASE);
    atomic_store_explicit(&r->request, request, memory_order_release);
    __atomic_store_n(&r->units, units, __ATOMIC_RELEASE);
}

bool large_resize(const struct found *f, uint64_t request)
{
    struct large_record *r =
        owner_pointer(atomic_load_explicit(&f->head->owner, memory_order_relaxed));
    uint64_t have = note_of(f->head)->units, lead = note_of(f->head)->lead,
             want = units_for(request, lead);
    bool clean;
    if (guard_bits(f->head)) /* it moves, and the old pages become inaccessible */
        return false;
    if (want > have) {
        if (!units_take_at(f->head + have, want - have, &clean))
            return false;
        set_units(f->head, have, want);
    }
    huge_end(f->head, have);
    huge_begin(f->head, request);
    note_of(f->head)->units = (uint32_t)want;
    /* before the record changes: a sweep compares both */
    redzone_put_large(f, (void *)large_start_of(f->head), request);
    record_resize(r, request, want);
    if (want < have)
        units_give(f->head + want, have - want, true);
    return true;
}

/* ---- forks ----------------------------------------------------------------------------------- */

void large_after_fork(bool trusted)
{
    lock_reset(&large.lock);
    lock_reset(&large.records_lock);
    large.vacant_count = 0; /* the free records belong to the parent */
    if (trusted)
        return;
    large.head = large.tail = 0;
    large.quarantined_bytes = 0;
}
