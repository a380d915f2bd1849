/*
 * original.h - calls of the next definitions (usually libc's).
 */
#ifndef EVENTS_ORIGINAL_H
#define EVENTS_ORIGINAL_H

#include <sys/shm.h>
#include <unistd.h>

#include "events_priv.h"

#define INVALID_POINTER MAP_FAILED

int original_lock(const union rtc_event *e);
int original_protect(const union rtc_event *e);
/*
 * original_noted: make the call so that events=all does not report it again.  original_raw: make it
 * as a raw system call.
 */
void original_noted(uint32_t type, union rtc_event *e);
void original_raw(uint32_t type, union rtc_event *e);

ALWAYS_INLINE void *original_pointer(uint32_t type, const union rtc_event *e)
{
    switch (type) {
    case RTC_EVENT_MMAP:
        return NEXT(mmap)(e->mmap.address, e->mmap.size, e->mmap.prot, e->mmap.flags, e->mmap.fd,
                          e->mmap.offset);
    case RTC_EVENT_MREMAP:
        return NEXT(mremap)(e->mremap.address, e->mremap.old_size, e->mremap.new_size,
                            e->mremap.flags, e->mremap.new_address);
    case RTC_EVENT_SHMAT:
        return NEXT(shmat)(e->shmat.shmid, e->shmat.shmaddr, e->shmat.shmflg);
    default:
        return next_sbrk(e->sbrk.increment);
    }
}

ALWAYS_INLINE int original_status(uint32_t type, const union rtc_event *e)
{
    switch (type) {
    case RTC_EVENT_MUNMAP:
        return NEXT(munmap)(e->munmap.address, e->munmap.size);
    case RTC_EVENT_SHMDT:
        return NEXT(shmdt)(e->shmdt.shmaddr);
    case RTC_EVENT_BRK:
        return NEXT(brk)(e->brk.addr);
    case RTC_EVENT_MADVISE:
        return NEXT(madvise)(e->madvise.addr, e->madvise.length, e->madvise.advice);
    case RTC_EVENT_MPROTECT:
        return original_protect(e);
    case RTC_EVENT_MLOCK:
        return original_lock(e);
    case RTC_EVENT_MSYNC:
        return NEXT(msync)(e->msync.address, e->msync.size, e->msync.flags);
    default:
        return NEXT(remap_file_pages)(e->remap_file_pages.address, e->remap_file_pages.size,
                                      e->remap_file_pages.prot, e->remap_file_pages.pgoff,
                                      e->remap_file_pages.flags);
    }
}

#define POINTER_RESULTS (RTC_EVENT_MMAP | RTC_EVENT_MREMAP | RTC_EVENT_SHMAT | RTC_EVENT_SBRK)

/* Every member begins with its result, so results are accessed through one member of each type. */
ALWAYS_INLINE void original_call(uint32_t type, union rtc_event *e)
{
    if (type & POINTER_RESULTS) {
        if (e->mmap.result == INVALID_POINTER)
            e->mmap.result = original_pointer(type, e);
    } else if (e->munmap.result == -1)
        e->munmap.result = original_status(type, e);
}

#endif
