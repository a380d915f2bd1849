/*
 * finish.h - the interface of exit: the end of an image.
 */
#ifndef FINISH_H
#define FINISH_H

#include "init.h"

/* Called by the constructor: read the program's own LSan settings. */
void finish_start(void);

/*
 * End the image: write the end into its header.  In a run without a launcher the first image also
 * starts the reporter.  Runs once; async-signal-safe, takes no lock.  Return the exit status to
 * use: it differs from `status` if there are findings and --error-exitcode is set.
 */
int finish_image(enum image_end how, int status);

/*
 * The image is about to be replaced by exec; the arguments in `call` are roots. finish_exec_failed:
 * exec has failed, so undo this.  Return false if another thread is ending the program: nothing was
 * done.
 */
bool finish_before_exec(const struct exec_call *call);
void finish_exec_failed(void);
/* A handler may leave an exec by a non-local exit before exec has failed. */
void finish_nonlocal_exit(const struct jump *j);

/* With --witness: start the post-mortem scanner.  One thread at a time. */
void post_mortem_start(void);

/*
 * A signal is about to end the program: record a crash, find errors and leaks, once.
 */
void finish_killed(const struct fatal_signal *s);
/* The run file was truncated: print that, and do nothing else. */
void finish_file_cut(void);

/* ---- for leakcheck only ---------------------------------------------------------------------- */

struct leaks_now;
/*
 * Runs without a launcher: have the reporter print a check of this image, and wait as long as at
 * the end.
 */
void report_check_by_hand(const struct leaks_now *now);
/*
 * Make the check at the end now, once.  Return true if blocks are lost; false also if it was made
 * before.
 */
bool finish_check_early(void);

#endif
