/*
 * dispatch.h - the interface of dispatch: events=all, the inspection of every system call of every
 * thread.
 *
 *   dispatch.c         the SIGSYS handler, and the start in all threads
 *   dispatch_feed.c    which calls change the address space; reports them as events
 *   dispatch_ring.c    io_setup and io_destroy
 *   dispatch_signal.c  SIGSYS as the program uses it
 *
 * The mechanism, syscall user dispatch, is in os/dispatch.c: each system call outside of our code
 * causes SIGSYS.  A call that changes the address space is made here by the functions of
 * events/origin.h.  All others are passed on, by a trampoline that runs with the program's
 * registers, stack and signal mask.
 *
 * An interposed function marks the call that it is about to make (`making`, thread-local), so that
 * the handler does not report it again.
 *
 * Data: `making`; dispatch_is_on, constant after the constructor; the program's action for SIGSYS.
 * The counters are in maps/dispatched.c.
 *
 * Locks: none of its own.  A dispatched call is made by the program, libc or the loader.  No ranked
 * lock is held then, because none is held across a call into them.  So the handler may take locks
 * as an interposed function does.
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
