/* rows_change.c - the events of each call, range by range. */
#include "contract.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifndef MADV_COLD
#define MADV_COLD 20
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Pages of a hole of which the kernel gives others only the upper end. */
#define HOLE 256ul

static void all(void)
{
    handle(ALL_EVENTS, 0, "all");
}

static bool nothing_of(unsigned events)
{
    for (unsigned i = 0; i < logged_count; i++)
        if (logged[i].type & events)
            return false;
    return true;
}

/* Every field has the value of the call's argument. */
void row_fields(void)
{
    int fd = memfd_create("fields", 0);
    must(fd >= 0 && ftruncate(fd, (off_t)(4 * PAGE)) == 0);
    handle(NATIVE_EVENTS, -1, "before");
    char *at = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, (off_t)PAGE);
    union rtc_event e = nth(RTC_EVENT_MMAP, 0);
    must(!e.mmap.address && e.mmap.size == 2 * PAGE && e.mmap.prot == PROT_READ);
    must(e.mmap.flags == MAP_SHARED && e.mmap.fd == fd && e.mmap.offset == (off_t)PAGE);
    char *to = pages(4);
    must(mremap(at, 2 * PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
    e = nth(RTC_EVENT_MREMAP, 0);
    must(e.mremap.address == at && e.mremap.old_size == 2 * PAGE && e.mremap.new_size == PAGE);
    must(e.mremap.flags == (MREMAP_MAYMOVE | MREMAP_FIXED) && e.mremap.new_address == to);
    madvise(to, PAGE, MADV_RANDOM);
    e = nth(RTC_EVENT_MADVISE, 0);
    must(e.madvise.addr == to && e.madvise.length == PAGE && e.madvise.advice == MADV_RANDOM);
    mprotect(to, PAGE, PROT_NONE);
    e = nth(RTC_EVENT_MPROTECT, 0);
    must(e.mprotect.address == to && e.mprotect.size == PAGE && e.mprotect.prot == PROT_NONE);
    must(e.mprotect.pkey == -1);
    msync(to, PAGE, MS_SYNC);
    e = nth(RTC_EVENT_MSYNC, 0);
    must(e.msync.address == to && e.msync.size == PAGE && e.msync.flags == MS_SYNC);
    shmat(-5, to, SHM_RND);
    e = nth(RTC_EVENT_SHMAT, 0);
    must(e.shmat.shmid == -5 && e.shmat.shmaddr == to && e.shmat.shmflg == SHM_RND);
    shmdt(to);
    must(nth(RTC_EVENT_SHMDT, 0).shmdt.shmaddr == to);
    sbrk(0);
    must(nth(RTC_EVENT_SBRK, 0).sbrk.increment == 0);
    brk(to);
    must(nth(RTC_EVENT_BRK, 0).brk.addr == to);
    remap_file_pages(to, PAGE, 0, 1, MAP_NONBLOCK);
    e = nth(RTC_EVENT_REMAP_FILE_PAGES, 0);
    must(e.remap_file_pages.address == to && e.remap_file_pages.size == PAGE);
    must(e.remap_file_pages.pgoff == 1 && e.remap_file_pages.flags == MAP_NONBLOCK);
    munmap(to, 4 * PAGE);
    e = nth(RTC_EVENT_MUNMAP, 0);
    must(e.munmap.address == to && e.munmap.size == 4 * PAGE);
}

/* ---- before and after ------------------------------------------------------------------------- */

static volatile bool was_there[2];

static void look(unsigned type, union rtc_event *e, void *arg)
{
    (void)arg;
    was_there[type == RTC_EVENT_VM_MAPPED] = is_mapped(e->vm_mapped.address, e->vm_mapped.size);
}

void row_unmapped_before_mapped_after(void)
{
    must(rtc_event_set_handler(RTC_EVENT_VM_UNMAPPED, 9, look, NULL) == 0); /* with any priority */
    must(rtc_event_set_handler(RTC_EVENT_VM_MAPPED, -9, look, NULL) == 0);
    char *at = mmap(own_place(1), PAGE, READ_WRITE, PLAIN, -1, 0);
    must(was_there[1]);
    munmap(at, PAGE);
    must(was_there[0] && !is_mapped(at, PAGE));
}

/* A new mapping replaces the old one in its range. */
void row_map_fixed_over_a_part(void)
{
    char *at = pages(6);
    all();
    must(mmap(at + 2 * PAGE, 2 * PAGE, PROT_READ, PLAIN | MAP_FIXED, -1, 0) == at + 2 * PAGE);
    must(logged_count == 3);
    must(logged[0].type == RTC_EVENT_VM_UNMAPPED && logged[1].type == RTC_EVENT_MMAP);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at + 2 * PAGE, 2 * PAGE));
    must(is_range(RTC_EVENT_VM_MAPPED, 0, at + 2 * PAGE, 2 * PAGE));
}

void row_map_fixed_noreplace(void)
{
    char *at = pages(2);
    all();
    int flags = PLAIN | MAP_FIXED_NOREPLACE;
    must(mmap(at, PAGE, READ_WRITE, flags, -1, 0) == MAP_FAILED && errno == EEXIST);
    must(mmap(at, PAGE, READ_WRITE, flags | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EEXIST);
    must(nothing_of(VM_EVENTS) && count_of(RTC_EVENT_MMAP) == 2);
    rtc_orig_munmap(at, PAGE);
    must(mmap(at, PAGE, READ_WRITE, flags, -1, 0) == at);
    must(is_range(RTC_EVENT_VM_MAPPED, 0, at, PAGE) && !count_of(RTC_EVENT_VM_UNMAPPED));
}

void row_dev_zero_as_anonymous(void)
{
    int fd = open("/dev/zero", O_RDWR);
    must(fd >= 0);
    all();
    char *at = mmap(NULL, 3 * PAGE, READ_WRITE, MAP_PRIVATE, fd, 0);
    close(fd); /* the mapping stays */
    must(at != MAP_FAILED && is_range(RTC_EVENT_VM_MAPPED, 0, at, 3 * PAGE));
    at[2 * PAGE] = 1;
    must(munmap(at, 3 * PAGE) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, at, 3 * PAGE));
}

/* A mapping needs no descriptor, and a child has all of its parent's, of the same kinds. */
void row_mapping_survives_fork_and_close(void)
{
    char name[] = "/tmp/rtc-event-XXXXXX";
    int fd = mkstemp(name), status = -1;
    must(fd >= 0 && unlink(name) == 0 && ftruncate(fd, (off_t)(2 * PAGE)) == 0);
    handle(VM_EVENTS, 0, "ranges");
    char *shared = mmap(NULL, 2 * PAGE, READ_WRITE, MAP_SHARED, fd, 0);
    char *private = mmap(NULL, 2 * PAGE, READ_WRITE, MAP_PRIVATE, fd, 0);
    must(close(fd) == 0 && count_of(RTC_EVENT_VM_MAPPED) == 2 && !count_of(RTC_EVENT_VM_UNMAPPED));
    private[0] = 'p';
    pid_t pid = fork();
    if (pid == 0) {
        forget();
        shared[0] = private[0] = 'c';
        must(munmap(shared, 2 * PAGE) == 0 && munmap(private, 2 * PAGE) == 0);
        must(is_range(RTC_EVENT_VM_UNMAPPED, 0, shared, 2 * PAGE));
        must(is_range(RTC_EVENT_VM_UNMAPPED, 1, private, 2 * PAGE) && logged_count == 2);
        _exit(0);
    }
    must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    must(shared[0] == 'c' && private[0] == 'p'); /* and the parent has them still */
    must(munmap(shared, 2 * PAGE) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, shared, 2 * PAGE));
    must(munmap(private, 2 * PAGE) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 1, private, 2 * PAGE));
}

void row_munmap_partial_multiple_and_empty(void)
{
    char *at = pages(9 + HOLE), *after = at + (8 + HOLE) * PAGE;
    mprotect(at + PAGE, PAGE, PROT_READ);        /* several mappings, and */
    rtc_orig_munmap(at + 4 * PAGE, HOLE * PAGE); /* a hole */
    all();
    must(munmap(at, PAGE) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, at, PAGE));
    must(munmap(at + PAGE, 7 * PAGE) == 0);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 1, at + PAGE, 7 * PAGE) && is_mapped(after, PAGE));
    must(munmap(at + PAGE, PAGE) == 0); /* an unmapped range: no error, and an event */
    forget();
    must(munmap(after, 0) == -1 && errno == EINVAL);
    must(munmap(after + 1, PAGE) == -1 && errno == EINVAL);
    must(munmap(at, SIZE_MAX - 5) == -1 && errno == EINVAL);
    must(nothing_of(VM_EVENTS) && count_of(RTC_EVENT_MUNMAP) == 3);
}

void row_page_rounding(void)
{
    all();
    char *at = mmap(NULL, PAGE + 1, READ_WRITE, PLAIN, -1, 0);
    must(is_range(RTC_EVENT_VM_MAPPED, 0, at, 2 * PAGE));
    must(madvise(at, 1, MADV_DONTNEED) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, at, PAGE));
    must(mremap(at, PAGE + 1, 1, 0) == at);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 1, at, 2 * PAGE));
    must(is_range(RTC_EVENT_VM_MAPPED, 1, at, PAGE));
    must(munmap(at, 5) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 2, at, PAGE));
}

/* ---- mremap ------------------------------------------------------------------------------------- */

void row_mremap_moves_and_resizes(void)
{
    char *at = pages(4);
    rtc_orig_mmap(at + 2 * PAGE, PAGE, PROT_NONE, PLAIN | MAP_FIXED, -1, 0); /* in the way */
    all();
    char *to = mremap(at, 2 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
    must(to != MAP_FAILED && to != at && !is_mapped(at, 2 * PAGE));
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at, 2 * PAGE));
    must(is_range(RTC_EVENT_VM_MAPPED, 0, to, 5 * PAGE));
    must(mremap(to, 5 * PAGE, PAGE, 0) == to);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 1, to, 5 * PAGE) &&
         is_range(RTC_EVENT_VM_MAPPED, 1, to, PAGE));
    forget();
    must(mremap(to + 1, PAGE, PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    must(mremap(to, PAGE, 0, MREMAP_MAYMOVE) == MAP_FAILED);
    must(nothing_of(VM_EVENTS) && count_of(RTC_EVENT_MREMAP) == 2);
}

void row_mremap_fixed_target(void)
{
    char *at = pages(2), *to = pages(4);
    at[0] = 'x';
    all();
    must(mremap(at, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + PAGE) == to + PAGE);
    must(to[PAGE] == 'x'); /* the data have moved */
    must(count_of(RTC_EVENT_VM_UNMAPPED) == 2);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at, 2 * PAGE));
    must(is_range(RTC_EVENT_VM_UNMAPPED, 1, to + PAGE, 2 * PAGE));
    must(is_range(RTC_EVENT_VM_MAPPED, 0, to + PAGE, 2 * PAGE));
}

void row_mremap_dontunmap(void)
{
    char *at = pages(2);
    at[0] = 'x';
    all();
    char *to = mremap(at, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    must(to != MAP_FAILED && to[0] == 'x' && at[0] == 0);
    must(count_of(RTC_EVENT_VM_UNMAPPED) == 1 && is_range(RTC_EVENT_VM_UNMAPPED, 0, at, 2 * PAGE));
    must(count_of(RTC_EVENT_VM_MAPPED) == 2 && is_range(RTC_EVENT_VM_MAPPED, 0, at, 2 * PAGE));
    must(is_range(RTC_EVENT_VM_MAPPED, 1, to, 2 * PAGE));
}

void row_mremap_old_size_0(void)
{
    char *at = rtc_orig_mmap(NULL, 2 * PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED);
    all();
    char *to = mremap(at, 0, 2 * PAGE, MREMAP_MAYMOVE);
    must(to != MAP_FAILED && to != at);
    at[PAGE] = 'x';
    must(to[PAGE] == 'x'); /* the same memory twice */
    must(!count_of(RTC_EVENT_VM_UNMAPPED) && is_range(RTC_EVENT_VM_MAPPED, 0, to, 2 * PAGE));
}

/* ---- failures ------------------------------------------------------------------------------------ */

void row_cancels(void)
{
    char *at = pages(HOLE + 3), *gone = at + 2 * PAGE, *after = at + (HOLE + 1) * PAGE;
    rtc_orig_munmap(at + PAGE, HOLE * PAGE);
    all();
    int fixed = MAP_PRIVATE | MAP_FIXED;
    must(mmap(at, (HOLE + 3) * PAGE, READ_WRITE, fixed, -1, 0) == MAP_FAILED && errno == EBADF);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at, (HOLE + 3) * PAGE));
    must(count_of(RTC_EVENT_VM_CANCELLED) == 2); /* only the ranges that are still mapped */
    must(is_range(RTC_EVENT_VM_CANCELLED, 0, at, PAGE));
    must(is_range(RTC_EVENT_VM_CANCELLED, 1, after, 2 * PAGE));
    must(logged[logged_count - 1].type == RTC_EVENT_VM_CANCELLED && !count_of(RTC_EVENT_VM_MAPPED));
    forget();
    /* The kernel may have emptied the target, or not. */
    must(mremap(gone, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, gone, PAGE) &&
         is_range(RTC_EVENT_VM_UNMAPPED, 1, at, PAGE));
    must(!count_of(RTC_EVENT_VM_CANCELLED)); /* mapped pages may be of a later mapping */
    must(count_of(RTC_EVENT_VM_MAPPED) == is_mapped(at, PAGE));
    forget();
    must(mremap(after, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, after + PAGE) ==
         MAP_FAILED);
    must(mremap(at, PAGE, PAGE, MREMAP_FIXED, after) == MAP_FAILED); /* refused by their numbers */
    must(nothing_of(VM_EVENTS));
    forget();
    must(madvise(after, PAGE, MADV_REMOVE) == -1); /* of private memory */
    must(is_range(RTC_EVENT_VM_CANCELLED, 0, after, PAGE));
    forget();
    after[0] = 'x'; /* discarded before the kernel comes to the hole: */
    must(madvise(after - PAGE - HOLE / 2 * PAGE, (HOLE / 2 + 2) * PAGE, MADV_DONTNEED) == -1);
    must(errno == ENOMEM && after[0] == 0 && !count_of(RTC_EVENT_VM_CANCELLED));
}

/* ---- exact totals --------------------------------------------------------------------------------- */

static struct totals {
    size_t mapped, unmapped;
} totals(void)
{
    struct totals t = {bytes_of(RTC_EVENT_VM_MAPPED), bytes_of(RTC_EVENT_VM_UNMAPPED)};
    forget();
    return t;
}

static void total(size_t mapped, size_t unmapped)
{
    struct totals t = totals();
    must(t.mapped == mapped * PAGE);
    must(t.unmapped == unmapped * PAGE);
}

void row_remap_override_totals(void)
{
    int id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
    must(id >= 0);
    handle(VM_EVENTS, 0, "ranges");
    char *at = mmap(own_place(3), 3 * PAGE, READ_WRITE, PLAIN, -1, 0);
    total(3, 0);
    must(mmap(at, 3 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == at);
    total(3, 3);
    /* Rounded down to where it is attached. */
    must(shmat(id, at + 1, SHM_REMAP | SHM_RND) == at);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at, 3 * PAGE) &&
         is_range(RTC_EVENT_VM_MAPPED, 0, at, 3 * PAGE));
    total(3, 3);
    must(shmdt(at) == 0);
    must(!is_mapped(at, 3 * PAGE));
    total(0, 3);
    char *first = shmat(id, own_place(3), 0), *second = shmat(id, own_place(3), 0);
    total(6, 0);
    rtc_orig_munmap(first + PAGE, PAGE); /* shmdt unmaps the remaining pieces, on both sides */
    must(shmdt(first) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, first, 3 * PAGE));
    rtc_orig_munmap(second, PAGE); /* found by its other pieces, too */
    must(shmdt(second) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 1, second + PAGE, 2 * PAGE));
    must(!is_mapped(second, 3 * PAGE) && shmdt(second) == -1);
    total(0, 5);
    char *grown = pages(HOLE);
    must(shmat(id, grown, SHM_REMAP) == grown);
    rtc_orig_munmap(grown + 3 * PAGE, (HOLE - 3) * PAGE);
    must(mprotect(grown, PAGE, PROT_READ) ==
         0); /* in two pieces, of which one outgrows the segment: */
    must(rtc_orig_mremap(grown + PAGE, 2 * PAGE, 4 * PAGE, 0) == grown + PAGE);
    forget();
    must(shmdt(grown) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, grown, PAGE));
    must(!is_mapped(grown, PAGE) && is_mapped(grown + PAGE, PAGE)); /* this piece stays */
    shmctl(id, IPC_RMID, NULL);
    char *end = sbrk(0), *whole = end + (-(uintptr_t)end & (PAGE - 1));
    must(brk(whole) == 0);
    forget();
    must(sbrk((intptr_t)(2 * PAGE)) == whole && is_range(RTC_EVENT_VM_MAPPED, 0, whole, 2 * PAGE));
    total(2, 0);
    must(sbrk(-(intptr_t)PAGE) == whole + 2 * PAGE);
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, whole + PAGE, PAGE));
    total(0, 1);
    must(brk(whole) == 0);
    total(0, 1);
    at = mmap(NULL, 2 * PAGE, READ_WRITE, PLAIN, -1, 0);
    munmap(at, 2 * PAGE);
    total(2, 2);
}

/* ---- advice, protection, locks ---------------------------------------------------------------------- */

void row_madvise_discards(void)
{
    static const struct {
        int advice;
        bool discards;
    } advice[] = {{MADV_DONTNEED, true},
                  {MADV_FREE, true},
                  {MADV_NORMAL, false},
                  {MADV_RANDOM, false},
                  {MADV_WILLNEED, false}};
    char *at = pages(1),
         *shared = rtc_orig_mmap(NULL, PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    all();
    for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++) {
        forget();
        must(madvise(at, PAGE, advice[i].advice) == 0 && count_of(RTC_EVENT_MADVISE) == 1);
        must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at, PAGE) == advice[i].discards);
        must(!count_of(RTC_EVENT_VM_MAPPED) && !count_of(RTC_EVENT_VM_CANCELLED));
    }
    forget();
    must(madvise(shared, PAGE, MADV_REMOVE) == 0 &&
         is_range(RTC_EVENT_VM_UNMAPPED, 0, shared, PAGE));
}

void row_posix_madvise_dontneed(void)
{
    char *at = pages(1);
    at[0] = 'x';
    all();
    must(posix_madvise(at, PAGE, POSIX_MADV_DONTNEED) == 0 && at[0] == 'x'); /* libc ignores it */
    must(logged_count == 0);
    must(posix_madvise(at, PAGE, POSIX_MADV_RANDOM) == 0 && count_of(RTC_EVENT_MADVISE) == 1);
    must(posix_madvise(at + 1, PAGE, POSIX_MADV_RANDOM) == EINVAL);
}

typedef ssize_t advise_process(int, const struct iovec *, size_t, int, unsigned);

/* Only for the process itself: another one needs CAP_SYS_NICE.  Before Linux 6.13 the call fails. */
void row_process_madvise_of_oneself(void)
{
    advise_process *by =
        (advise_process *)dlsym(RTLD_DEFAULT, "process_madvise"); /* libc 2.36 has it */
    char *at = memset(pages(4), 'x', 4 * PAGE);
    struct iovec range[2] = {{at, PAGE}, {at + 2 * PAGE, 2 * PAGE}};
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    must(by && self >= 0);
    all();
    if (by(self, range, 2, MADV_DONTNEED, 0) == (ssize_t)(3 * PAGE)) {
        must(at[0] == 0 && at[PAGE] == 'x' && at[3 * PAGE] == 0);
        must(count_of(RTC_EVENT_VM_UNMAPPED) == 2 &&
             is_range(RTC_EVENT_VM_UNMAPPED, 1, range[1].iov_base, 2 * PAGE));
        must(count_of(RTC_EVENT_MADVISE) == 2 &&
             nth(RTC_EVENT_MADVISE, 1).madvise.addr == at + 2 * PAGE);
        must(!count_of(RTC_EVENT_VM_CANCELLED));
    } else
        must(errno == EINVAL && at[0] == 'x' && is_range(RTC_EVENT_VM_CANCELLED, 0, at, PAGE));
    forget();
    must(by(self, range, 2, MADV_DONTNEED, 1) == -1 && errno == EINVAL && logged_count == 0);
    must(by(self, (void *)8, 1, MADV_DONTNEED, 0) == -1 && errno == EFAULT && logged_count == 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(pause());
    int child = (int)syscall(SYS_pidfd_open, pid, 0);
    ssize_t of_child = by(child, range, 2, MADV_COLD, 0);
    int error = errno;
    must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    must(child >= 0 && (of_child == (ssize_t)(3 * PAGE) || error == EPERM) && logged_count == 0);
}

void row_protection_and_locks(void)
{
    char *at = pages(2);
    all();
    must(mprotect(at, PAGE, PROT_NONE) == 0 && pkey_mprotect(at, PAGE, READ_WRITE, -1) == 0);
    must(count_of(RTC_EVENT_MPROTECT) == 2);
    static const enum rtc_event_lock_call calls[] = {
        RTC_EVENT_CALL_MLOCK,  RTC_EVENT_CALL_MLOCK,      RTC_EVENT_CALL_MUNLOCK,
        RTC_EVENT_CALL_MLOCK2, RTC_EVENT_CALL_MUNLOCKALL, RTC_EVENT_CALL_MLOCKALL};
    must(mlock(at, PAGE) == 0 && mlock(at, PAGE) == 0 &&
         munlock(at, PAGE) == 0); /* once undoes both */
    must(mlock2(at, PAGE, 0) == 0 && munlockall() == 0);
    must(mlockall(0) == -1 && errno == EINVAL);
    for (unsigned i = 0; i < 6; i++)
        must(nth(RTC_EVENT_MLOCK, i).mlock.call == calls[i]);
    must(nth(RTC_EVENT_MLOCK, 0).mlock.address == at && nth(RTC_EVENT_MLOCK, 0).mlock.size == PAGE);
    must(msync(at, 2 * PAGE, MS_ASYNC) == 0 && count_of(RTC_EVENT_MSYNC) == 1);
    must(nothing_of(VM_EVENTS));
}

/* The break is rounded to whole pages; changes within its last page have no event. */
void row_break_is_rounded(void)
{
    char *end = sbrk(0), *whole = end + (-(uintptr_t)end & (PAGE - 1));
    must(brk(whole) == 0);
    all();
    must(sbrk(1) == whole && is_range(RTC_EVENT_VM_MAPPED, 0, whole, PAGE));
    must(sbrk(1) == whole + 1 && sbrk(-1) == whole + 2);
    must(count_of(RTC_EVENT_VM_MAPPED) == 1 && !count_of(RTC_EVENT_VM_UNMAPPED));
    must(sbrk(-1) == whole + 1 && is_range(RTC_EVENT_VM_UNMAPPED, 0, whole, PAGE));
    must(brk(whole + 3 * PAGE - 1) == 0 && is_range(RTC_EVENT_VM_MAPPED, 1, whole, 3 * PAGE));
    must(brk(NULL) == 0 && sbrk(0) == whole + 3 * PAGE - 1); /* a question */
    must(brk(whole + PAGE) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 1, whole + PAGE, 2 * PAGE));
    forget();
    must(sbrk(INTPTR_MAX) == MAP_FAILED && nothing_of(VM_EVENTS));
    must(brk((void *)1) == 0 && sbrk(0) == whole + PAGE && nothing_of(VM_EVENTS)); /* refused */
    must(brk(whole) == 0);
}

void *__mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset);
int __munmap(void *address, size_t size);
void *__sbrk(intptr_t increment);

__attribute__((weak)) extern __typeof__(__mmap) __mmap;
__attribute__((weak)) extern __typeof__(__munmap) __munmap;

void row_other_names(void)
{
    all();
    char *at = mmap64(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(is_range(RTC_EVENT_VM_MAPPED, 0, at, PAGE));
    must(__mmap && __munmap);
    char *other = __mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(is_range(RTC_EVENT_VM_MAPPED, 1, other, PAGE));
    must(__munmap(other, PAGE) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, other, PAGE));
    __sbrk(0);
    must(count_of(RTC_EVENT_SBRK) == 1);
}
