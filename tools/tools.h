/*
 * tools.h - interface of tools: the verbs of the command `rtcheck` and the helpers they share.
 *
 * All of this code runs in the launcher or the reporter, never in the checked process.  Unless
 * stated otherwise, functions return 0 or -errno and put one sentence into `err` (lower case, no
 * trailing dot, naming the object).  Only the verbs print.  Functions are not thread-safe unless
 * their comment states it.
 */
#ifndef TOOLS_H
#define TOOLS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "report.h"
#include "format/format.h"

/* Exit statuses of the command itself; otherwise it ends with the program's status or signal. */
enum status {
    STATUS_NOT_IN_CONTROL = 120,
    STATUS_SETUP = 125,
    STATUS_NOT_RUNNABLE = 126,
    STATUS_NOT_FOUND = 127,
};

#define TOOLS_ERROR_BYTES 512

/* ---- messages.c ------------------------------------------------------------------------------ */

/*
 * Format into err, truncated to its size.  Return `code`, so that `return fail(err, -EINVAL, ..)`.
 */
int fail(char err[TOOLS_ERROR_BYTES], int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For verbs: print `err` to stderr and return the exit status. */
int print_failure(const char *err);
/* Print how a verb is called and return the exit status: 0 if help was requested, else an error. */
int usage(bool is_requested, const char *words);
bool is_help(int argc, char **argv);

/* Features that the machine lacks, as text; printed once, at the end of the run. */
#define WARNINGS_MAX 8

struct warnings {
    unsigned count;
    char line[WARNINGS_MAX][160];
};

/* Lines beyond WARNINGS_MAX are dropped. */
void warnings_add(struct warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Write all of `text`; if the descriptor is non-blocking (set by the program), poll until it is
 * writable.  -errno: the text was not written completely; if fd is stderr, this cannot be reported.
 */
int text_write(int fd, const char *text, size_t bytes);

/* Is a feature disabled for a test (RTCHECK_TEST_WITHOUT=a,b,..)? */
bool test_without(const char *feature);

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

/* ---- options.c: options.def as a parser ------------------------------------------------------ */

#define OPTION_COUNT_MAX 64

/* One option of the table. */
struct option_info {
    const char *name;    /* as on the command line */
    const char *initial; /* text of the default */
    const char *help;
    int kind;
    bool is_runtime; /* used by the runtime, not by the launcher or the reporter */
};

/* Entry `index` of the table; NULL past its end. */
const struct option_info *option_at(unsigned index);

/* The options in effect.  value[i] is canonical text, NULL = not given; owned by the struct. */
struct options {
    char *value[OPTION_COUNT_MAX];
    bool is_set[OPTION_COUNT_MAX]; /* by the command line, not by the environment */
    char note[128];                /* "" = none; how an option was interpreted if not literally */
};

void options_init(struct options *o);
void options_free(struct options *o);

/*
 * Add the settings of `text`: key=value:key=value, also separated by blanks; '_' equals '-' in
 * keys.  A value that contains a separator is enclosed in '..' or "..".  The last setting of a key
 * wins.  NULL is an empty text.  -EINVAL: err names the bad key or value.
 */
int options_from_text(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES]);

/*
 * Add the settings of argv[1..]: -name or --name, `=value` or the next argument, unambiguous
 * abbreviations, -q and -h.  Stop at the first word that is not an option, or after "--", and store
 * its index in *rest.  -EINVAL: err names the argument.
 */
int options_from_args(struct options *o, int argc, char **argv, int *rest,
                      char err[TOOLS_ERROR_BYTES]);

/* Both of the above, first the environment (RTCHECK_OPTIONS), then the arguments; for verbs. */
int options_gather(struct options *o, int argc, char **argv, int *rest,
                   char err[TOOLS_ERROR_BYTES]);

/* Is `name` one of `count` names? */
bool option_is_among(const char *name, const char *const names[], size_t count);
/* -EINVAL, err names it: an option on the command line has no effect on `verb`. */
int options_refuse(const struct options *o, const char *verb, bool (*has_effect)(const char *name),
                   char err[TOOLS_ERROR_BYTES]);

/* The value in force.  Abort if the table has no option `name` of the getter's kind. */
bool option_flag(const struct options *o, const char *name);
/* A decimal number; `none` if the value is "no" or another word. */
unsigned option_number(const struct options *o, const char *name, unsigned none);
unsigned option_leak_kinds(const struct options *o, const char *name); /* bits of enum leak_kind */
uint64_t option_size(const struct options *o, const char *name);
const char *option_text(const struct options *o, const char *name); /* "" when empty */
bool option_is_given(const struct options *o, const char *name);    /* or is it the default? */

#define OPTIONS_TEXT_BYTES sizeof(((struct run_header *)0)->options)

/*
 * Write the given settings in the grammar of options_from_text and the order of the table: flags as
 * yes|no, sizes in bytes, '_' in names.  The launcher's own options are omitted if `out` is full;
 * -E2BIG (and err) if the runtime's options do not fit.
 */
int options_canonical(const struct options *o, char out[OPTIONS_TEXT_BYTES],
                      char err[TOOLS_ERROR_BYTES]);

/* Set option `name` of the table, as if it had been given. */
int option_give(struct options *o, const char *name, const char *value,
                char err[TOOLS_ERROR_BYTES]);

/* Usage and every option, from the table. */
void options_print_help(FILE *out);

/* ---- suppressions.c -------------------------------------------------------------------------- */

/* The suppression rules and the baseline that the options select. */
struct finding_rules {
    struct rules *rules;       /* sealed */
    struct baseline *baseline; /* NULL: none */
};

/* -errno: err describes the error in a file, in up to three lines; nothing needs to be freed. */
int finding_rules_read(const struct options *o, struct finding_rules *j,
                       char err[TOOLS_ERROR_BYTES]);
/*
 * Apply the rules to all findings of a collected report; compare with the baseline or write it.
 * -errno: err describes why the baseline could not be written.
 */
int finding_rules_apply(const struct finding_rules *j, struct report *r, const struct options *o,
                        char err[TOOLS_ERROR_BYTES]);
/* Apply the rules also to findings printed while the program runs. */
void finding_rules_of_run(const struct finding_rules *j, const struct options *o,
                          struct print_options *how);
void finding_rules_free(struct finding_rules *j);

/* ---- print_how.c ----------------------------------------------------------------------------- */

/* How the options format a text that is written to `fd` (-1: no terminal, no colors). */
struct print_options print_how(const struct options *o, int fd, const char *pool);
/* Select the optional data that the options require; call it before report_collect. */
void request_data(struct report *r, const struct options *o);
/* Are GitHub workflow commands to be printed? */
bool annotations_wanted(const struct options *o);
unsigned kinds_shown(const struct options *o);
unsigned problem_kinds(const struct options *o);  /* that count: bits of enum leak_kind */
unsigned baseline_kinds(const struct options *o); /* kinds that a baseline contains */
/* Number of errors, and of leaks of the kinds that count. */
uint64_t problems_of(const struct options *o, const struct report *r);
/*
 * --error-exitcode if it is given and `r` (may be NULL) has problems; else `if_incomplete` if `r`
 * may lack findings and --allow-unchecked is not given; else `otherwise`.
 */
int status_of_findings(const struct options *o, const struct report *r, int if_incomplete,
                       int otherwise);

/* ---- print_files.c --------------------------------------------------------------------------- */

/*
 * Write all files that the options request besides the text.  `r` NULL: there are no results, and
 * files of earlier runs are removed.  Every file is tried; -errno and err are those of the first
 * failure.
 */
int print_files(struct report *r, const struct options *o, const struct print_options *how,
                char err[TOOLS_ERROR_BYTES]);
/*
 * Print GitHub workflow commands to `out`, and its job summary page, if the options request them.
 */
void print_annotations(struct report *r, const struct options *o, const struct print_options *how,
                       FILE *out);

/* ---- lsan_options.c: settings for LeakSanitizer ---------------------------------------------- */

/*
 * Find the value of `key` in `text`, the value of LSAN_OPTIONS (may be NULL): key=value, separated
 * by colons, commas and blanks, quoted or not; the last one counts.  false: it is missing or does
 * not fit.
 */
bool lsan_option(const char *text, const char *key, char *out, size_t room);
/*
 * Take settings from LSAN_OPTIONS for options that were not given to rtcheck.  A relative
 * suppression file that does not exist is searched in the directory of `program`.  For each setting
 * without effect a warning with its key is added to `warnings`.
 */
int lsan_options_take(struct options *o, const char *text, const char *program,
                      struct warnings *warnings, char err[TOOLS_ERROR_BYTES]);
/* The same for log_path: its value P means the file P.PID. */
int lsan_log_take(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES]);
/*
 * The LSAN_OPTIONS with which process `pid` was started; ours if it is gone.  NULL: none.  Free it.
 */
char *lsan_text_of_process(pid_t pid);
/* One key of the LSAN_OPTIONS with which process `pid` was started; of ours if it is gone. */
bool lsan_option_of_process(pid_t pid, const char *key, char *out, size_t room);

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

/* ---- state_dir.c ----------------------------------------------------------------------------- */

/*
 * Put the path of last.pool into `path`.  Its directory is $XDG_STATE_HOME/rtcheck, else
 * ~/.local/state/rtcheck; it is created with mode 0700 if `make` is set.  -errno: err has the
 * reason.
 */
int state_last_pool(char *path, size_t room, bool make, char err[TOOLS_ERROR_BYTES]);

/* Maximum number of data bytes in a kept file; holes are not counted. */
#define LAST_POOL_BYTES_MAX (4ull << 30)

/* ---- log_file.c: names of log files ---------------------------------------------------------- */

struct log_facts {
    const char *program; /* the program that was run; %e is its last component */
    pid_t pid;           /* %p */
    unsigned image;      /* %n */
};

/* Expand %p %n %q{VAR} %h %e %% of `pattern` into `out`.  -EINVAL: err names the bad field. */
int log_path_expand(const char *pattern, const struct log_facts *facts, char *out, size_t room,
                    char err[TOOLS_ERROR_BYTES]);

/* ---- fds.c: the launcher's descriptors stay invisible to the program ------------------------- */

/*
 * Fill the closed ones of descriptors 0-2 with O_PATH|O_CLOEXEC descriptors, which can be neither
 * read nor written.  So no file of ours is ever opened there, and the program finds them closed, as
 * they were.  Also raise a very low soft RLIMIT_NOFILE; fds_restore_limit resets it in the child.
 * Call this function before all others.
 */
void fds_begin(void);
void fds_restore_limit(void);

/* Was descriptor `fd` (0-2) open when the launcher started? */
bool fds_was_open(int fd);

/* Duplicate `fd` to a high number, without CLOEXEC, for the program's start; -errno. */
int fds_pass_down(int fd);

/* ---- inspect.c: can this program be checked? ------------------------------------------------- */

struct inspection {
    char *path;        /* the path for execve; never freed */
    bool is_checkable; /* false: `reason` has the reason */
    bool is_guarded;   /* setuid, setgid, capabilities or unreadable: exec revokes perf events */
    char reason[256];
};

/*
 * Find `name` as a shell does (through PATH if it has no slash) and examine it; for a script,
 * examine its interpreters too.  0: `out` is filled.  -ENOENT and others: it cannot be executed;
 * err is the message of a shell, without the prefix.
 */
int inspect_program(const char *name, struct inspection *out, char err[TOOLS_ERROR_BYTES]);

/* ---- run_file.c ------------------------------------------------------------------------------ */

struct run_file {
    int fd; /* >= 3, CLOEXEC */
    uint64_t dev, ino;
    struct run_header *run; /* only the header, mapped shared */
    char path[512];         /* opened by later images; a named file is unlinked at the end */
    bool is_named;
};

/*
 * Create the run file with its header and empty tables, as large as the limits allow.  It is a
 * memfd.  If memfds or /proc (by which other processes open it) are missing, it is a file in the
 * run directory.  Features that were lost on the way are added to `warnings`.
 */
int run_file_make(struct run_file *f, const struct options *o, const char *options_text,
                  struct warnings *warnings, char err[TOOLS_ERROR_BYTES]);
/* heap=file: -EINVAL if heap-size is not a valid size of a heap in the file. */
int run_file_check_heap(const struct options *o, char err[TOOLS_ERROR_BYTES]);
void run_file_close(struct run_file *f);

/* ---- keeper.c: a second process in the launcher's group -------------------------------------- */

/*
 * The keeper blocks every signal.  A signal that is pending in the keeper too was sent to the whole
 * process group; siginfo does not contain that.  The keeper also continues a launcher that stopped
 * together with its program if only the program was continued.  If the launcher is killed, the
 * keeper saves the run file as last.pool.
 */
struct keeper {
    pid_t pid; /* 0: none */
    int fd;
    uint32_t questions;
};

/*
 * `last`: the last argument of this process; the keeper overwrites the arguments in its own memory.
 */
void keeper_start(struct keeper *k, const struct run_file *f, char *last,
                  struct warnings *warnings);
void keeper_watch(struct keeper *k, pid_t program);
/*
 * Add to *signals (bit n-1 = signal n) the signals that the keeper received since the last query;
 * none if there is no keeper or it does not answer.
 */
void keeper_query(struct keeper *k, uint64_t *signals);
/* Notify the keeper that the launcher is about to stop, or was continued. */
void keeper_stopping(struct keeper *k, bool stopping);
void keeper_end(struct keeper *k);

/* ---- signals.c ------------------------------------------------------------------------------- */

/* The launcher's inherited signal state, to be restored in the program. */
struct signal_state {
    sigset_t mask;
    struct sigaction on_child, on_pipe, on_size;
};

/*
 * Block the signals that are forwarded or waited for, and ignore SIGPIPE and SIGXFSZ, so that no
 * write ends the launcher.  signals_give_back restores `was` in the program.
 */
void signals_begin(struct signal_state *was);
/*
 * Call it before the program is released: signals that arrived until now end or stop the launcher,
 * as they would have ended or stopped the program.
 */
void signals_let_through(const struct signal_state *was, struct keeper *k);
/* In the child, before exec: restore the inherited state. */
void signals_give_back(const struct signal_state *was);

/*
 * Wait until the program ends; forward signals, and stop and continue with it.  Return its wait
 * status.  Its resource usage, including children it waited for, is stored in *usage.  The first
 * SIGINT, SIGTERM, SIGHUP or SIGQUIT sent by a process other than the program is stored in *sent,
 * 0: none.
 */
int signals_wait(pid_t program, struct keeper *k, struct rusage *usage, int *sent);

/*
 * After the program's end: of late signals only those of the keyboard may end the launcher; a
 * broken pipe or a file size limit causes an error instead of a signal.
 */
void signals_after_program(const struct signal_state *was);

/* End the launcher by the signal that ended the program, without a core dump of the launcher. */
void signals_end_as(int signo) __attribute__((noreturn));

/* ---- guard.c --------------------------------------------------------------------------------- */

/* From now on SIGBUS in a mapping of a truncated file does not end this process. */
void guard_begin(void);
/* In a child, before exec: restore the inherited handler. */
void guard_give_back(void);

/* ---- start.c: the program's process ---------------------------------------------------------- */

struct start {
    const struct inspection *program;
    char **argv;
    const char *runtime; /* path of librtcheck.so; NULL: start the program unchecked */
    const struct run_file *file;
    const struct signal_state *was;
    bool is_silent; /* its output is discarded */
};

struct started {
    pid_t pid;
    struct handshake *handshake; /* shared with the child, until start_error */
};

/*
 * Start in two steps, so that the pid is known before the program's first instruction: start_fork
 * creates the process, start_release releases it.  The launcher does not wait for the exec,
 * because the child may be stopped before it.  After the process has ended, start_error returns 0,
 * or the -errno with which exec failed.
 */
int start_fork(const struct start *s, struct started *out, char err[TOOLS_ERROR_BYTES]);
void start_release(const struct started *s);
int start_error(struct started *s);

/* ---- measure.c: --measure -------------------------------------------------------------------- */

#define MEASURE_MOST 255u /* pairs: kind PAIRS of options.def */

struct measuring {
    struct measured result;
    off_t input; /* offset of stdin at the start of each run; -1: it is closed or not seekable */
    struct print_options how; /* for findings of the reported run that are printed while it runs */
};

/*
 * Call it before the first run: make sure that all runs can read the same input; a pipe is read to
 * its end here.  -errno: they cannot.
 */
int measure_begin(struct measuring *m, unsigned pairs, char err[TOOLS_ERROR_BYTES]);
/*
 * Call it after the first run, which ended with `wait_status`: run the pairs.  `start` is that of
 * the first run.  -errno: a run could not be started, or (-EINTR) a signal to end it was sent;
 * m->result then covers the pairs completed before.
 */
int measure(struct measuring *m, const struct start *start, const struct options *o,
            const char *options_text, struct keeper *keeper, int wait_status,
            char err[TOOLS_ERROR_BYTES]);

/* Absolute path of the runtime library that belongs to this launcher. */
int runtime_path(char *path, size_t room, char err[TOOLS_ERROR_BYTES]);

/* ---- counters.c: --counters ------------------------------------------------------------------ */

#define COUNTERS_MAX LAUNCHER_COUNTERS_MAX

struct counters; /* freed by counters_free, which takes NULL */

/* Parse a comma-separated list of event names.  -EINVAL: err names an unknown one. */
int counters_make(struct counters **out, const char *list, char err[TOOLS_ERROR_BYTES]);
/*
 * Open the events on a process that has not yet exec'd the program.  They count from its exec on,
 * including its threads and children.
 */
void counters_open(struct counters *all, pid_t pid);
/* Call it instead of counters_open if the kernel revokes the events at the program's exec. */
void counters_deny(struct counters *all);
/*
 * Return the number of rows; their strings belong to `all`.  Clocks come from `usage`, after the
 * end.
 */
unsigned counters_read(const struct counters *all, const struct rusage *usage, uint64_t wall_ns,
                       struct counter_row rows[COUNTERS_MAX]);
void counters_free(struct counters *all);
/* Print every known event name and whether it can be counted on this machine to stdout. */
void counters_list(void);

/* ---- track.c: --interval --------------------------------------------------------------------- */

struct tracker;

/*
 * Write rows of the counters to `log`: when a thread or child begins, execs and ends, and every
 * interval_ms (0: never).  `counters` must outlive the tracker.  Call it after counters_open.
 * NULL: there will be no rows; a warning has the reason.
 */
struct tracker *tracker_start(const struct counters *counters, pid_t pid, unsigned interval_ms,
                              int log, struct warnings *warnings);
void tracker_end(struct tracker *tracker, struct warnings *warnings);

/* ---- reaper.c: the records of ended processes, during the run -------------------------------- */

/* A thread; between reaper_start and reaper_end only this thread uses the report. */
struct reaper {
    pthread_t thread;
    bool is_running;
    _Atomic uint32_t stop; /* futex */
    struct report *report;
    const struct run_file *file;
    int log; /* where errors are printed as they happen; -1 = nowhere */
    struct print_options how;
    struct live live;
    uint32_t checks_requested; /* requested leak checks in mid-run that were printed so far */
    uint64_t live_since_ms;    /* since when errors wait to be printed; 0 = there are none */
};

/* .report, .file, .log and .how must be set, all other members zero. */
void reaper_start(struct reaper *reaper, struct warnings *warnings);
void reaper_end(struct reaper *reaper);

/*
 * Wait until the post-mortem scanners of ended processes have finished.  `run` is the live header.
 */
void wait_for_scanners(struct report *r, struct run_header *run);

#endif
