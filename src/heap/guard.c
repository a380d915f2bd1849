/*
 * guard.c - guarded blocks, each in units without other blocks.
 *
 *  first unit | guard page | pages of the block ... | guard pages up to the end of the units |
 *             0          4096           4096 * (1 + pages)
 *
 * The block ends with its pages, up to its alignment, or begins with them.  In all other respects it
 * is a large block: its record, its lead and its units are found as those of large.c.
 *
 * Linux 6.13 and later mark pages as guards (MADV_GUARD_INSTALL) without a mapping of their own, so
 * a million guarded blocks lie in one mapping.  Older kernels need mprotect, and two mappings for
 * each block in use.  vm.max_map_count limits those of a process to 65,530 in general; a quarter of
 * them is used here, and further blocks are not guarded.
 *
 * Freed blocks wait in a FIFO of FREED_UNITS_MAX units.  They cost no memory but page tables, so they
 * stay inaccessible much longer than blocks in the quarantine of their thread.  Then runs of one unit
 * join a list of vacant units: these stay guards, and keep their records.  A new block costs them one
 * system call, and its free another.  Longer runs return to the free runs of units.c.
 *
 * Units that a program must be notified of (pending.c) cannot change their pages silently.  So no
 * block is guarded while the program watches the heap, and freed ones are left open.
 *
 * Lock: `guards.lock` (RANK_GUARDS); then those of units.c, copy.c and large.c's records.  Pages
 * change without it: the units of a block belong to the thread that allocates or frees it.
 */
#include "guard.h"
#include "heap_priv.h"

#define FREED_UNITS_MAX 65536u
#define FREED_SHARE 16u /* of a small heap: part of its address space */
#define UNITS_SHARE 4u  /* of the address space, for all guarded blocks */
#define BATCH_UNITS 32u /* 2 MiB: their guards are in one page table */
#define MALLOC_ALIGN (GUARD_GAP_ALIGNED + 1)
#define MAPPINGS_SHARE 4u
#define MAPPINGS_PER_BLOCK 2u
#define MAPPINGS_USUAL 65530u

static struct {
    struct lock lock;
    uint32_t vacant; /* list of single units without a block, by unit_note.next; 0: end */
    uint32_t oldest,
        newest; /* FIFO of the head units of freed blocks, by unit_note.next; 0: none */
    uint32_t freed_units;
    uint64_t units; /* in use here, with and without a block */
    enum { WAY_UNKNOWN, WAY_ADVICE, WAY_PROTECTION } way;
    uint32_t most;         /* blocks in use, by mprotect; 0: not known yet */
    _Atomic uint32_t live; /* runs with accessible pages */
    _Atomic bool is_off;   /* faults are no longer handled */
} guards = {.lock = LOCK_INIT(RANK_GUARDS)};

#define ACCESSIBLE (GUARD_DATA | GUARD_OPEN)

static void set_bits(struct unit *u, uint32_t bits)
{
    uint32_t before =
        atomic_exchange_explicit(&note_of(u)->guard, (uint8_t)bits, memory_order_relaxed);
    if (bits & ACCESSIBLE && !(before & ACCESSIBLE))
        atomic_fetch_add_explicit(&guards.live, 1, memory_order_relaxed);
    else if (before & ACCESSIBLE && !(bits & ACCESSIBLE))
        atomic_fetch_sub_explicit(&guards.live, 1, memory_order_relaxed);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static bool close_pages(uintptr_t at, uint64_t bytes)
{
    if (guards.way == WAY_ADVICE)
        return os_guard((void *)at, bytes) == 0;
    if (!heap_in_file() && os_release((void *)at, bytes))
        return false;
    return os_protect((void *)at, bytes, 0) == 0;
}

static bool open_pages(uintptr_t at, uint64_t bytes)
{
    if (guards.way == WAY_ADVICE)
        return os_unguard((void *)at, bytes) == 0;
    return os_allow((void *)at, bytes) == 0;
}

static uintptr_t data_start(const struct unit *head)
{
    return unit_address(head) + PAGE_BYTES;
}

static uint64_t data_bytes(const struct unit *head)
{
    return (uint64_t)note_of(head)->pages * PAGE_BYTES;
}

static bool close_units(struct unit *first, uint64_t n)
{
    return close_pages(unit_address(first), n << RTC_UNIT_SHIFT);
}

/* The first guards of this process decide how all are made. */
static bool close_first_units(struct unit *first, uint64_t n)
{
    if (guards.way != WAY_UNKNOWN)
        return close_units(first, n);
    guards.way = WAY_ADVICE;
    if (os_has(OS_GUARD_PAGES) && close_units(first, n))
        return true;
    os_mark_missing(OS_GUARD_PAGES);
    guards.way = WAY_PROTECTION;
    return close_units(first, n);
}

/* ---- the limit of mappings ------------------------------------------------------------------- */

static uint32_t mappings_allowed(void)
{
    char text[24];
    const char *digits = text;
    uint64_t n;
    bool known = os_read_text("/proc/sys/vm/max_map_count", text, sizeof text) > 0 &&
                 text_parse_decimal(&digits, &n);
    n = known && n < UINT32_MAX ? n : MAPPINGS_USUAL;
    return (uint32_t)n / MAPPINGS_SHARE / MAPPINGS_PER_BLOCK + 1;
}

static bool may_take_more(void)
{
    if (guards.way != WAY_PROTECTION)
        return true;
    if (!guards.most)
        guards.most = mappings_allowed();
    if (atomic_load_explicit(&guards.live, memory_order_relaxed) < guards.most)
        return true;
    image_flag(IMAGE_GUARDS_BOUNDED);
    return false;
}

/* ---- units ----------------------------------------------------------------------------------- */

static uint64_t space_units(void)
{
    return (heap_space_end() - heap.base) >> RTC_UNIT_SHIFT;
}

static void set_all_bits(struct unit *first, uint64_t n, uint32_t bits)
{
    for (uint64_t i = 0; i < n; i++)
        set_bits(first + i, bits);
}

static void add_vacant(struct unit *u)
{
    note_of(u)->next = guards.vacant;
    guards.vacant = unit_number(u);
}

/* Take a run from units.c and make guards of it.  NULL: no memory.  Caller holds the lock. */
static struct unit *make_run(uint64_t n)
{
    bool clean;
    struct unit *run =
        guards.units + n <= space_units() / UNITS_SHARE ? units_take(n, 1, &clean) : NULL;
    if (!run)
        return NULL;
    if (close_first_units(run, n)) {
        guards.units += n;
        set_all_bits(run, n, GUARD_UNIT);
        return run;
    }
    open_pages(unit_address(run), n << RTC_UNIT_SHIFT);
    units_give(run, n, !clean);
    return NULL;
}

/* Return a run without a block.  Caller holds the lock. */
static void dissolve(struct unit *run, uint64_t n)
{
    bool is_open = guard_bits(run) & GUARD_OPEN;
    if (!is_open && !open_pages(unit_address(run), n << RTC_UNIT_SHIFT))
        return; /* it stays inaccessible, and is not used again */
    set_all_bits(run, n, 0);
    guards.units -= n;
    units_give(run, n, is_open || heap_in_file());
}

static uint64_t freed_max(void)
{
    uint64_t share = space_units() / FREED_SHARE;
    return share < FREED_UNITS_MAX ? share : FREED_UNITS_MAX;
}

static void make_batch(void)
{
    uint64_t share = freed_max() / BATCH_UNITS, n = share < BATCH_UNITS ? share + 1 : BATCH_UNITS;
    struct unit *run = make_run(n);
    for (uint64_t i = 0; run && i < n; i++) {
        run[n - 1 - i].back = 0;
        add_vacant(run + n - 1 - i);
    }
}

/* Take the record that a vacant unit has kept, if this image still may write it. */
static struct large_record *kept_record(struct unit *u)
{
    struct large_record *r = owner_pointer(atomic_load_explicit(&u->owner, memory_order_relaxed));
    uint32_t epoch = atomic_load_explicit(&u->epoch, memory_order_relaxed);
    atomic_store_explicit(&u->owner, 0, memory_order_relaxed);
    if (!r || epoch == fork_epoch())
        return r;
    fork_retire_large(r, epoch);
    return NULL;
}

static struct unit *take_vacant(struct large_record **r)
{
    if (!guards.vacant)
        make_batch();
    if (!guards.vacant)
        return NULL;
    struct unit *u = heap.unit + guards.vacant;
    guards.vacant = note_of(u)->next;
    *r = kept_record(u);
    return u;
}

static struct unit *take_run(uint64_t n, struct large_record **r)
{
    *r = NULL;
    lock_take(&guards.lock);
    struct unit *run = !may_take_more() ? NULL : n == 1 ? take_vacant(r) : make_run(n);
    lock_drop(&guards.lock);
    return run;
}

static void give_run(struct unit *run, uint64_t n)
{
    lock_take(&guards.lock);
    if (n == 1)
        add_vacant(run);
    else
        dissolve(run, n);
    lock_drop(&guards.lock);
}

static bool is_off(void)
{
    return atomic_load_explicit(&guards.is_off, memory_order_relaxed);
}

static bool must_stay_open(void)
{
    return is_off() || heap_is_watched();
}

/* ---- allocation ------------------------------------------------------------------------------ */

/* Bytes from the block's start to the guard page after it: as aligned as the gap allows. */
static uint64_t bytes_to_guard(size_t request, size_t align, struct guard_place place)
{
    uint64_t step = align < MALLOC_ALIGN ? MALLOC_ALIGN : align;
    while (step > 1 && step <= MALLOC_ALIGN && align_up(request, step) - request > place.gap)
        step /= 2;
    return align_up(request, step);
}

/* Returns the number of units. */
static uint64_t shape_of(size_t request, size_t align, struct guard_place place, uint64_t *bytes,
                         uint64_t *lead)
{
    uint64_t used = bytes_to_guard(request, align, place);
    *bytes = align_up(used ? used : 1, PAGE_BYTES);
    *lead = PAGE_BYTES + (place.edge == GUARD_EDGE_END ? *bytes - used : 0);
    return align_up(*bytes + 2 * PAGE_BYTES, UNIT_BYTES) >> RTC_UNIT_SHIFT;
}

/* A fault may have opened a vacant unit. */
static bool open_data(struct unit *head, uint64_t n, uint64_t bytes)
{
    if (guard_bits(head) & GUARD_OPEN && !close_units(head, n))
        return false;
    return open_pages(data_start(head), bytes);
}

void *guard_take(size_t request, size_t align, struct guard_place place, bool *clean,
                 struct found *f)
{
    struct large_record *r;
    uint64_t bytes, lead;
    if (request > GUARD_BYTES_MAX || align >= PAGE_BYTES || must_stay_open())
        return NULL;
    uint64_t units = shape_of(request, align, place, &bytes, &lead);
    struct unit *head = take_run(units, &r);
    if (!head)
        return NULL;
    if ((!r && !(r = large_record_take())) || !open_data(head, units, bytes)) {
        if (r)
            large_record_vacate(r);
        give_run(head, units);
        return NULL;
    }
    note_of(head)->pages = (uint32_t)(bytes / PAGE_BYTES);
    set_bits(head, GUARD_UNIT | GUARD_DATA);
    *clean = !heap_in_file();
    r->units = units;
    large_enter(head, r, lead, request, f);
    return (void *)large_start_of(head);
}

/* ---- free ------------------------------------------------------------------------------------ */

/* Caller holds the lock. */
static void add_freed(struct unit *head)
{
    note_of(head)->next = 0;
    if (guards.newest)
        note_of(heap.unit + guards.newest)->next = unit_number(head);
    else
        guards.oldest = unit_number(head);
    guards.newest = unit_number(head);
    guards.freed_units += note_of(head)->units;
}

/* Evict the oldest block.  Caller holds the lock. */
static void evict_oldest(void)
{
    struct unit *head = heap.unit + guards.oldest;
    guards.oldest = note_of(head)->next;
    guards.newest = guards.oldest ? guards.newest : 0;
    struct large_record *r =
        owner_pointer(atomic_load_explicit(&head->owner, memory_order_relaxed));
    uint32_t epoch = atomic_load_explicit(&head->epoch, memory_order_relaxed);
    uint32_t n = note_of(head)->units;
    bool keeps = n == 1 && epoch == fork_epoch();
    guards.freed_units -= n;
    /* The record may be reused at once: no lookup may reach it by these units. */
    atomic_store_explicit(&head->owner, keeps ? owner_of(UNIT_NONE, (uintptr_t)r) : 0,
                          memory_order_release); /* pairs with pool_find */
    if (keeps)
        large_record_clear(r);
    else if (epoch == fork_epoch())
        large_record_vacate(r);
    else
        fork_retire_large(r, epoch);
    if (guard_bits(head) & GUARD_OPEN && heap_is_watched())
        return; /* its pages can neither be released nor used */
    if (n == 1 && !is_off())
        add_vacant(head);
    else
        dissolve(head, n);
}

bool guard_is_guarded(const struct found *f)
{
    return f->kind == UNIT_LARGE && guard_bits(f->head);
}

static bool close_freed(struct unit *head)
{
    if (must_stay_open())
        return false;
    if (guard_bits(head) & (GUARD_OPEN | GUARD_OPEN_BEFORE | GUARD_OPEN_AFTER))
        return close_units(head, note_of(head)->units);
    return close_pages(data_start(head), data_bytes(head));
}

void guard_give(const struct found *f)
{
    struct unit *head = f->head;
    set_bits(head, close_freed(head) ? GUARD_UNIT : GUARD_UNIT | GUARD_OPEN);
    lock_take(&guards.lock);
    add_freed(head);
    while (guards.freed_units > freed_max())
        evict_oldest();
    lock_drop(&guards.lock);
}

bool guard_evict_all(void)
{
    lock_take(&guards.lock);
    bool any = guards.oldest || guards.vacant;
    while (guards.oldest)
        evict_oldest();
    while (guards.vacant) {
        struct unit *u = heap.unit + guards.vacant;
        guards.vacant = note_of(u)->next;
        struct large_record *r = kept_record(u);
        if (r)
            large_record_vacate(r);
        dissolve(u, 1);
    }
    lock_drop(&guards.lock);
    return any;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* The head of the guarded units that contain the address; NULL: none. */
static struct unit *head_around(uintptr_t at)
{
    uint64_t offset = at - heap.base;
    if (offset >= atomic_load_explicit(&heap.bytes, memory_order_acquire))
        return NULL;
    struct unit *u = heap.unit + (offset >> RTC_UNIT_SHIFT);
    return guard_bits(u) ? u - u->back : NULL;
}

/* The bits of which one is set if the address is accessible. */
static uint32_t open_bits(const struct unit *head, uintptr_t at)
{
    if (!(guard_bits(head) & GUARD_DATA))
        return GUARD_OPEN;
    return GUARD_OPEN | (at < data_start(head) ? GUARD_OPEN_BEFORE : GUARD_OPEN_AFTER);
}

enum guard_state guard_state_of(uintptr_t at)
{
    struct unit *head = head_around(at);
    uint32_t bits = head ? guard_bits(head) : 0;
    if (!bits || (bits & GUARD_DATA && at - data_start(head) < data_bytes(head)))
        return GUARD_NONE;
    return bits & open_bits(head, at) ? GUARD_OPENED : GUARD_CLOSED;
}

bool guard_is_misaligned(uintptr_t at)
{
    struct unit *head = head_around(at);
    return head && note_of(head)->lead % MALLOC_ALIGN;
}

static uint64_t units_of(const struct unit *head)
{
    uint32_t kind = owner_kind(atomic_load_explicit(&head->owner, memory_order_relaxed));
    return kind == UNIT_LARGE ? note_of(head)->units : 1;
}

/* The pages around the address that have the same bit. */
static void open_part(struct unit *head, uintptr_t at, uint32_t bit)
{
    uintptr_t start = unit_address(head), end = start + (units_of(head) << RTC_UNIT_SHIFT);
    if (bit == GUARD_OPEN_BEFORE)
        end = data_start(head);
    else if (bit == GUARD_OPEN_AFTER)
        start = data_start(head) + data_bytes(head);
    if (at - start < end - start && open_pages(start, end - start))
        set_bits(head, guard_bits(head) | bit);
}

void guard_open(uintptr_t at)
{
    struct unit *head = head_around(at);
    if (!head || guard_bits(head) & open_bits(head, at))
        return;
    uint32_t side = open_bits(head, at) & ~GUARD_OPEN;
    open_part(head, at, side ? side : GUARD_OPEN);
}

static void each_run(void (*visit)(struct unit *head))
{
    uint64_t end = atomic_load_explicit(&heap.bytes, memory_order_acquire) >> RTC_UNIT_SHIFT;
    for (uint64_t i = 1; i < end; i++)
        if (guard_bits(heap.unit + i) && !heap.unit[i].back)
            visit(heap.unit + i);
}

static void open_run(struct unit *head)
{
    if (!(guard_bits(head) & GUARD_OPEN))
        open_part(head, unit_address(head), GUARD_OPEN);
}

void guard_open_all(void)
{
    atomic_store_explicit(&guards.is_off, true, memory_order_relaxed);
    each_run(open_run);
}

/* ---- forks ----------------------------------------------------------------------------------- */

void guard_after_fork(bool trusted)
{
    lock_reset(&guards.lock);
    if (trusted)
        return;
    /* Lists may have been copied half-linked: their units stay inaccessible. */
    guards.vacant = 0;
    guards.oldest = guards.newest = guards.freed_units = 0;
}

struct heap_part guard_accessible(const struct unit *u)
{
    uint64_t at = (uint64_t)(u - heap.unit) << RTC_UNIT_SHIFT, data = at + PAGE_BYTES;
    uint32_t bits = guard_bits(u);
    if (u->back || !(bits & ACCESSIBLE))
        return (struct heap_part){at, at};
    /* with GUARD_OPEN else writes past the block are lost */
    return bits & GUARD_OPEN ? (struct heap_part){at, at + (units_of(u) << RTC_UNIT_SHIFT)}
                             : (struct heap_part){data, data + data_bytes(u)};
}

static void restore_run(struct unit *head)
{
    uint32_t bits = guard_bits(head);
    uintptr_t start = unit_address(head), end = start + (units_of(head) << RTC_UNIT_SHIFT),
              after = data_start(head) + data_bytes(head);
    if (bits & GUARD_OPEN)
        return;
    if (!(bits & GUARD_DATA)) {
        close_pages(start, end - start);
        return;
    }
    close_pages(start, PAGE_BYTES);
    close_pages(after, end - after);
    set_bits(head, GUARD_UNIT | GUARD_DATA);
}

void guard_restore(void)
{
    each_run(restore_run);
}
