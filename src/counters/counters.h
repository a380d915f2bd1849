/*
 * counters.h - the interface of counters: performance counters for the program.  The program's
 * interface is rtcheck/cpc.h (counters) and rtcheck/profile.h (variables of the runtime).
 *
 *   call.c, handle.c, set.c, bind.c, sample.c  handles, sets of requests, perf events, readings
 *   names.c, pmu.c, walk.c  names of events -> perf_event_attr, and lists of them
 *   reading.c, refusals.c   scaling of multiplexed counters; why a counter is not available
 *   profile*.c              variables, sites of live blocks, callbacks
 *
 * A counter that is not available has a reason and never a number.  Counts of a whole run, without
 * the program's participation, are in tools/perfstat; both use format/counters.def.
 *
 * Data: handles, sets and buffers are cells of mapped chunks, outside of the program's heap.  A
 * profile's sums are read when it is read: nothing is counted for it alone.
 *
 * Locks: the room's lock (call.c) has no rank.  It is taken outside of sections with signals
 * blocked, held across a fork, and lies in a page that the kernel wipes at a fork.  The error
 * handler of the program runs after its release.  Callbacks of profiles are an SRCU table.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "init.h"

/* Called by our constructor, before threads exist. */
void counters_constructed(void);
void counters_nonlocal_exit(const struct jump *j);

#endif
