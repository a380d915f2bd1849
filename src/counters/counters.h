/*
 * counters.h - interface of counters: performance counters for the program. rtcheck/cpc.h and
 * rtcheck/profile.h are the program's interface.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "init.h"

/* Called by our constructor, before threads exist. */
void counters_constructed(void);
void counters_nonlocal_exit(const struct jump *j);

#endif
