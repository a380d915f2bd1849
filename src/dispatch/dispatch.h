/*
 * dispatch.h - interface of dispatch: events=all, the inspection of every system call.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "init.h"

union rtc_event;

/* Start events=all in all threads.  The last step of our constructor. */
void events_dispatch(void);

extern HIDDEN bool dispatch_is_on; /* events=all is in effect */

/* ---- dispatch_feed.c ------------------------------------------------------------------------- */

/*
 * Set while an interposed function calls the next definition: system calls made there are already
 * reported.
 */
struct making {
    uint32_t type;
    /* A hash of its range, if the system call has one, too: thread-local storage is scarce. */
    uint32_t range;
    uintptr_t sp;
};

extern HIDDEN __thread struct making making;

ALWAYS_INLINE uint32_t making_range(uintptr_t address, uintptr_t size)
{
    return (uint32_t)(((address >> 12) + size * 3) * 0x9e3779b97f4a7c15ull >> 32);
}

ALWAYS_INLINE struct making making_begin(uint32_t type, uintptr_t address, uintptr_t size)
{
    struct making outer = making;
    making =
        (struct making){type, making_range(address, size), (uintptr_t)__builtin_frame_address(0)};
    return outer;
}

void making_nonlocal_exit(const struct jump *j);

#define MAKING(event, address, size, call)                                                  \
    __extension__({                                                                         \
        struct making outer = making_begin(event, (uintptr_t)(address), (uintptr_t)(size)); \
        __typeof__(call) result = (call);                                                   \
        making = outer;                                                                     \
        result;                                                                             \
    })

/* Make the system call without libc.  Returns -1, or the result as a long. */
long raw_call(uint32_t type, const union rtc_event *e);
uintptr_t raw_break(void);

#endif
