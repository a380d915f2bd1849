/*
 * intercept.h - the door of intercept: the functions of libc and libstdc++ that we stand in front
 * of.  They are doorways: look at the arguments, one call one floor down.
 */
#ifndef INTERCEPT_H
#define INTERCEPT_H

#include "core.h"

/* Does the program bring operators new or delete of its own?  From the constructor. */
void cxx_look_for_replacements(void);

/* From the constructor: from now on exit and quick_exit end the image. */
void lifecycle_constructed(void);

/* In a forked child: what other threads of the parent borrowed is back. */
void shell_after_fork(void);

#endif
