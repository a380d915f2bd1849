/*
 * dispatch_feed.c - reports dispatched system calls that change the address space as events.
 *
 * The interposed functions (calls.c) have already reported the system calls they make; `making`
 * identifies those calls.  `making` is cleared by the first system call of its type.  It does not
 * apply to a call from an outer stack frame: then siglongjmp has left the function.  Nor does it
 * apply to a call in a signal handler that interrupts the function.  A signal frame lies in
 * between; beyond that distance only an identical call matches, made by a library interposed
 * between us and libc.
 *
 * The backtrace of such a call begins at the system call instruction.  The unwinder expects a
 * return address and a frame pointer pushed by the callee.  So these two words are written below
 * the stack pointer, and the old content is restored afterwards.
 *
 * The instruction's address identifies calls by libc and the loader.  They are reported, but the
 * program must not unmap what they map.  A statically linked copy of libc counts as the program.
 *
 * A call that discards memory that is in use by this handler's stack is reported, but not made
 * here.  A program may discard memory below its stack pointer, or its stack at the end of a thread.
 */
#include "dispatch_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define DEEP \
    (256u    \
     << 10) /* stack used by an interposed function and by functions between it and the kernel */
#define SHALLOW 1024u /* less than a signal frame with its red zone */
/* Below the stack pointer: red zone, and the saved state of a resumed call. */
#define KEPT 256u
#define NEAR (4u << 10) /* used by our signal handler */
#define LIBCS_SYSCALL_BYTES 64u

__thread struct making making;

void making_nonlocal_exit(const struct jump *j)
{
    if (making.type && jump_discards(j, making.sp))
        making.type = RTC_EVENT_NONE;
}

static bool is_same(uint32_t type, const long a[6])
{
    return !(type & (RTC_EVENT_MMAP | RTC_EVENT_MUNMAP | RTC_EVENT_MREMAP | RTC_EVENT_MADVISE)) ||
           making_range((uintptr_t)a[0], (uintptr_t)a[1]) == making.range;
}

static bool is_made_by_runtime(uint32_t type, const long a[6], uintptr_t sp)
{
    uint32_t made = making.type;
    if (made == RTC_EVENT_SBRK)
        made = RTC_EVENT_BRK;
    if (made != type || making.sp - sp >= DEEP || (making.sp - sp >= SHALLOW && !is_same(type, a)))
        return false;
    if (type != RTC_EVENT_BRK) /* libc's may first query the break */
        making.type = RTC_EVENT_NONE;
    return true;
}

/*
 * Is `self` the calling thread's?  A thread without its own thread-local storage shares its
 * creator's.
 */
static bool is_itself(void)
{
    return !self || fork_is_child() || self->tid == os_tid();
}

/* ---- raw system calls ------------------------------------------------------------------------ */

static uint32_t type_of(long number)
{
    switch (number) {
    case SYS_io_setup: /* maps a ring; io_destroy unmaps it */
    case SYS_mmap:
        return RTC_EVENT_MMAP;
    case SYS_io_destroy:
    case SYS_munmap:
        return RTC_EVENT_MUNMAP;
    case SYS_mremap:
        return RTC_EVENT_MREMAP;
    case SYS_shmat:
        return RTC_EVENT_SHMAT;
    case SYS_shmdt:
        return RTC_EVENT_SHMDT;
    case SYS_brk:
        return RTC_EVENT_BRK;
    case SYS_process_madvise:
    case SYS_madvise:
        return RTC_EVENT_MADVISE;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        return RTC_EVENT_MPROTECT;
    case SYS_mlock:
    case SYS_mlock2:
    case SYS_munlock:
    case SYS_mlockall:
    case SYS_munlockall:
        return RTC_EVENT_MLOCK;
    case SYS_msync:
        return RTC_EVENT_MSYNC;
    case SYS_remap_file_pages:
        return RTC_EVENT_REMAP_FILE_PAGES;
    default:
        return RTC_EVENT_NONE;
    }
}

static long lock_call(const union rtc_event *e)
{
    long at = (long)e->mlock.address, bytes = (long)e->mlock.size, flags = e->mlock.flags;
    switch (e->mlock.call) {
    case RTC_EVENT_CALL_MLOCK:
        return os_pass(SYS_mlock, at, bytes, 0, 0, 0, 0);
    case RTC_EVENT_CALL_MLOCK2:
        return os_pass(SYS_mlock2, at, bytes, flags, 0, 0, 0);
    case RTC_EVENT_CALL_MUNLOCK:
        return os_pass(SYS_munlock, at, bytes, 0, 0, 0, 0);
    case RTC_EVENT_CALL_MLOCKALL:
        return os_pass(SYS_mlockall, flags, 0, 0, 0, 0, 0);
    case RTC_EVENT_CALL_MUNLOCKALL:
        return os_pass(SYS_munlockall, 0, 0, 0, 0, 0, 0);
    }
    return -EINVAL; /* set by a handler */
}

static long protect_call(const union rtc_event *e)
{
    long at = (long)e->mprotect.address, bytes = (long)e->mprotect.size;
    return e->mprotect.pkey < 0
               ? os_pass(SYS_mprotect, at, bytes, e->mprotect.prot, 0, 0, 0)
               : os_pass(SYS_pkey_mprotect, at, bytes, e->mprotect.prot, e->mprotect.pkey, 0, 0);
}

/* The system call returns the current break. */
static long break_call(const union rtc_event *e)
{
    long wanted = (long)e->brk.addr, now = os_pass(SYS_brk, wanted, 0, 0, 0, 0, 0);
    return !wanted || now == wanted ? 0 : -ENOMEM;
}

static long call(uint32_t type, const union rtc_event *e)
{
    switch (type) {
    case RTC_EVENT_MMAP:
        return os_pass(SYS_mmap, (long)e->mmap.address, (long)e->mmap.size, e->mmap.prot,
                       e->mmap.flags, e->mmap.fd, e->mmap.offset);
    case RTC_EVENT_MUNMAP:
        return os_pass(SYS_munmap, (long)e->munmap.address, (long)e->munmap.size, 0, 0, 0, 0);
    case RTC_EVENT_MREMAP:
        return os_pass(SYS_mremap, (long)e->mremap.address, (long)e->mremap.old_size,
                       (long)e->mremap.new_size, e->mremap.flags, (long)e->mremap.new_address, 0);
    case RTC_EVENT_SHMAT:
        return os_pass(SYS_shmat, e->shmat.shmid, (long)e->shmat.shmaddr, e->shmat.shmflg, 0, 0, 0);
    case RTC_EVENT_SHMDT:
        return os_pass(SYS_shmdt, (long)e->shmdt.shmaddr, 0, 0, 0, 0, 0);
    case RTC_EVENT_BRK:
        return break_call(e);
    case RTC_EVENT_MADVISE:
        return os_pass(SYS_madvise, (long)e->madvise.addr, (long)e->madvise.length,
                       e->madvise.advice, 0, 0, 0);
    case RTC_EVENT_MPROTECT:
        return protect_call(e);
    case RTC_EVENT_MLOCK:
        return lock_call(e);
    case RTC_EVENT_MSYNC:
        return os_pass(SYS_msync, (long)e->msync.address, (long)e->msync.size, e->msync.flags, 0, 0,
                       0);
    default:
        return os_pass(SYS_remap_file_pages, (long)e->remap_file_pages.address,
                       (long)e->remap_file_pages.size, e->remap_file_pages.prot,
                       (long)e->remap_file_pages.pgoff, e->remap_file_pages.flags, 0);
    }
}

long raw_call(uint32_t type, const union rtc_event *e)
{
    long result = call(type, e);
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

uintptr_t raw_break(void)
{
    return (uintptr_t)os_pass(SYS_brk, 0, 0, 0, 0, 0, 0);
}

/* ---- events of each call --------------------------------------------------------------------- */

static long of_pointer(const void *result)
{
    return result == MAP_FAILED ? -errno : (long)result;
}

static long of_status(int result)
{
    return result == -1 ? -errno : result;
}

static long of_size(ssize_t result)
{
    return result == -1 ? -errno : result;
}

static struct advice advice_of(const long a[6])
{
    return (struct advice){(int)a[0], (const struct iovec *)a[1], (size_t)a[2], (int)a[3],
                           (unsigned)a[4]};
}

static long feed_lock(struct origin o, long number, const long a[6])
{
    union rtc_event e = {.mlock = {-1, RTC_EVENT_CALL_MLOCK, (void *)a[0], (size_t)a[1], 0}};
    if (number == SYS_mlock2) {
        e.mlock.call = RTC_EVENT_CALL_MLOCK2;
        e.mlock.flags = (int)a[2];
    } else if (number == SYS_munlock)
        e.mlock.call = RTC_EVENT_CALL_MUNLOCK;
    else if (number != SYS_mlock) { /* without a range */
        e.mlock.call = number == SYS_mlockall ? RTC_EVENT_CALL_MLOCKALL : RTC_EVENT_CALL_MUNLOCKALL;
        e.mlock.flags = number == SYS_mlockall ? (int)a[0] : 0;
        e.mlock.address = NULL;
        e.mlock.size = 0;
    }
    return of_status(change_nothing(o, RTC_EVENT_MLOCK, &e));
}

static long feed(struct origin o, uint32_t type, long number, const long a[6])
{
    union rtc_event e;
    struct advice advice;
    switch (number) {
    case SYS_io_setup:
        return dispatch_ring_setup(o, a);
    case SYS_io_destroy:
        return dispatch_ring_destroy(o, a);
    case SYS_process_madvise:
        advice = advice_of(a);
        return of_size(change_advice_to_oneself(o, &advice));
    }
    switch (type) {
    case RTC_EVENT_MMAP:
        e = (union rtc_event){.mmap = {MAP_FAILED, (void *)a[0], (size_t)a[1], (int)a[2], (int)a[3],
                                       (int)a[4], a[5]}};
        return of_pointer(change_map(o, &e));
    case RTC_EVENT_MUNMAP:
        return of_status(change_unmap(o, (void *)a[0], (size_t)a[1]));
    case RTC_EVENT_MREMAP:
        e = (union rtc_event){.mremap = {MAP_FAILED, (void *)a[0], (size_t)a[1], (size_t)a[2],
                                         (int)a[3], (void *)a[4]}};
        return of_pointer(change_remap(o, &e));
    case RTC_EVENT_SHMAT:
        return of_pointer(change_attach(o, (int)a[0], (const void *)a[1], (int)a[2]));
    case RTC_EVENT_SHMDT:
        return of_status(change_detach(o, (const void *)a[0]));
    case RTC_EVENT_BRK:
        change_break(o, (void *)a[0]);
        return (long)raw_break();
    case RTC_EVENT_MADVISE:
        return of_status(change_advice(o, (void *)a[0], (size_t)a[1], (int)a[2]));
    case RTC_EVENT_MPROTECT:
        e = (union rtc_event){.mprotect = {-1, (void *)a[0], (size_t)a[1], (int)a[2],
                                           number == SYS_mprotect ? -1 : (int)a[3]}};
        return of_status(change_rights(o, &e));
    case RTC_EVENT_MLOCK:
        return feed_lock(o, number, a);
    case RTC_EVENT_MSYNC:
        e = (union rtc_event){.msync = {-1, (void *)a[0], (size_t)a[1], (int)a[2]}};
        return of_status(change_nothing(o, RTC_EVENT_MSYNC, &e));
    default:
        e = (union rtc_event){.remap_file_pages = {-1, (void *)a[0], (size_t)a[1], (int)a[2],
                                                   (size_t)a[3], (int)a[4]}};
        return of_status(change_file_pages(o, &e));
    }
}

/* ---- the entry point ------------------------------------------------------------------------- */

static bool takes_away(long number, const long a[6])
{
    switch (number) {
    case SYS_munmap:
    case SYS_mremap:
        return true;
    case SYS_mmap:
        return a[3] & MAP_FIXED;
    case SYS_madvise:
        return change_discards((int)a[2]);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        return !(a[2] & PROT_WRITE);
    default:
        return false;
    }
}

/* Would the call discard stack memory that is in use now or until the call is resumed? */
static bool is_on_our_stack(uintptr_t start, size_t bytes, uintptr_t sp)
{
    uintptr_t end = start + bytes;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) - NEAR;
    return (start < sp && end > here && here < sp) || (start < sp + 1 && end > sp - KEPT);
}

static void notify_unmapped(const long a[6])
{
    struct mapped_call c;
    mapped_at(&c, CALLER);
    c.unmaps = true;
    mapped_take(&c, (uintptr_t)a[0], align_up((uintptr_t)a[0] + (uintptr_t)a[1], PAGE_BYTES));
    mapped_unmapped(&c, true);
    mapped_end(&c);
}

/*
 * libc's function `syscall` has no frame, and our interposed one calls it.  The call site is that
 * of the caller of our function.
 */
static const struct entry *caller_of(const struct entry *at, uintptr_t sp)
{
    if (at->pc - (uintptr_t)NEXT(syscall) < LIBCS_SYSCALL_BYTES &&
        dispatch_is_own_code(*(const uintptr_t *)sp))
        return (const struct entry *)at->bp;
    return at;
}

/* The native event is not reported: its result is not known yet. */
static enum fed feed_on_our_stack(uint32_t type, const long a[6], uintptr_t sp)
{
    bool unmaps = type == RTC_EVENT_MUNMAP;
    if ((unmaps || type == RTC_EVENT_MADVISE) && is_itself()) {
        rtc_vm_munmap((void *)a[0], (size_t)a[1]);
        if (unmaps)
            notify_unmapped(a);
    }
    return unmaps && sp - (uintptr_t)a[0] < (uintptr_t)a[1] ? FEED_LAST : FEED_STACKLESS;
}

/* Is this process_madvise for another process, or does it discard the stack in use? */
static bool is_passed_through(const long a[6], uintptr_t sp, enum fed *how)
{
    struct advice advice = advice_of(a);
    struct iovec r;
    *how = FEED_PASS;
    if (!is_itself() || !is_armed(RTC_EVENT_MADVISE) || !advice_is_to_oneself(&advice))
        return true;
    for (size_t i = 0; change_discards(advice.what) && advice_range(&advice, i, &r); i++)
        if (is_on_our_stack((uintptr_t)r.iov_base, r.iov_len, sp))
            *how = FEED_STACKLESS;
    for (size_t i = 0; *how == FEED_STACKLESS && advice_range(&advice, i, &r); i++)
        rtc_vm_munmap(r.iov_base, r.iov_len);
    return *how == FEED_STACKLESS;
}

enum fed dispatch_feed(long number, const long a[6], void *context, long *result)
{
    uint32_t type = type_of(number);
    uintptr_t sp = os_dispatch_sp(context);
    if (likely(type == RTC_EVENT_NONE) || is_made_by_runtime(type, a, sp) ||
        (type == RTC_EVENT_BRK && !a[0]))
        return FEED_PASS; /* brk(0) is a query */
    if (takes_away(number, a) && is_on_our_stack((uintptr_t)a[0], (size_t)a[1], sp))
        return feed_on_our_stack(type, a, sp);
    enum fed how_passed;
    if (number == SYS_process_madvise && is_passed_through(a, sp, &how_passed))
        return how_passed;
    if (!is_itself())
        return FEED_PASS;
    bool is_reported = is_armed(type);
    if (!is_reported && (type & (RTC_EVENT_MADVISE | RTC_EVENT_MLOCK | RTC_EVENT_MSYNC)))
        return FEED_PASS;
    dispatched_count_reported();
    int saved = errno;
    struct entry *below = (struct entry *)sp - 1, was = *below;
    *below = os_dispatch_entry(context);
    const struct entry *at = caller_of(below, sp);
    *result =
        feed((struct origin){at, is_reported, true, dispatch_is_libcs(at->pc)}, type, number, a);
    *below = was;
    errno = saved;
    return FEED_DONE;
}
