/*
 * pool.h - constants of the pool of a program that rtcheck serves in place of libvmmalloc.  For C
 * and C++.
 *
 * The library is libvmmalloc's replacement if one of these variables is in the environment, and no
 * launcher and no RTCHECK_ variable selects another mode:
 *
 *   VMMALLOC_POOL_DIR   an existing directory in which the program may create files
 *   VMMALLOC_POOL_SIZE  size of the pool in bytes, RTC_POOL_BYTES_MIN or more; rounded up to a page
 *
 * The whole heap of the program is then a file without a name in that directory.  Its space is
 * allocated at start, and returns to the file system when the process ends.  A bad value ends the
 * program at start with a message and SIGABRT.  docs/libvmmalloc.md describes all variables.
 *
 * The header declares no functions: a program needs no library of ours to include it.
 */
#ifndef RTCHECK_POOL_H
#define RTCHECK_POOL_H

#include <stddef.h>

/* The smallest pool: 14 MiB, as libvmmalloc's VMMALLOC_MIN_POOL. */
#define RTC_POOL_BYTES_MIN ((size_t)14680064)

#endif
