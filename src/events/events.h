/*
 * events.h - the interface of events: interposed functions that change the address space, and
 * registered handlers.  The program's interface is rtcheck/event.h.
 *
 *   calls.c, quick.c  the interposed functions: mmap, munmap, brk, shmat and their like
 *   change.c, ...     the effect of each call, and the call itself (origin.h, change.h)
 *   handlers.c        registration and notification of handlers (visit.h)
 *   existing.c, selftest.c  existing mappings; are the program's calls intercepted?
 *
 * A call notifies handlers of the range to be unmapped, calls the next definition, and notifies
 * handlers of the result.  Before and after the call the change is entered into the mapping table
 * (src/maps).  Calls without a handler test one word (event_state.armed).
 *
 * Data: event_state, with an immutable table of handlers that is replaced as a whole; announced
 * memory and attachments of shared memory, in tables of their own.
 *
 * Locks: those of sync/srcu.c.  Updates of the table hold the writers' lock; announcements and
 * attachments are protected by srcu_lock, which callbacks may take.  Handlers run inside an SRCU
 * read section, with no lock held; unregistering waits for them.
 *
 * events and dispatch are one floor: dispatch makes calls by the functions of origin.h, and the
 * interposed functions mark their own system calls for it (dispatch.h).
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "init.h"

/* Called by our constructor. */
void events_constructed(void);
void events_nonlocal_exit(const struct jump *j);

#endif
