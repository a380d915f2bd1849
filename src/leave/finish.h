/*
 * finish.h - the door of leave: how an image says goodbye.
 */
#ifndef FINISH_H
#define FINISH_H

#include "core.h"

/* From the constructor: what the program has to say for itself. */
void finish_start(void);

/*
 * The image ends.  Writes the end into its header; by hand the first image of a run also has the reporter
 * print what is to be said.  Once only; signal-safe, takes no lock.  Returns the status to end with: another
 * one where there were findings and that was asked for.
 */
int finish_image(enum image_end how, int status);

/*
 * The image is about to be replaced by exec, which holds what it was given.  stayed: that has failed, and
 * the image goes on as if nothing had been said.  false: nothing was, as another thread ends the program.
 */
bool finish_before_exec(const struct exec_call *call);
void finish_exec_failed(void);
/* A handler may leave an exec that has not failed yet. */
void finish_nonlocal_exit(const struct jump *j);

/* With --witness: from now on somebody is there to see this process killed.  By one thread at a time. */
void post_mortem_start(void);

/*
 * A signal is about to end the program: finds errors and leaks, once, while there is somebody to find
 * them.  `context`: what it interrupted.
 */
void finish_killed(const void *context);
/* The same, because the run file was cut: says so, and can do nothing else. */
void finish_file_cut(void);

#endif
