/*
 * counters.h - the door of counters: performance counters that the program asks for.  What the
 * program sees stands in rtcheck/cpc.h.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "core.h"

/* From our constructor, before threads exist. */
void counters_constructed(void);
void counters_nonlocal_exit(const struct jump *j);

#endif
