/*
 * tools.h - interface of tools: the verbs of the command `rtcheck`.
 *
 *   verbs.c          the list of verbs; their command lines and --help
 *   cmd_X.c          rtcheck X: a struct verb and its function; cmd_run.c: rtcheck PROGRAM
 *   pager.c          $PAGER for long output
 *   catch.c          --catch: blocks of a finding of an earlier run, guarded in this one
 *   plans.c, plan_cache.c    the plans of --access=full; access_time.c: whose code took the time
 *   rerun.c          --rerun: a second run
 *   find_run.c, find_process.c    the run file that the command line names, or means
 *   rtcheck.c        main: selects the verb
 *
 * Rooms below, each with one header:
 *
 *   messages/        errors, warnings, exit statuses
 *   options/         the options in effect, and what they select
 *   perfstat/        --counters and --interval
 *   launcher/        run a program under the runtime
 *   selftest/        what works on this machine
 *   pack/            a run with the files that its names come from, as one archive
 *   translate/       a copy of an object's code that checks its loads and stores
 *
 * Functions return and report errors as messages.h defines.  Only the verbs print.  Functions are
 * not thread-safe unless their comment states it.
 */
#ifndef TOOLS_H
#define TOOLS_H

#include <sys/types.h>

#include "launcher.h"
#include "options.h"
#include "pack.h"
#include "perfstat.h"

/* ---- verbs.c --------------------------------------------------------------------------------- */

extern const struct verb verb_run, verb_report, verb_show, verb_suppress, verb_events, verb_stat,
    verb_check, verb_dump, verb_selftest, verb_list, verb_pack, verb_translate, verb_plans,
    verb_valgrind;

const struct verb *verb_named(const char *name); /* NULL: there is none */
const struct verb *verb_at(unsigned i);          /* verb_run is the first; NULL past the last */
/* Read the command line, argv[0] is ignored, and call the verb. Return the exit status. */
int verb_do(const struct verb *verb, int argc, char **argv);
/* For verbs: the operands are wrong. Return the exit status. */
int print_usage(const struct verb *verb);

/* ---- cmd_*.c --------------------------------------------------------------------------------- */

int print_version(void);
/* One note on stderr with the accepted options that have no effect; none with --quiet. */
void print_without_effect(const struct options *o);
/* Is it `report --end FILE` or `report --check IMAGE FILE`, as the runtime starts them? */
bool is_reporter(int argc, char **argv);
int report_for_process(int argc, char **argv);
/* Print a leak check in mid-run by the options of its run; a requested one to standard output. */
int print_leak_check(struct report *r, int fd, struct check_choice choice);

/* ---- pager.c --------------------------------------------------------------------------------- */

struct pager {
    pid_t pid;
    int terminal; /* a copy of standard output */
    void (*pipe_action)(int);
};

/*
 * Make standard output a pipe to $PAGER if it is a terminal.  false: it is none, or PAGER is not
 * set, empty or cat.
 */
bool pager_start(struct pager *p);
/* Restore standard output and wait.  false: there is no such program, and nothing was shown. */
bool pager_end(struct pager *p);

/* ---- catch.c --------------------------------------------------------------------------------- */

#define CATCH_MOST (GUARD_STACKS_MOST / 2) /* findings: each has two stacks at most */

/*
 * --catch: find the findings in kept runs, first in those of the program at `path`, and set
 * --guard-stacks.  -errno: err has the reason.
 */
int catch_begin(struct options *o, const char *path, char err[TOOLS_ERROR_BYTES]);

/* --catch and --rerun need stacks.  -EINVAL: there are none, by --frames=0. */
int check_stacks(const struct options *o, char err[TOOLS_ERROR_BYTES]);

/* ---- plans.c --------------------------------------------------------------------------------- */

/*
 * --access=full: make the plans of the program at `program` and its libraries that are not kept, and set
 * --plans.  -errno: err has the reason.
 */
int plans_begin(struct options *o, const char *program, struct warnings *warnings,
                char err[TOOLS_ERROR_BYTES]);

/* ---- access_time.c --------------------------------------------------------------------------- */

/* Whose code the samples are of; the rows are sorted by path. */
void access_time_make(struct access_time *out, const struct report *r,
                      const struct sample_row *rows, size_t count);

/* ---- rerun.c --------------------------------------------------------------------------------- */

/* main's arguments, and the position in standard input, for a second run. */
void rerun_begin(char **argv);
/* Is this a second or third run?  Its status is that of the first. */
bool rerun_is_second(void);
/* The status with which rtcheck ends, or its end by the signal that ended the first run. */
int rerun_status(int status);

/* A run that has ended. */
struct rerun {
    char **operands; /* the program in main's arguments */
    const struct options *options;
    struct report *report;          /* NULL: there is none */
    const struct signal_state *was; /* before signals_begin */
    int log;                        /* descriptor of the text; -1 = none */
    int wait_status;
    int sent; /* first signal sent to end the program; 0: none */
};
/*
 * If the run has late bad writes that were not guarded, replace this process by the same command
 * with their blocks guarded.  It returns if there is no second run.
 */
void rerun(const struct rerun *r);

/* ---- find_run.c ------------------------------------------------------------------------------ */

/*
 * Call `look` for all run files that are kept or were left by runs by hand, the newest first, until
 * it returns another value than -ENOENT, and return that.  `o`: NULL, or options with pool-dir.
 * -ENOENT also if there are none: then err says so.
 */
int find_run_where(const struct options *o, int (*look)(const char *path, void *data), void *data,
                   char err[TOOLS_ERROR_BYTES]);
/*
 * Find the newest unreported run: the newest that is kept, or a file left by a run by hand.  If `out` is not
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
/* The run file of FILE|PID. */
int find_run_named(const char *word, char *path, size_t room, char err[TOOLS_ERROR_BYTES]);

#endif
