/*
 * dispatch_priv.h - what the files of events=all share.
 */
#ifndef DISPATCH_PRIV_H
#define DISPATCH_PRIV_H

#include "events_priv.h"

/* ---- dispatch.c ------------------------------------------------------------------------------ */

/* Code of the runtime's; of libc's, or the loader's. */
bool dispatch_is_ours(uintptr_t pc);
bool dispatch_is_libcs(uintptr_t pc);

/* ---- dispatch_feed.c ------------------------------------------------------------------------- */

enum fed {
    FEED_PASS,      /* it is to be made as it is */
    FEED_STACKLESS, /* as PASS, with nothing kept on the stack */
    FEED_DONE,      /* it has been made */
    FEED_LAST,      /* as PASS, and then there is no stack to stand on */
};

enum fed dispatch_feed(long number, const long a[6], void *context, long *result);

/* ---- dispatch_ring.c ------------------------------------------------------------------------- */

long dispatch_ring_setup(struct origin o, const long a[6]);
long dispatch_ring_destroy(struct origin o, const long a[6]);

/* ---- dispatch_signal.c ----------------------------------------------------------------------- */

extern HIDDEN struct os_action dispatch_theirs; /* what SIGSYS leads to, as the program knows */

/* rt_sigaction of SIGSYS: its result. */
long dispatch_action(const long a[6]);
/* A SIGSYS that is not of a dispatched call. */
void dispatch_forward(int signal, void *info, void *context);
/* Another thread, that was there before us, arms itself as soon as it does not keep SIGSYS out. */
void dispatch_arm_thread(uint32_t tid);

#endif
