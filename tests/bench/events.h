/*
 * events.h - for calls.c: calls that change the address space, and the handler of their events.
 */
#ifndef BENCH_EVENTS_H
#define BENCH_EVENTS_H

#include <stddef.h>

/*
 * BENCH_EVENTS is SYSTEM-HOW.  SYSTEM: "rtcheck", or "ucm" (UCX's libucm, configured by its own
 * variables).  HOW: "one" handler of mapped and unmapped ranges; "none": a handler was registered
 * and removed again, so that all hooks that were installed for it remain.  BENCH_PROFILE, the name
 * of an event: open a profile of the process with a callback for this event.
 */
void events_begin(void);
/* Stop the program if a registered handler was not called, or a removed one was. */
void events_end(void);

/* Repeat the operation `count` times. */
void map_and_unmap(size_t count);   /* one untouched page */
void discard(size_t count);         /* one resident page */
void discard_nothing(size_t count); /* the kernel returns at once */
void query_break(size_t count);     /* no system call at all */

#endif
