/*
 * dispatch_priv.h - internal declarations of events=all.
 */
#ifndef DISPATCH_PRIV_H
#define DISPATCH_PRIV_H

#include "dispatch.h"
#include "origin.h"

/* ---- dispatch.c ------------------------------------------------------------------------------ */

/* Is the code in the runtime?  Is it in libc or the loader? */
bool dispatch_is_own_code(uintptr_t pc);
bool dispatch_is_libcs(uintptr_t pc);

/* ---- dispatch_feed.c ------------------------------------------------------------------------- */

enum fed {
    FEED_PASS,      /* pass the call on unchanged */
    FEED_STACKLESS, /* like FEED_PASS, with nothing saved on the stack */
    FEED_DONE,      /* the call has been made */
    FEED_LAST,      /* like FEED_PASS, but the stack is unmapped afterwards */
};

enum fed dispatch_feed(long number, const long a[6], void *context, long *result);

/* ---- dispatch_ring.c ------------------------------------------------------------------------- */

long dispatch_ring_setup(struct origin o, const long a[6]);
long dispatch_ring_destroy(struct origin o, const long a[6]);

/* ---- dispatch_signal.c ----------------------------------------------------------------------- */

extern HIDDEN struct os_action
    dispatch_program_action; /* action of SIGSYS as seen by the program */

/* Handle rt_sigaction of SIGSYS; returns its result. */
long dispatch_action(const long a[6]);
/* Handle a SIGSYS that does not come from dispatch. */
void dispatch_forward(int signal, void *info, void *context);
/* Make a thread that already exists arm itself, as soon as it does not block SIGSYS. */
void dispatch_arm_thread(uint32_t tid);

#endif
