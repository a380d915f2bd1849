/*
 * change.c - what each call does to the address space, told around the call.
 *
 * Before: what is about to go.  Then the native event, on whose way the call is made.  After: what
 * has come; or, when it failed, what of the announced has stayed.  The kernel does not promise
 * that a failure changes nothing - the place of MAP_FIXED and MREMAP_FIXED may be empty by then -,
 * so what has stayed is asked of /proc/self/maps.  That takes time, in calls that fail after
 * something was announced.
 *
 * The ranges are computed from what the caller gave.  A handler that changes its fields changes the
 * call, and has to know what that means for the others.
 */
#include "events_priv.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define HUGE_PAGE_BYTES (2ull << 20) /* x86-64's, where MAP_HUGETLB does not say */
#define INVALID_POINTER MAP_FAILED

/* ---- ranges --------------------------------------------------------------------------------- */

/* Between two values of the break. */
static struct range between(uintptr_t low, uintptr_t high)
{
    if (low >= high)
        return NO_RANGE;
    return (struct range){align_up(low, PAGE_BYTES), align_up(high, PAGE_BYTES)};
}

/* ---- aggregates ----------------------------------------------------------------------------- */

/* A call on its way: to who wants to hear of it, and into the map of what is mapped. */
struct change {
    struct visit visit;
    bool told, raw;
    struct mapped_call map;
};

ALWAYS_INLINE void begin(struct change *c, struct origin o)
{
    c->told = o.told;
    c->raw = o.raw;
    mapped_at(&c->map, o.at);
    if (unlikely(o.told))
        visit_begin(&c->visit);
}

ALWAYS_INLINE void end(struct change *c)
{
    mapped_end(&c->map);
    if (unlikely(c->told))
        visit_end(&c->visit);
}

ALWAYS_INLINE void tell(struct change *c, uint32_t type, struct range r)
{
    if (unlikely(c->told && r.start < r.end && c->visit.wanted & type))
        visit_tell_range(&c->visit, type, r);
}

ALWAYS_INLINE void mapped(struct change *c, struct range r)
{
    tell(c, RTC_EVENT_VM_MAPPED, r);
}

ALWAYS_INLINE void unmapped(struct change *c, struct range r)
{
    tell(c, RTC_EVENT_VM_UNMAPPED, r);
}

/* The same of what will not be mapped any more. */
ALWAYS_INLINE void going(struct change *c, struct range r)
{
    unmapped(c, r);
    mapped_take(&c->map, r.start, r.end);
}

static void cancelled(struct change *c, struct range r)
{
    tell(c, RTC_EVENT_VM_CANCELLED, r);
    mapped_stay(&c->map, r.start, r.end);
}

#define PIECES_MAX 32u

struct pieces {
    uint32_t count; /* PIECES_MAX: there may be more behind the last */
    struct range piece[PIECES_MAX];
};

static void add_piece(struct pieces *p, struct range r)
{
    if (p->count && p->piece[p->count - 1].end == r.start)
        p->piece[p->count - 1].end = r.end;
    else if (p->count < PIECES_MAX)
        p->piece[p->count++] = r;
}

/* What of r is mapped, and none of the runtime's; false: it cannot be asked. */
static bool find_pieces(struct range r, struct pieces *p)
{
    struct mappings all;
    struct mapping m;
    struct range piece;
    p->count = 0;
    if (r.start >= r.end)
        return true;
    if (os_mappings_open(&all))
        return false;
    while (os_mappings_next(&all, &m) && m.start < r.end) {
        struct range in = {m.start > r.start ? m.start : r.start, m.end < r.end ? m.end : r.end};
        for (uintptr_t at = 0; in.start < in.end && existing_theirs(in, &at, &piece);)
            add_piece(p, piece);
    }
    os_mappings_close(&all);
    return true;
}

/* The next pieces of r, which is shortened by them; false: there are none. */
static bool next_pieces(struct range *r, struct pieces *p)
{
    if (!find_pieces(*r, p) || !p->count)
        return false;
    r->start = p->count < PIECES_MAX ? r->end : p->piece[p->count - 1].end;
    return true;
}

/* All of it: it was, and the call has done nothing. */
static void all_stayed(struct change *c, struct range r)
{
    struct range piece;
    for (uintptr_t at = 0; existing_theirs(r, &at, &piece);)
        cancelled(c, piece);
}

/*
 * A call has failed: what of the announced range is mapped is what it was.  Programs try mremap before they move
 * themselves, and the list of what is mapped can be long: it is only read where there is a hole.
 */
static void stayed(struct change *c, struct range r)
{
    struct pieces p;
    if (!c->told && !c->map.count && !c->map.more)
        return; /* nobody has been told, and the map knows of nothing there */
    if (r.start < r.end && os_all_mapped(r.start, r.end - r.start)) {
        all_stayed(c, r);
        return;
    }
    if (!find_pieces(r, &p))
        cancelled(c, r);
    while (next_pieces(&r, &p))
        for (uint32_t i = 0; i < p.count; i++)
            cancelled(c, p.piece[i]);
}

/* ---- the calls themselves --------------------------------------------------------------------- */

static int lock_call(const union rtc_event *e)
{
    switch (e->mlock.call) {
    case RTC_EVENT_CALL_MLOCK: return NEXT(mlock)(e->mlock.address, e->mlock.size);
    case RTC_EVENT_CALL_MLOCK2:
        return NEXT(mlock2)(e->mlock.address, e->mlock.size, (unsigned)e->mlock.flags);
    case RTC_EVENT_CALL_MUNLOCK: return NEXT(munlock)(e->mlock.address, e->mlock.size);
    case RTC_EVENT_CALL_MLOCKALL: return NEXT(mlockall)(e->mlock.flags);
    case RTC_EVENT_CALL_MUNLOCKALL: return NEXT(munlockall)();
    }
    errno = EINVAL; /* a handler's */
    return -1;
}

static int protect_call(const union rtc_event *e)
{
    return e->mprotect.pkey < 0 ? NEXT(mprotect)(e->mprotect.address, e->mprotect.size, e->mprotect.prot)
                                : NEXT(pkey_mprotect)(e->mprotect.address, e->mprotect.size,
                                                      e->mprotect.prot, e->mprotect.pkey);
}

ALWAYS_INLINE void *call_for_pointer(uint32_t type, const union rtc_event *e)
{
    switch (type) {
    case RTC_EVENT_MMAP:
        return NEXT(mmap)(e->mmap.address, e->mmap.size, e->mmap.prot, e->mmap.flags, e->mmap.fd,
                          e->mmap.offset);
    case RTC_EVENT_MREMAP:
        return NEXT(mremap)(e->mremap.address, e->mremap.old_size, e->mremap.new_size,
                            e->mremap.flags, e->mremap.new_address);
    case RTC_EVENT_SHMAT: return NEXT(shmat)(e->shmat.shmid, e->shmat.shmaddr, e->shmat.shmflg);
    default: return NEXT(sbrk)(e->sbrk.increment);
    }
}

void *pointer_call(uint32_t type, const union rtc_event *e)
{
    return call_for_pointer(type, e);
}

ALWAYS_INLINE int status_call(uint32_t type, const union rtc_event *e)
{
    switch (type) {
    case RTC_EVENT_MUNMAP: return NEXT(munmap)(e->munmap.address, e->munmap.size);
    case RTC_EVENT_SHMDT: return NEXT(shmdt)(e->shmdt.shmaddr);
    case RTC_EVENT_BRK: return NEXT(brk)(e->brk.addr);
    case RTC_EVENT_MADVISE:
        return NEXT(madvise)(e->madvise.addr, e->madvise.length, e->madvise.advice);
    case RTC_EVENT_MPROTECT: return protect_call(e);
    case RTC_EVENT_MLOCK: return lock_call(e);
    case RTC_EVENT_MSYNC: return NEXT(msync)(e->msync.address, e->msync.size, e->msync.flags);
    default:
        return NEXT(remap_file_pages)(e->remap_file_pages.address, e->remap_file_pages.size,
                                      e->remap_file_pages.prot, e->remap_file_pages.pgoff,
                                      e->remap_file_pages.flags);
    }
}

#define POINTER_RESULTS                                                                      \
    (RTC_EVENT_MMAP | RTC_EVENT_MREMAP | RTC_EVENT_SHMAT | RTC_EVENT_SBRK)

/* Results begin every member: they are reached through the first of each kind. */
ALWAYS_INLINE void call(uint32_t type, union rtc_event *e)
{
    if (type & POINTER_RESULTS) {
        if (e->mmap.result == INVALID_POINTER)
            e->mmap.result = call_for_pointer(type, e);
    } else if (e->munmap.result == -1)
        e->munmap.result = status_call(type, e);
}

static void original_raw(uint32_t type, union rtc_event *e)
{
    if (type & POINTER_RESULTS) {
        if (e->mmap.result == INVALID_POINTER)
            e->mmap.result = (void *)raw_call(type, e);
    } else if (e->munmap.result == -1)
        e->munmap.result = (int)raw_call(type, e);
}

static void original(uint32_t type, union rtc_event *e)
{
    /* Where a type has these two they stand where those of munmap do. */
    struct making outer = making_begin(type, (uintptr_t)e->munmap.address, e->munmap.size);
    call(type, e);
    making = outer;
}

/* Of a type that the compiler knows. */
ALWAYS_INLINE void make_call(struct change *c, uint32_t type, union rtc_event *e)
{
    if (unlikely(c->told))
        visit_before(&c->visit, type, e);
    if (likely(!dispatch_is_on))
        call(type, e);
    else if (c->raw)
        original_raw(type, e);
    else
        original(type, e);
    if (unlikely(c->told))
        visit_behind(&c->visit, type, e);
}

/* ---- mmap, munmap, mremap ---------------------------------------------------------------------- */

static uint64_t page_unit(int flags)
{
    uint32_t shift = (uint32_t)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    if (!(flags & MAP_HUGETLB))
        return PAGE_BYTES;
    return shift ? 1ull << shift : HUGE_PAGE_BYTES;
}

void *change_map(struct origin o, union rtc_event *e)
{
    struct change c;
    size_t size = e->mmap.size;
    int flags = e->mmap.flags;
    struct range over = NO_RANGE;
    begin(&c, o);
    if (flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE) && e->mmap.address) {
        over = range_in((uintptr_t)e->mmap.address, e->mmap.size, page_unit(flags));
        going(&c, over);
    }
    mapped_begin(&c.map);
    make_call(&c, RTC_EVENT_MMAP, e);
    if (e->mmap.result != INVALID_POINTER) {
        struct range come = range_in((uintptr_t)e->mmap.result, e->mmap.size, page_unit(e->mmap.flags));
        struct map_region r = region_of_call(come, e->mmap.prot, e->mmap.flags, e->mmap.offset);
        mapped_new(&c.map, &r);
        if (unlikely(c.told))
            mapped(&c, range_in((uintptr_t)e->mmap.result, size, page_unit(flags)));
    } else
        stayed(&c, over);
    end(&c);
    return e->mmap.result;
}

/* Performed, as by a handler.  0, or why not all is gone. */
static int unmap_around_ours(union rtc_event *e, struct range gone)
{
    struct range piece;
    e->munmap.result = 0;
    for (uintptr_t at = 0; existing_theirs(gone, &at, &piece);)
        if (MAKING(RTC_EVENT_MUNMAP, piece.start, piece.end - piece.start,
                   NEXT(munmap)((void *)piece.start, piece.end - piece.start)) != 0)
            return errno;
    return 0;
}

static int unmap_taken(struct change *c, void *address, size_t size, struct range gone)
{
    union rtc_event e = {.munmap = {-1, address, size}};
    int err = unmap_has_ours(&c->map, gone.start, gone.end) ? unmap_around_ours(&e, gone) : 0;
    make_call(c, RTC_EVENT_MUNMAP, &e);
    if (unlikely(err)) {
        e.munmap.result = -1;
        errno = err;
    }
    if (unlikely(e.munmap.result == -1))
        stayed(c, gone);
    mapped_gone(&c->map, e.munmap.result != -1);
    end(c);
    return e.munmap.result;
}

int change_unmap(struct origin o, void *address, size_t size)
{
    struct change c;
    struct range gone = range_of(address, size);
    begin(&c, o);
    c.map.unmaps = true;
    going(&c, gone);
    return unmap_taken(&c, address, size, gone);
}

COLD int change_unmap_taken(const struct mapped_call *taken, bool told, void *address, size_t size)
{
    struct change c = {.map = *taken, .told = told};
    if (told)
        visit_begin(&c.visit);
    return unmap_taken(&c, address, size, range_of(address, size));
}

/* How far from `at` on it is the same: in one of these, or in none. */
static bool is_in(const struct pieces *p, uintptr_t at, uintptr_t *same_until)
{
    *same_until = UINTPTR_MAX;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct range *r = &p->piece[i];
        if (at >= r->start && at < r->end) {
            *same_until = r->end;
            return true;
        }
        if (r->start > at && r->start < *same_until)
            *same_until = r->start;
    }
    return false;
}

/*
 * Of several mappings the kernel may have moved some.  Where the old place is still mapped, so is what was at
 * the new one, if anything is there; else that may have come from the old one, or not: it is mapped.
 */
static void failed_to_move(struct change *c, struct range from, struct range over)
{
    struct pieces there, old;
    if (over.start == over.end) {
        stayed(c, from);
        return;
    }
    if (!find_pieces(from, &old)) {
        mapped(c, from);
        mapped(c, over);
        return;
    }
    stayed(c, from);
    uintptr_t apart = from.start - over.start, stop;
    if (from.end - from.start != over.end - over.start) { /* several are only moved as they are */
        stayed(c, over);
        return;
    }
    while (next_pieces(&over, &there))
        for (uint32_t i = 0; i < there.count; i++)
            for (uintptr_t at = there.piece[i].start; at < there.piece[i].end; at = stop) {
                bool is_old = is_in(&old, at + apart, &stop);
                stop = stop - apart < there.piece[i].end && stop != UINTPTR_MAX ? stop - apart
                                                                              : there.piece[i].end;
                tell(c, is_old ? RTC_EVENT_VM_CANCELLED : RTC_EVENT_VM_MAPPED, (struct range){at, stop});
            }
}

/* The kernel does nothing, whatever is mapped. */
static bool is_refused(const union rtc_event *e, struct range from, struct range over)
{
    uint32_t flags = (uint32_t)e->mremap.flags, known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    size_t old_size = e->mremap.old_size, new_size = e->mremap.new_size;
    if (flags & ~known || (uintptr_t)e->mremap.address % PAGE_BYTES || !new_size ||
        (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE)) ||
        (old_size && from.start == from.end))
        return true;
    if (flags & MREMAP_DONTUNMAP && align_up(old_size, PAGE_BYTES) != align_up(new_size, PAGE_BYTES))
        return true;
    return flags & MREMAP_FIXED &&
           (over.start == over.end || (from.start < over.end && over.start < from.end));
}

/* What the map knew of it, or, of pages that it had beside them, what the kernel says. */
static void remapped(struct change *c, const union rtc_event *e, struct range from)
{
    struct range to = range_of(e->mremap.result, e->mremap.new_size);
    struct map_region r;
    if (from.start < from.end)
        mapped_moved(&c->map, &(struct mapped_move){from.start, from.end, to.start, to.end,
                                                    e->mremap.flags & MREMAP_DONTUNMAP});
    else if (mapped_find((uintptr_t)e->mremap.address, &r)) { /* a second one of a shared mapping */
        r.offset += (uintptr_t)e->mremap.address - r.start;
        r.start = to.start;
        r.end = to.end;
        mapped_new(&c->map, &r);
    }
}

void *change_remap(struct origin o, union rtc_event *e)
{
    struct change c;
    uint32_t flags = (uint32_t)e->mremap.flags;
    size_t new_size = e->mremap.new_size;
    struct range from = range_of(e->mremap.address, e->mremap.old_size);
    struct range over = flags & MREMAP_FIXED ? range_of(e->mremap.new_address, new_size) : NO_RANGE;
    if (is_refused(e, from, over))
        from = over = NO_RANGE;
    begin(&c, o);
    going(&c, from);
    going(&c, over);
    mapped_begin(&c.map);
    make_call(&c, RTC_EVENT_MREMAP, e);
    if (e->mremap.result == INVALID_POINTER) {
        failed_to_move(&c, from, over);
        mapped_ask(&c.map, over.start, over.end);
    } else {
        remapped(&c, e, from);
        if (flags & MREMAP_DONTUNMAP) /* empty, but there */
            mapped(&c, from);
        mapped(&c, range_of(e->mremap.result, new_size));
    }
    end(&c);
    return e->mremap.result;
}

/* ---- shared memory ------------------------------------------------------------------------------- */

static struct map_region attached(const union rtc_event *e, uint64_t bytes)
{
    int flags = e->shmat.shmflg;
    struct range r = range_of(e->shmat.result, bytes);
    return (struct map_region){
        .start = r.start,
        .end = r.end,
        .inode = (uint64_t)e->shmat.shmid,
        .device = MAP_FILE_UNKNOWN,
        .shared = true,
        .protection = (uint8_t)(PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0)),
    };
}

void *change_attach(struct origin o, int shmid, const void *shmaddr, int shmflg)
{
    struct change c;
    union rtc_event e = {.shmat = {INVALID_POINTER, shmid, shmaddr, shmflg}};
    uint64_t bytes = os_shared_segment_bytes(shmid);
    uintptr_t at = (uintptr_t)shmaddr;
    at = shmflg & SHM_RND ? align_down(at, PAGE_BYTES) : at; /* SHMLBA is a page here */
    struct range over = shmflg & SHM_REMAP ? range_of((void *)at, bytes) : NO_RANGE;
    begin(&c, o);
    going(&c, over);
    mapped_begin(&c.map);
    make_call(&c, RTC_EVENT_SHMAT, &e);
    if (e.shmat.result != INVALID_POINTER) {
        struct map_region r = attached(&e, bytes);
        mapped_new(&c.map, &r);
        mapped(&c, range_of(e.shmat.result, bytes));
        attachment_note((uintptr_t)e.shmat.result, bytes, shmid);
    } else
        stayed(&c, over);
    end(&c);
    return e.shmat.result;
}

int change_detach(struct origin o, const void *shmaddr)
{
    struct change c;
    union rtc_event e = {.shmdt = {-1, shmaddr}};
    struct range gone = attachment_of((uintptr_t)shmaddr);
    begin(&c, o);
    unmapped(&c, gone);
    mapped_begin(&c.map);
    mapped_take_attachment(&c.map, gone.start, gone.end, (uintptr_t)shmaddr);
    make_call(&c, RTC_EVENT_SHMDT, &e);
    if (e.shmdt.result == -1)
        stayed(&c, gone);
    else
        mapped_gone(&c.map, true);
    end(&c);
    return e.shmdt.result;
}

/* ---- the break ------------------------------------------------------------------------------------ */

/* As libc has it; who calls the kernel may have moved it behind its back. */
static uintptr_t libcs_break(void)
{
    return (uintptr_t)MAKING(RTC_EVENT_SBRK, NULL, 0, NEXT(sbrk)(0));
}

static uintptr_t current_break(void)
{
    return dispatch_is_on ? raw_break() : libcs_break();
}

/*
 * From `before` to what it is after the call, if that is made.  libc's brk returns success when the
 * kernel refused an address below the break, so what has come of it is looked at.
 */
static void move_break(struct origin o, uint32_t type, union rtc_event *e, uintptr_t before, uintptr_t after)
{
    struct change c;
    struct range gone = after < before && after >= os_break_start() ? between(after, before) : NO_RANGE;
    begin(&c, o);
    going(&c, gone);
    mapped_begin(&c.map);
    make_call(&c, type, e);
    uintptr_t now = current_break();
    if (gone.start < gone.end) {
        stayed(&c, between(after, now));
        if (now < before)
            mapped_gone(&c.map, true);
    } else {
        struct range come = between(before, now);
        struct map_region r = {.start = come.start, .end = come.end, .protection = PROT_READ | PROT_WRITE};
        mapped_new(&c.map, &r);
        mapped(&c, come);
    }
    end(&c);
}

/* It was only asked for, and a handler has moved it. */
static void moved_unasked(struct change *c, uintptr_t before, uintptr_t now)
{
    struct range come = between(before, now), gone = between(now, before);
    mapped_begin(&c->map);
    mapped_ask(&c->map, come.start, come.end);
    mapped_ask(&c->map, gone.start, gone.end);
    mapped(c, come);
}

/* The commonest call of them all, which changes nothing. */
static void *look_at_break(struct origin o)
{
    struct change c;
    union rtc_event e = {.sbrk = {INVALID_POINTER, 0}};
    begin(&c, o);
    make_call(&c, RTC_EVENT_SBRK, &e);
    if (unlikely(e.sbrk.increment))
        moved_unasked(&c, (uintptr_t)e.sbrk.result, current_break());
    end(&c);
    return e.sbrk.result;
}

void *change_break_by(struct origin o, intptr_t increment)
{
    if (!increment)
        return look_at_break(o);
    union rtc_event e = {.sbrk = {INVALID_POINTER, increment}};
    uintptr_t now = current_break(), from = libcs_break(), after = from + (uintptr_t)increment;
    bool wraps = increment > 0 ? after < from : after > from; /* refused */
    move_break(o, RTC_EVENT_SBRK, &e, now, wraps ? now : after);
    return e.sbrk.result;
}

int change_break(struct origin o, void *addr)
{
    union rtc_event e = {.brk = {-1, addr}};
    uintptr_t now = current_break();
    move_break(o, RTC_EVENT_BRK, &e, now, addr ? (uintptr_t)addr : now);
    return e.brk.result;
}

/* ---- what stays mapped ---------------------------------------------------------------------------- */

bool change_discards(int advice)
{
    return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE ||
           advice == MADV_DONTNEED_LOCKED || advice == MADV_GUARD_INSTALL;
}

/* Pages of several mappings, or in front of a hole, are discarded although the call fails. */
static bool is_one_mapping(struct range r)
{
    struct mapping m;
    return os_mapping_of(r.start, &m) == 1 && m.end >= r.end;
}

int change_advice(struct origin o, void *addr, size_t length, int advice)
{
    struct change c;
    union rtc_event e = {.madvise = {-1, addr, length, advice}};
    struct range gone = change_discards(advice) ? range_of(addr, length) : NO_RANGE;
    c.told = true;
    c.raw = o.raw;
    mapped_at(&c.map, NULL); /* and is not begun: it stays mapped */
    visit_begin(&c.visit);
    unmapped(&c, gone);
    make_call(&c, RTC_EVENT_MADVISE, &e);
    if (e.madvise.result == -1 && gone.start != gone.end && is_one_mapping(gone))
        cancelled(&c, gone);
    visit_end(&c.visit);
    return e.madvise.result;
}

EXPORT int rtc_madvise(void *addr, size_t length, int advice)
{
    return change_advice((struct origin){.told = true}, addr, length, advice);
}

/* It is the same mapping, with other pages. */
static void other_pages(struct change *c, const union rtc_event *e, struct range r)
{
    struct map_region now;
    if (!mapped_find(r.start, &now))
        return;
    now.start = r.start;
    now.end = r.end;
    now.offset = e->remap_file_pages.pgoff * PAGE_BYTES;
    mapped_new(&c->map, &now);
}

int change_file_pages(struct origin o, union rtc_event *e)
{
    struct change c;
    /* Both are rounded down, by the kernel's book. */
    struct range r = range_of((void *)align_down((uintptr_t)e->remap_file_pages.address, PAGE_BYTES),
                              align_down(e->remap_file_pages.size, PAGE_BYTES));
    begin(&c, o);
    unmapped(&c, r);
    mapped_begin(&c.map);
    make_call(&c, RTC_EVENT_REMAP_FILE_PAGES, e);
    if (e->remap_file_pages.result == -1)
        stayed(&c, r);
    else {
        other_pages(&c, e, r);
        mapped(&c, r);
    }
    end(&c);
    return e->remap_file_pages.result;
}

/* Page by page as far as something is mapped, also when it then fails. */
int change_rights(struct origin o, union rtc_event *e)
{
    struct change c;
    begin(&c, o);
    mapped_begin(&c.map);
    make_call(&c, RTC_EVENT_MPROTECT, e);
    struct range r = range_of(e->mprotect.address, e->mprotect.size);
    if (!e->mprotect.result || errno == ENOMEM)
        mapped_protected(&c.map, r.start, r.end, e->mprotect.prot);
    end(&c);
    return e->mprotect.result;
}

int change_nothing(struct origin o, uint32_t type, union rtc_event *e)
{
    struct visit v;
    visit_begin(&v);
    visit_before(&v, type, e);
    if (o.raw)
        original_raw(type, e);
    else
        original(type, e);
    visit_behind(&v, type, e);
    visit_end(&v);
    return e->munmap.result;
}

static void visit_left(void *v)
{
    visit_end(v);
}

int change_nothing_or_be_cancelled(uint32_t type, union rtc_event *e)
{
    struct visit v;
    visit_begin(&v);
    pthread_cleanup_push(visit_left, &v);
    visit_before(&v, type, e);
    call(type, e);
    visit_behind(&v, type, e);
    pthread_cleanup_pop(1);
    return e->munmap.result;
}

/* ---- events without calls -------------------------------------------------------------------------- */

static struct range as_given(void *address, size_t size)
{
    return (struct range){(uintptr_t)address, (uintptr_t)address + size}; /* none where that wraps */
}

EXPORT void rtc_vm_mmap(void *address, size_t size)
{
    visit_with_range(RTC_EVENT_VM_MAPPED, as_given(address, size));
}

EXPORT void rtc_vm_munmap(void *address, size_t size)
{
    visit_with_range(RTC_EVENT_VM_UNMAPPED, as_given(address, size));
}
