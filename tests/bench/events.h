/*
 * events.h - for calls.c: calls that change the address space, and who is told of them.
 */
#ifndef BENCH_EVENTS_H
#define BENCH_EVENTS_H

#include <stddef.h>

/*
 * What BENCH_EVENTS says: SYSTEM-HOW.  SYSTEM: "rtcheck", or "ucm", UCX's libucm, whose own variables
 * say in which way it is told.  HOW: "one" handler of mapped and unmapped ranges; "none": one has been
 * there and is gone again, so that whatever was installed for it stays.
 * BENCH_PROFILE, the name of an event: a profile of the process, with a callback for that.
 */
void events_begin(void);
/* Stops the program if a handler that is there was not called, or one that is gone was. */
void events_end(void);

/* Operations, so many times. */
void map_and_unmap(size_t count); /* a page that is never touched */
void discard(size_t count);       /* a page that is there */
void discard_nothing(size_t count); /* the kernel returns at once */
void ask_break(size_t count);       /* no system call at all */

#endif
