/*
 * intercept.h - interposition of functions of libc and libstdc++.  Each function inspects its
 * arguments and makes one call into core.
 */
#ifndef INTERCEPT_H
#define INTERCEPT_H

#include "init.h"

/* Does the program define its own operators new or delete?  Called by the constructor. */
void cxx_look_for_replacements(void);

/* Called by the constructor: from now on exit and quick_exit end the image. */
void lifecycle_constructed(void);

/* Call in a forked child: restores the environment lent by other threads of the parent. */
void shell_after_fork(void);

#endif
