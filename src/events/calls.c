/*
 * calls.c - the functions that change the address space, in front of libc's: doorways.  A call that
 * no handler wants to hear of looks at one word and goes on.
 *
 * On to the next definition, not to the kernel: others may stand between us and libc, or have patched
 * it, and live on these calls as well.
 */
#include "events_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

/* Another name of one of these, which libc declares nothrow and leaf. */
#define SAME(name) __attribute__((alias(#name), nothrow, leaf))

/* ---- mappings ------------------------------------------------------------------------------- */

EXPORT void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    if (is_armed(RTC_EVENT_MMAP))
        return rtc_mmap(address, size, prot, flags, fd, offset);
    return NEXT(mmap)(address, size, prot, flags, fd, offset);
}

/* Names with __ are mostly libc's own, which other libraries of its may use. */
EXPORT void *mmap64(void *address, size_t size, int prot, int flags, int fd, off64_t offset)
    SAME(mmap);
EXPORT void *__mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
    SAME(mmap);

EXPORT int munmap(void *address, size_t size)
{
    return is_armed(RTC_EVENT_MUNMAP) ? rtc_munmap(address, size) : NEXT(munmap)(address, size);
}

EXPORT int __munmap(void *address, size_t size) SAME(munmap);

/* As libc: the last argument is passed on in any case. */
#define REMAP_EVENT(e, address, old_size, new_size, flags)                                   \
    va_list ap;                                                                              \
    va_start(ap, flags);                                                                     \
    union rtc_event e = {.mremap = {MAP_FAILED, address, old_size, new_size, flags,          \
                                    va_arg(ap, void *)}};                                    \
    va_end(ap)

EXPORT void *mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    REMAP_EVENT(e, address, old_size, new_size, flags);
    return is_armed(RTC_EVENT_MREMAP) ? change_remap(&e) : pointer_call(RTC_EVENT_MREMAP, &e);
}

EXPORT void *rtc_mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    REMAP_EVENT(e, address, old_size, new_size, flags);
    return change_remap(&e);
}

EXPORT void *rtc_orig_mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    REMAP_EVENT(e, address, old_size, new_size, flags);
    return pointer_call(RTC_EVENT_MREMAP, &e);
}

EXPORT int remap_file_pages(void *address, size_t size, int prot, size_t pgoff, int flags)
{
    if (is_armed(RTC_EVENT_REMAP_FILE_PAGES))
        return change_file_pages(address, size, prot, pgoff, flags);
    return NEXT(remap_file_pages)(address, size, prot, pgoff, flags);
}

/* ---- shared memory, the break ---------------------------------------------------------------- */

EXPORT void *shmat(int shmid, const void *shmaddr, int shmflg)
{
    return is_armed(RTC_EVENT_SHMAT) ? rtc_shmat(shmid, shmaddr, shmflg)
                                     : NEXT(shmat)(shmid, shmaddr, shmflg);
}

EXPORT int shmdt(const void *shmaddr)
{
    return is_armed(RTC_EVENT_SHMDT) ? rtc_shmdt(shmaddr) : NEXT(shmdt)(shmaddr);
}

EXPORT void *sbrk(intptr_t increment)
{
    return is_armed(RTC_EVENT_SBRK) ? rtc_sbrk(increment) : NEXT(sbrk)(increment);
}

EXPORT void *__sbrk(intptr_t increment) SAME(sbrk);

EXPORT int brk(void *addr)
{
    return is_armed(RTC_EVENT_BRK) ? rtc_brk(addr) : NEXT(brk)(addr);
}

/* ---- what stays mapped ------------------------------------------------------------------------ */

EXPORT int madvise(void *addr, size_t length, int advice)
{
    return is_armed(RTC_EVENT_MADVISE) ? rtc_madvise(addr, length, advice)
                                       : NEXT(madvise)(addr, length, advice);
}

EXPORT int __madvise(void *addr, size_t length, int advice) SAME(madvise);

/* Returns its error, and takes DONTNEED for a hint that changes nothing. */
EXPORT int posix_madvise(void *addr, size_t length, int advice)
{
    if (!is_armed(RTC_EVENT_MADVISE) || advice == POSIX_MADV_DONTNEED)
        return NEXT(posix_madvise)(addr, length, advice);
    int saved = errno, err = rtc_madvise(addr, length, advice) ? errno : 0;
    errno = saved;
    return err;
}

static int protect(void *address, size_t size, int prot, int pkey)
{
    union rtc_event e = {.mprotect = {-1, address, size, prot, pkey}};
    return change_nothing(RTC_EVENT_MPROTECT, &e);
}

EXPORT int mprotect(void *address, size_t size, int prot)
{
    return is_armed(RTC_EVENT_MPROTECT) ? protect(address, size, prot, -1)
                                        : NEXT(mprotect)(address, size, prot);
}

EXPORT int __mprotect(void *address, size_t size, int prot) SAME(mprotect);

EXPORT int pkey_mprotect(void *address, size_t size, int prot, int pkey)
{
    return is_armed(RTC_EVENT_MPROTECT) ? protect(address, size, prot, pkey)
                                        : NEXT(pkey_mprotect)(address, size, prot, pkey);
}

static int change_locks(enum rtc_event_lock_call call, const void *address, size_t size, int flags)
{
    union rtc_event e = {.mlock = {-1, call, (void *)(uintptr_t)address, size, flags}};
    return change_nothing(RTC_EVENT_MLOCK, &e);
}

EXPORT int mlock(const void *address, size_t size)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MLOCK, address, size, 0)
                                     : NEXT(mlock)(address, size);
}

EXPORT int mlock2(const void *address, size_t size, unsigned flags)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MLOCK2, address, size, (int)flags)
                                     : NEXT(mlock2)(address, size, flags);
}

EXPORT int munlock(const void *address, size_t size)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MUNLOCK, address, size, 0)
                                     : NEXT(munlock)(address, size);
}

EXPORT int mlockall(int flags)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MLOCKALL, NULL, 0, flags)
                                     : NEXT(mlockall)(flags);
}

EXPORT int munlockall(void)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MUNLOCKALL, NULL, 0, 0)
                                     : NEXT(munlockall)();
}

EXPORT int msync(void *address, size_t size, int flags)
{
    if (!is_armed(RTC_EVENT_MSYNC))
        return NEXT(msync)(address, size, flags);
    union rtc_event e = {.msync = {-1, address, size, flags}};
    return change_nothing_or_be_cancelled(RTC_EVENT_MSYNC, &e);
}

/* ---- without events --------------------------------------------------------------------------- */

EXPORT void *rtc_orig_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    return NEXT(mmap)(address, size, prot, flags, fd, offset);
}

EXPORT int rtc_orig_munmap(void *address, size_t size)
{
    return NEXT(munmap)(address, size);
}

EXPORT void *rtc_orig_shmat(int shmid, const void *shmaddr, int shmflg)
{
    return NEXT(shmat)(shmid, shmaddr, shmflg);
}

EXPORT int rtc_orig_shmdt(const void *shmaddr)
{
    return NEXT(shmdt)(shmaddr);
}

EXPORT void *rtc_orig_sbrk(intptr_t increment)
{
    return NEXT(sbrk)(increment);
}

EXPORT int rtc_orig_brk(void *addr)
{
    return NEXT(brk)(addr);
}

EXPORT int rtc_orig_madvise(void *addr, size_t length, int advice)
{
    return NEXT(madvise)(addr, length, advice);
}
