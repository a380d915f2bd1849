/*
 * original.c - calls of the next definitions that are not inlined.
 */
#include "original.h"

#include <errno.h>

int original_lock(const union rtc_event *e)
{
    switch (e->mlock.call) {
    case RTC_EVENT_CALL_MLOCK:
        return NEXT(mlock)(e->mlock.address, e->mlock.size);
    case RTC_EVENT_CALL_MLOCK2:
        return NEXT(mlock2)(e->mlock.address, e->mlock.size, (unsigned)e->mlock.flags);
    case RTC_EVENT_CALL_MUNLOCK:
        return NEXT(munlock)(e->mlock.address, e->mlock.size);
    case RTC_EVENT_CALL_MLOCKALL:
        return NEXT(mlockall)(e->mlock.flags);
    case RTC_EVENT_CALL_MUNLOCKALL:
        return NEXT(munlockall)();
    }
    errno = EINVAL; /* set by a handler */
    return -1;
}

int original_protect(const union rtc_event *e)
{
    return e->mprotect.pkey < 0
               ? NEXT(mprotect)(e->mprotect.address, e->mprotect.size, e->mprotect.prot)
               : NEXT(pkey_mprotect)(e->mprotect.address, e->mprotect.size, e->mprotect.prot,
                                     e->mprotect.pkey);
}

void original_raw(uint32_t type, union rtc_event *e)
{
    if (type & POINTER_RESULTS) {
        if (e->mmap.result == INVALID_POINTER)
            e->mmap.result = (void *)raw_call(type, e);
    } else if (e->munmap.result == -1)
        e->munmap.result = (int)raw_call(type, e);
}

void original_noted(uint32_t type, union rtc_event *e)
{
    /* Types with an address and a size have them at the same offsets as munmap. */
    struct making outer = making_begin(type, (uintptr_t)e->munmap.address, e->munmap.size);
    original_call(type, e);
    making = outer;
}
