/*
 * leave.h - the door of leave: how an image says goodbye.
 */
#ifndef LEAVE_H
#define LEAVE_H

#include "core.h"

/*
 * The image ends (or is replaced by exec).  Writes the end into its header; by hand the first
 * image of a run also has the reporter print what is to be said.  Once only; signal-safe, takes no
 * lock.
 */
void leave_finish(enum image_end how, int status);

/*
 * A signal is about to end the program: finds errors and leaks, once, while there is somebody to find
 * them.  `context`: what it interrupted.
 */
void leave_killed(const void *context);

#endif
