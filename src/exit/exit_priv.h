/*
 * exit_priv.h - declarations that only the files of exit share.
 */
#ifndef EXIT_PRIV_H
#define EXIT_PRIV_H

#include "finish.h"
#include "leakcheck.h"

/* ---- crash.c --------------------------------------------------------------------------------- */

/* Record the signal as an error if it is a crash.  Outside of sections; see crash.c. */
void crash_record(const struct fatal_signal *s);

/* ---- post_mortem.c --------------------------------------------------------------------------- */

/* The image ends in an orderly way: dismiss the post-mortem scanner. */
void post_mortem_end(void);

/* ---- reporter.c ------------------------------------------------------------------------------ */

/*
 * Runs without a launcher: start the reporter if this image reports for the run. reporter_find
 * locates it beforehand.
 */
int report_by_hand(void); /* exit status requested by the reporter; 0: keep the program's */
/* The run file is gone, and its pages may not be touched: print that, and return the exit status. */
int end_without_file(int status);
void reporter_find(void);

#endif
