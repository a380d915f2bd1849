/*
 * events.h - the door of events: the functions that change the address space, and who is told of it.
 * What the program sees stands in rtcheck/event.h.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "core.h"

/* From our constructor. */
void events_constructed(void);
void events_nonlocal_exit(const struct jump *j);
/* events=all: from now on, in all threads.  The last that our constructor does. */
void events_dispatch(void);

#endif
