/*
 * selftest.h - interface of selftest: what works on this machine, found out by trying it.
 *
 *   calls.c      which calls that change the address space are reported as memory events
 *   ring.c       one of these calls: madvise through io_uring
 *
 * A kernel, a container or a library that patches libc can take calls away from the runtime without
 * an error.  The tests of the project show what the runtime does on their machine; this room shows
 * it on the user's.
 *
 * calls.c runs in a process that has the runtime.  The command starts itself as that process
 * (cmd_selftest.c).  Functions print to stdout and return the exit status.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>

#include "messages.h"
#include "options.h"

/* ---- calls.c, ring.c ------------------------------------------------------------------------- */

/* Test the calls in this process; the runtime is needed. */
int selftest_calls(bool verbose);
/* Discard a page through io_uring; *seen is 0 just before.  false: io_uring is not available. */
bool selftest_ring(unsigned *seen);

#endif
