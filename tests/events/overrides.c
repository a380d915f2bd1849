/*
 * overrides.c - a program that defines functions in front of the runtime's, which make system calls.
 *
 *     overrides         the self test lists the missing events
 *     overrides report  they report by rtc_vm_mmap and rtc_vm_munmap: the test of external events
 *                       passes, and fails for each of them that does not
 */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rtcheck/event.h"

#define RANGES (RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED)

static volatile int telling;
static volatile unsigned silent; /* which function does not, as a native event */

static int is_reporting(unsigned native)
{
    return telling && silent != native;
}

static void gone(unsigned native, void *at, size_t bytes)
{
    if (is_reporting(native))
        rtc_vm_munmap(at, bytes);
}

static void *come(unsigned native, long result, size_t bytes)
{
    if (is_reporting(native))
        rtc_vm_mmap((void *)result, bytes);
    return (void *)result;
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    if (flags & MAP_FIXED)
        gone(RTC_EVENT_MMAP, at, bytes);
    return come(RTC_EVENT_MMAP, syscall(SYS_mmap, at, bytes, prot, flags, fd, offset), bytes);
}

void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
    return mmap(at, bytes, prot, flags, fd, offset);
}

int munmap(void *at, size_t bytes)
{
    gone(RTC_EVENT_MUNMAP, at, bytes);
    return (int)syscall(SYS_munmap, at, bytes);
}

void *mremap(void *at, size_t from, size_t to, int flags, ...)
{
    gone(RTC_EVENT_MREMAP, at, from);
    return come(RTC_EVENT_MREMAP, syscall(SYS_mremap, at, from, to, flags, NULL), to);
}

int madvise(void *at, size_t bytes, int advice)
{
    if (advice == MADV_DONTNEED)
        gone(RTC_EVENT_MADVISE, at, bytes);
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

void *shmat(int id, const void *at, int flags)
{
    if (flags & SHM_REMAP)
        gone(RTC_EVENT_SHMAT, (void *)(uintptr_t)at, 4096);
    return come(RTC_EVENT_SHMAT, syscall(SYS_shmat, id, at, flags), 4096);
}

int shmdt(const void *at)
{
    gone(RTC_EVENT_SHMDT, (void *)(uintptr_t)at, 4096);
    return (int)syscall(SYS_shmdt, at);
}

static void nothing(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
}

static void not_covered(void)
{
    unsigned missing = 0, overridden = RTC_EVENT_MMAP | RTC_EVENT_MUNMAP | RTC_EVENT_MREMAP |
                                       RTC_EVENT_MADVISE | RTC_EVENT_SHMAT | RTC_EVENT_SHMDT;
    assert(rtc_event_set_handler(0x70fff, 0, nothing, NULL) == 0);
    assert(rtc_event_test(0x70fff, &missing) == -ENOTSUP);
    assert(missing == (overridden | RANGES | RTC_EVENT_VM_CANCELLED));
    assert(rtc_event_test(RTC_EVENT_BRK | RTC_EVENT_SBRK | RTC_EVENT_MPROTECT, NULL) == 0);
    assert(rtc_event_test(RTC_EVENT_MUNMAP, NULL) == -ENOTSUP);
}

static void external(void)
{
    static const unsigned sources[] = {RTC_EVENT_MMAP,  RTC_EVENT_MUNMAP, RTC_EVENT_MREMAP,
                                       RTC_EVENT_SHMAT, RTC_EVENT_SHMDT,  RTC_EVENT_MADVISE};
    unsigned missing = 0;
    telling = 1;
    assert(rtc_event_set_external(RANGES) == 0);
    assert(rtc_event_set_handler(RANGES, 0, nothing, NULL) == 0);
    assert(rtc_event_test_external(RANGES, &missing) == 0 && !missing);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        silent = sources[i];
        assert(rtc_event_test_external(RANGES, &missing) == -ENOTSUP && missing);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        external();
    else
        not_covered();
    puts("said");
    return 0;
}
