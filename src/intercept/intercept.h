/*
 * intercept.h - the door of intercept: the functions of libc and libstdc++ that we stand in front
 * of.  They are doorways: look at the arguments, one call one floor down.
 */
#ifndef INTERCEPT_H
#define INTERCEPT_H

#include "core.h"

/*
 * The program's call, as our frame begins.  So the interceptors of this room keep frame pointers
 * and leave by returning, not by a jump into the next function.
 */
#define CALLER ((const struct entry *)__builtin_frame_address(0))


/* Does the program bring operators new or delete of its own?  From the constructor. */
void cxx_look_for_replacements(void);

/* In a forked child: what other threads of the parent borrowed is back. */
void shell_after_fork(void);

#endif
