/*
 * finish.h - the interface of exit: the end of an image.
 *
 *   finish.c       exit, a fatal signal, or exec: stop the other threads, check for leaks, write
 *                  the end into the image's header
 *   crash.c        the signal that ended the program, as an error record
 *   reporter.c     runs without a launcher: start `rtcheck report --end FILE`
 *   post_mortem.c  --witness: a process that makes the leak check of a killed program
 *
 * The callers are intercept/lifecycle.c and exec.c (by init_hooks) and the handler of fatal signals
 * (init/fatal.c).  An end by exec can fail: finish_exec_failed makes the image run again.
 *
 * Data: which image is ending or has ended, and which thread ends it.  All results are in the run
 * file.
 *
 * Lock: the check lock (leaks_begin, leaks_done; no rank), which serializes leak checks.  It is
 * taken outside of sections with signals blocked.  An exec keeps it until it succeeds or fails, and
 * keeps the other threads stopped for a second at most.
 *
 * exit and leakcheck are one floor: the end checks for leaks, and LeakSanitizer's
 * __lsan_do_leak_check may end the program.
 */
#ifndef FINISH_H
#define FINISH_H

#include "init.h"

/* Called by the constructor: read the program's own LSan settings. */
void finish_start(void);

/*
 * End the image: write the end into its header.  In a run without a launcher the first image also
 * starts the reporter.  Runs once; async-signal-safe.  Waits for a leak check of another thread.  Return the exit status to
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
/* The run file was truncated: print that, and whether the program continues.  Signal-safe. */
void finish_file_cut(bool survived);
/* heap=file: a page of the heap cannot be had.  Print that.  Signal-safe. */
void finish_heap_lost(void);

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
