/*
 * events.h - public interface of events: interposed functions that change the address space, and
 * registered handlers.  The program's interface is rtcheck/event.h.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "init.h"

/* Called by our constructor. */
void events_constructed(void);
void events_nonlocal_exit(const struct jump *j);

#endif
