/*
 * tools.h - interface of tools: the verbs of the command `rtcheck`.
 *
 *   cmd_X.c          rtcheck X; cmd_run.c: rtcheck PROGRAM
 *   find_run.c, find_process.c    the run file that the command line names, or means
 *   rtcheck.c        main: selects the verb
 *
 * Rooms below, each with one header:
 *
 *   messages/        errors, warnings, exit statuses
 *   options/         the options in effect, and what they select
 *   perfstat/        --counters and --interval
 *   launcher/        run a program under the runtime
 *
 * Functions return and report errors as messages.h defines.  Only the verbs print.  Functions are
 * not thread-safe unless their comment states it.
 */
#ifndef TOOLS_H
#define TOOLS_H

#include "launcher.h"
#include "options.h"
#include "perfstat.h"

/* ---- verbs: argv[0] is the verb; they return the exit status --------------------------------- */

int cmd_run(int argc, char **argv);
int cmd_report(int argc, char **argv);   /* rtcheck report [OPTIONS] [FILE] */
int cmd_dump(int argc, char **argv);     /* rtcheck dump FILE */
int cmd_events(int argc, char **argv);   /* rtcheck events FILE|PID */
int cmd_selftest(int argc, char **argv); /* rtcheck selftest --events[=all] [-v] */
/* Discard a page through io_uring; *seen is 0 just before.  false: io_uring is not available. */
bool selftest_ring(unsigned *seen);
int cmd_stat(int argc, char **argv);     /* rtcheck stat [-I MS] [-n COUNT] [--json] FILE|PID */
int cmd_show(int argc, char **argv);     /* rtcheck show [OPTIONS] ID [FILE] */
int cmd_suppress(int argc, char **argv); /* rtcheck suppress add ID [--file=FILE] [RUN] */
int print_version(void); /* cmd_run.c: the output of --version, for every verb that takes options */

/* ---- find_run.c ------------------------------------------------------------------------------ */

/*
 * Find the newest unreported run: last.pool, or a file left by a run by hand.  If `out` is not
 * NULL, print its path and the paths of the others.  -ENOENT: there is none.
 */
int find_run(const struct options *o, char *path, size_t room, FILE *out,
             char err[TOOLS_ERROR_BYTES]);

/* ---- find_process.c -------------------------------------------------------------------------- */

/*
 * The path that opens the run file of a running process; -ESRCH: err describes why there is none.
 */
int find_run_of_process(const char *pid, char *path, size_t room, char err[TOOLS_ERROR_BYTES]);
/* The process of thread `tid`; the number itself if there is no such thread. */
unsigned long process_of_thread(const char *tid);
bool is_pid(const char *word); /* digits only; any other word is a file */

#endif
