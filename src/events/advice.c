/*
 * advice.c - madvise and related calls: mappings stay, but some advice discards their pages.
 *
 * process_madvise of a process to itself behaves as madvise for one range after the other, up to
 * the first failure.  So each range is advised by a separate call and reported as a madvise event.
 * The kernel handles calls that it refuses as a whole, and calls for another process, unchanged.
 */
#include "events_priv.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define RANGES_MAX 1024u /* limit of the kernel */

bool change_discards(int advice)
{
    return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE ||
           advice == MADV_DONTNEED_LOCKED || advice == MADV_GUARD_INSTALL;
}

/* Blocks with such a page: the leak check looks up their pages before it reads them. */
static void note_gap(const void *addr, size_t length, int advice)
{
    if (advice == MADV_GUARD_INSTALL || advice == MADV_DONTFORK)
        heap_note_gap((uintptr_t)addr, (uintptr_t)addr + length);
}

/* ---- the calls themselves -------------------------------------------------------------------- */

/*
 * With heap=file the kernel sees pages of a file: it would not clear them, refuse FREE, and permit
 * REMOVE.  Give the results of private memory.  false: the call is to be made.
 */
static bool advise_heap(const void *addr, size_t length, int advice, int *result)
{
    uintptr_t at = (uintptr_t)addr;
    size_t bytes = align_up(length, PAGE_BYTES);
    if ((advice != MADV_DONTNEED && advice != MADV_FREE && advice != MADV_REMOVE) ||
        at % PAGE_BYTES || !bytes || !heap_has_pages_in_file(at, bytes))
        return false;
    int err = advice == MADV_REMOVE ? -EINVAL : heap_discard(at, bytes);
    *result = err ? -1 : 0;
    if (err)
        errno = -err;
    return true;
}

static int call(struct origin o, const union rtc_event *e)
{
    int result;
    if (advise_heap(e->madvise.addr, e->madvise.length, e->madvise.advice, &result))
        return result;
    if (o.raw)
        return (int)raw_call(RTC_EVENT_MADVISE, e);
    return MAKING(RTC_EVENT_MADVISE, e->madvise.addr, e->madvise.length,
                  NEXT(madvise)(e->madvise.addr, e->madvise.length, e->madvise.advice));
}

static long call_raw(const struct advice *a)
{
    long done = os_pass(SYS_process_madvise, a->pidfd, (long)a->range, (long)a->count, a->what,
                        a->flags, 0);
    if (done >= 0)
        return done;
    errno = (int)-done;
    return -1;
}

/* libc has process_madvise since 2.36. */
static long call_of_process(struct origin o, const struct advice *a)
{
    if (o.raw)
        return call_raw(a);
    if (!NEXT(process_madvise))
        return NEXT(syscall)(SYS_process_madvise, a->pidfd, a->range, a->count, a->what, a->flags);
    return NEXT(process_madvise)(a->pidfd, a->range, a->count, a->what, a->flags);
}

/* Make the call for this range only. */
static int advise_range(struct origin o, const union rtc_event *e, const struct advice *a)
{
    struct iovec range = {e->madvise.addr, e->madvise.length};
    struct advice one = {a->pidfd, &range, 1, e->madvise.advice, a->flags};
    return MAKING(RTC_EVENT_MADVISE, one.pidfd, one.range, call_of_process(o, &one)) < 0 ? -1 : 0;
}

/* ---- reporting ------------------------------------------------------------------------------- */

/*
 * In a range of several mappings, or with a hole, some pages are discarded although the call fails.
 */
static bool is_one_mapping(struct range r)
{
    struct mapping m;
    return os_mapping_of(r.start, &m) == 1 && m.end >= r.end;
}

static void notify_range(struct visit *v, uint32_t type, struct range r)
{
    if (v->wanted & type && r.start < r.end)
        visit_notify_range(v, type, r);
}

/* `to`: the range belongs to this process_madvise call; NULL: to madvise. */
static int advise(struct origin o, void *addr, size_t length, int what, const struct advice *to)
{
    struct visit v;
    union rtc_event e = {.madvise = {-1, addr, length, what}};
    struct range gone = change_discards(what) ? range_of(addr, length) : NO_RANGE;
    note_gap(addr, length, what);
    visit_begin(&v);
    notify_range(&v, RTC_EVENT_VM_UNMAPPED, gone);
    visit_before(&v, RTC_EVENT_MADVISE, &e);
    if (e.madvise.result == -1)
        e.madvise.result = to ? advise_range(o, &e, to) : call(o, &e);
    visit_after(&v, RTC_EVENT_MADVISE, &e);
    if (e.madvise.result == -1 && gone.start != gone.end && is_one_mapping(gone))
        notify_range(&v, RTC_EVENT_VM_CANCELLED, gone);
    visit_end(&v);
    return e.madvise.result;
}

int change_advice(struct origin o, void *addr, size_t length, int advice)
{
    return advise(o, addr, length, advice, NULL);
}

bool advice_range(const struct advice *a, size_t n, struct iovec *range)
{
    return n < a->count && os_dispatch_look((long)(a->range + n), range, sizeof *range);
}

bool advice_is_to_oneself(const struct advice *a)
{
    struct iovec range;
    size_t bytes = 0;
    if (!a->count || a->count > RANGES_MAX || a->flags)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!advice_range(a, i, &range) || !checked_add(bytes, range.iov_len, &bytes) ||
            bytes > SSIZE_MAX)
            return false;
    return os_is_this_process(a->pidfd);
}

ssize_t change_advice_to_oneself(struct origin o, const struct advice *a)
{
    struct iovec range;
    size_t done = 0;
    for (size_t i = 0; advice_range(a, i, &range); i++) {
        if (advise(o, range.iov_base, range.iov_len, a->what, a))
            return done ? (ssize_t)done : -1;
        done += range.iov_len;
    }
    return (ssize_t)done;
}

/* ---- interposed functions -------------------------------------------------------------------- */

EXPORT int rtc_madvise(void *addr, size_t length, int advice)
{
    return change_advice((struct origin){.is_reported = true}, addr, length, advice);
}

EXPORT int madvise(void *addr, size_t length, int advice)
{
    int result;
    note_gap(addr, length, advice);
    if (is_armed(RTC_EVENT_MADVISE))
        return rtc_madvise(addr, length, advice);
    return advise_heap(addr, length, advice, &result) ? result
                                                      : NEXT(madvise)(addr, length, advice);
}

EXPORT int __madvise(void *addr, size_t length, int advice) SAME(madvise);

/* posix_madvise returns the error number, and ignores DONTNEED. */
EXPORT int posix_madvise(void *addr, size_t length, int advice)
{
    if (!is_armed(RTC_EVENT_MADVISE) || advice == POSIX_MADV_DONTNEED)
        return NEXT(posix_madvise)(addr, length, advice);
    int saved = errno, err = rtc_madvise(addr, length, advice) ? errno : 0;
    errno = saved;
    return err;
}

EXPORT ssize_t process_madvise(int pidfd, const struct iovec *range, size_t count, int advice,
                               unsigned flags)
{
    struct advice a = {pidfd, range, count, advice, flags};
    struct origin o = {.is_reported = true};
    return is_armed(RTC_EVENT_MADVISE) && advice_is_to_oneself(&a) ? change_advice_to_oneself(o, &a)
                                                                   : call_of_process(o, &a);
}

EXPORT int rtc_orig_madvise(void *addr, size_t length, int advice)
{
    int result;
    note_gap(addr, length, advice);
    return advise_heap(addr, length, advice, &result)
               ? result
               : MAKING(RTC_EVENT_MADVISE, addr, length, NEXT(madvise)(addr, length, advice));
}
