/*
 * tools.h - the door of tools: the verbs of the command `rtcheck` and what they share.
 *
 * Everything here runs in the launcher or the reporter, never in the checked process.  Functions
 * return 0 or -errno and put one sentence into `err` (lower case, no trailing dot, naming the
 * thing); only the verbs print.  Nothing is thread-safe unless it says so.
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
#include "rtcheck/format.h"

/* Statuses of the command; else the program's own, or its signal. */
enum status {
    STATUS_NOT_IN_CONTROL = 120,
    STATUS_SETUP = 125,
    STATUS_NOT_RUNNABLE = 126,
    STATUS_NOT_FOUND = 127,
};

#define TOOLS_ERROR_BYTES 512

/* ---- messages.c ----------------------------------------------------------------------------------- */

/* Formats into err, cutting at its end; returns `code`, so that `return fail(err, -EINVAL, ..)`. */
int fail(char err[TOOLS_ERROR_BYTES], int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For verbs: says it on stderr; the status to end with. */
int print_failure(const char *err);
/* How a verb is called, and the status to end with: it was asked for, or something else was said. */
int usage(bool is_requested, const char *words);
bool is_help(int argc, char **argv);

/* What the machine did not give, in words: said once, at the end of the run. */
#define WARNINGS_MAX 8

struct warnings {
    unsigned count;
    char line[WARNINGS_MAX][160];
};

/* Beyond WARNINGS_MAX lines nothing is added. */
void warnings_add(struct warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Writes all of `text`; a descriptor that the program left non-blocking is waited for.  -errno: not all
 * of it could be, which of stderr there is nowhere left to say.
 */
int text_write(int fd, const char *text, size_t bytes);

/* Is a feature switched off for a test (RTCHECK_TEST_WITHOUT=a,b,..)? */
bool test_without(const char *feature);

/* ---- verbs: argv[0] is the verb itself; the answer is the exit status ------------------------ */

int cmd_run(int argc, char **argv);
int cmd_report(int argc, char **argv);   /* rtcheck report [OPTIONS] [FILE] */
int cmd_dump(int argc, char **argv);     /* rtcheck dump FILE */
int cmd_events(int argc, char **argv);   /* rtcheck events FILE|PID */
int cmd_selftest(int argc, char **argv); /* rtcheck selftest --events[=all] [-v] */
/* Discards a page by io_uring, with *seen 0 just before; false: there is no such thing here. */
bool selftest_ring(unsigned *seen);
int cmd_stat(int argc, char **argv);     /* rtcheck stat [-I MS] [-n COUNT] [--json] FILE|PID */
int cmd_show(int argc, char **argv);     /* rtcheck show [OPTIONS] ID [FILE] */
int cmd_suppress(int argc, char **argv); /* rtcheck suppress add ID [--file=FILE] [RUN] */
int print_version(void); /* cmd_run.c: what --version says, with any verb that takes options */

/* ---- options.c: options.def as a parser ------------------------------------------------------ */

#define OPTION_COUNT_MAX 64

/* One option of the table. */
struct option_info {
    const char *name;    /* as on the command line */
    const char *initial; /* text of the default */
    const char *help;
    int kind;
    bool is_runtime; /* the runtime acts on it, not the launcher or the reporter */
};

/* The table, in its order; NULL behind the last. */
const struct option_info *option_at(unsigned index);

/* What was asked for.  value[i] is canonical text, NULL = not given; owned by the struct. */
struct options {
    char *value[OPTION_COUNT_MAX];
    bool is_set[OPTION_COUNT_MAX]; /* on the command line; the environment is for all verbs */
    char note[128]; /* "" = nothing; what was understood otherwise than it was said */
};

void options_init(struct options *o);
void options_free(struct options *o);

/*
 * Adds the settings of `text` (key=value:key=value, also separated by blanks; '_' and '-' are one;
 * a value with a separator in it stands in '..' or ".."; later wins).  NULL is empty.  -EINVAL: err
 * names the bad key or value.
 */
int options_from_text(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES]);

/*
 * Adds the settings of argv[1..]: -name or --name, `=value` or the next argument, unambiguous
 * abbreviations, -q and -h; stops at the first word that is no option, or behind "--", and puts
 * its index into *rest.  -EINVAL: err names the argument.
 */
int options_from_args(struct options *o, int argc, char **argv, int *rest,
                      char err[TOOLS_ERROR_BYTES]);

/* Both of the above, environment (RTCHECK_OPTIONS) first; for verbs. */
int options_gather(struct options *o, int argc, char **argv, int *rest,
                   char err[TOOLS_ERROR_BYTES]);

/* Is `name` one of `count` names? */
bool option_is_among(const char *name, const char *const names[], size_t count);
/* -EINVAL, err names it: one was said on the command line that has no effect on `verb`. */
int options_refuse(const struct options *o, const char *verb, bool (*has_effect)(const char *name),
                   char err[TOOLS_ERROR_BYTES]);

/* The value in force, by a name of the table and of its kind (anything else aborts). */
bool option_flag(const struct options *o, const char *name);
/* Of a kind that is a decimal number; of one that may also be "no" that is `none`. */
unsigned option_number(const struct options *o, const char *name, unsigned none);
unsigned option_leak_kinds(const struct options *o, const char *name); /* bits of enum leak_kind */
uint64_t option_size(const struct options *o, const char *name);
const char *option_text(const struct options *o, const char *name); /* "" when empty */
bool option_is_given(const struct options *o, const char *name);    /* or is it the default? */

#define OPTIONS_TEXT_BYTES sizeof(((struct run_header *)0)->options)

/*
 * The settings that were given, in the grammar of options_from_text and the table's order: flags as
 * yes|no, sizes in bytes, '_' in names.  The launcher's own options are left out where the room
 * ends; -E2BIG (err says so) when the runtime's do not fit.
 */
int options_canonical(const struct options *o, char out[OPTIONS_TEXT_BYTES],
                      char err[TOOLS_ERROR_BYTES]);

/* Sets one, by a name of the table; as if it had been given. */
int option_give(struct options *o, const char *name, const char *value,
                char err[TOOLS_ERROR_BYTES]);

/* Usage and every option, from the table. */
void options_print_help(FILE *out);

/* ---- suppressions.c -------------------------------------------------------------------------- */

/* What findings are held against, as the options ask for it. */
struct finding_rules {
    struct rules *rules;       /* sealed */
    struct baseline *baseline; /* NULL: none */
};

/* -errno: err says what is wrong with a file, in up to three lines; nothing is to be freed. */
int finding_rules_read(const struct options *o, struct finding_rules *j,
                       char err[TOOLS_ERROR_BYTES]);
/*
 * All findings of a collected report are held against them, or the baseline is written.  -errno: err
 * says why it could not be.
 */
int finding_rules_apply(const struct finding_rules *j, struct report *r, const struct options *o,
                        char err[TOOLS_ERROR_BYTES]);
/* What is told while the run goes on goes by them, too. */
void finding_rules_of_run(const struct finding_rules *j, const struct options *o,
                          struct print_options *how);
void finding_rules_free(struct finding_rules *j);

/* ---- print_how.c ----------------------------------------------------------------------------- */

/* What the options say of a text that goes to `fd` (-1: nowhere with colors). */
struct print_options print_how(const struct options *o, int fd, const char *pool);
/* What of the run the options ask to be told: before it is collected. */
void request_data(struct report *r, const struct options *o);
/* Are commands of GitHub's runner to be printed? */
bool annotations_wanted(const struct options *o);
unsigned kinds_shown(const struct options *o);
unsigned problem_kinds(const struct options *o);  /* of leaks: bits of enum leak_kind */
unsigned baseline_kinds(const struct options *o); /* that a baseline is about */
/* Errors, and leaks of the kinds that count. */
uint64_t problems_of(const struct options *o, const struct report *r);
/*
 * --error-exitcode if it is given and `r` (may be NULL) has problems; `if_incomplete` if `r` may lack
 * findings and --allow-unchecked is not given; else `otherwise`.
 */
int status_of_findings(const struct options *o, const struct report *r, int if_incomplete,
                       int otherwise);

/* ---- print_files.c --------------------------------------------------------------------------- */

/*
 * All that is wanted beside the text, `r` NULL: nothing is known.  Tries each; -errno and err are of the
 * first that could not be written.
 */
int print_files(struct report *r, const struct options *o, const struct print_options *how,
                char err[TOOLS_ERROR_BYTES]);
/* GitHub's commands to `out` and its page, where they are wanted. */
void print_annotations(struct report *r, const struct options *o, const struct print_options *how,
                       FILE *out);

/* ---- lsan_options.c: what was said to a sanitizer -------------------------------------------- */

/*
 * The value of `key` in `text`, LSAN_OPTIONS' (may be NULL): key=value, separated by colons, commas and
 * blanks, quoted or not; the last one counts.  false: it is not there, or has no room.
 */
bool lsan_option(const char *text, const char *key, char *out, size_t room);
/*
 * Takes what LSAN_OPTIONS says where our own options are silent.  Relative files of suppressions that
 * are not there are looked for beside `program`.  What has no effect is appended to `lost`, by its key.
 */
int lsan_options_take(struct options *o, const char *text, const char *program,
                      struct warnings *warnings, char err[TOOLS_ERROR_BYTES]);
/* The same of its log, P.PID. */
int lsan_log_take(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES]);
/* The LSAN_OPTIONS that a process was started with, or our own, if it is gone; NULL: none.  For free. */
char *lsan_text_of_process(pid_t pid);
/* Of the LSAN_OPTIONS that a process was started with; of our own, if it is gone. */
bool lsan_option_of_process(pid_t pid, const char *key, char *out, size_t room);

/* ---- find_run.c ------------------------------------------------------------------------------ */

/*
 * The newest run that nobody has reported: last.pool, or a file left by hand; says so and names the
 * others on `out`, if that is not NULL.  -ENOENT: there is none.
 */
int find_run(const struct options *o, char *path, size_t room, FILE *out,
             char err[TOOLS_ERROR_BYTES]);

/* ---- find_process.c -------------------------------------------------------------------------- */

/* The path by which the run file of a process that runs can be opened; -ESRCH: err says why there is none. */
int find_run_of_process(const char *pid, char *path, size_t room, char err[TOOLS_ERROR_BYTES]);
/* Of the process that has this thread; the number itself where there is none. */
unsigned long process_of_thread(const char *tid);
bool is_pid(const char *word); /* digits alone: else it is a file */

/* ---- state_dir.c ----------------------------------------------------------------------------- */

/*
 * Where run files are kept: $XDG_STATE_HOME/rtcheck, else ~/.local/state/rtcheck, made (0700) when
 * `make` is set.  Puts the path of last.pool in it into `path`.  err says why there is none.
 */
int state_last_pool(char *path, size_t room, bool make, char err[TOOLS_ERROR_BYTES]);

/* Most that a kept file may hold; holes are free. */
#define LAST_POOL_BYTES_MAX (4ull << 30)

/* ---- log_file.c: where the text goes --------------------------------------------------------- */

struct log_facts {
    const char *program; /* what was run; its last component is %e */
    pid_t pid;           /* %p */
    unsigned image;      /* %n */
};

/* Expands %p %n %q{VAR} %h %e %% of `pattern` into `out`.  -EINVAL names what is wrong. */
int log_path_expand(const char *pattern, const struct log_facts *facts, char *out, size_t room,
                    char err[TOOLS_ERROR_BYTES]);

/* ---- fds.c: descriptors that disturb nobody -------------------------------------------------- */

/*
 * Fills those of 0-2 that are closed with descriptors nobody can read or write, gone at exec: so
 * nothing of ours ever lands there and the program finds them closed as they were.  Also raises a
 * very low soft RLIMIT_NOFILE; fds_restore_limit puts it back in the child.  Call first of all.
 */
void fds_begin(void);
void fds_restore_limit(void);

/* Was descriptor `fd` (0-2) open when the launcher began? */
bool fds_was_open(int fd);

/* A copy of `fd` high up and without CLOEXEC, for the program's start; -errno. */
int fds_pass_down(int fd);

/* ---- inspect.c: can this program be checked? ------------------------------------------------- */

struct inspection {
    char *path;        /* what execve gets; stays */
    bool is_checkable; /* false: why not, in reason */
    bool
        is_guarded; /* its exec gives it privileges, or we may not read it: the kernel lets nobody look */
    char reason[256];
};

/*
 * Finds `name` as a shell would (PATH when it has no slash) and looks at it and, for scripts, at
 * their interpreters.  0 with `out` filled; -ENOENT and others when it cannot be run at all: err is
 * the sentence, a shell's line without the prefix.
 */
int inspect_program(const char *name, struct inspection *out, char err[TOOLS_ERROR_BYTES]);

/* ---- run_file.c ------------------------------------------------------------------------------ */

struct run_file {
    int fd; /* >= 3, CLOEXEC */
    uint64_t dev, ino;
    struct run_header *run; /* the header alone, mapped shared */
    char path[512];         /* how later images reach it; a named file is unlinked at the end */
    bool is_named;
};

/*
 * Makes the file of a run: a memfd, else (none to be had, or no /proc by which others could reach
 * it) a file in the run directory; as large as limits allow; header and empty tables.  What was
 * lost on the way is appended to `lost`.
 */
int run_file_make(struct run_file *f, const struct options *o, const char *options_text,
                  struct warnings *warnings, char err[TOOLS_ERROR_BYTES]);
/* heap=file: not 0 if heap-size is not a size that a heap in the file can have. */
int run_file_check_heap(const struct options *o, char err[TOOLS_ERROR_BYTES]);
void run_file_close(struct run_file *f);

/* ---- keeper.c: a second process in the launcher's group -------------------------------------- */

/*
 * It blocks every signal and so tells one thing that siginfo does not: whether a signal was sent to
 * the whole process group (then it is pending in the keeper, too).  It also wakes the launcher when
 * that stopped itself with a program that was continued alone, and keeps the run file as last.pool
 * when the launcher is killed.
 */
struct keeper {
    pid_t pid; /* 0: none */
    int fd;
    uint32_t questions;
};

/*
 * `last`: the last of the arguments that this process was started with, which the keeper writes
 * over in its own memory.
 */
void keeper_start(struct keeper *k, const struct run_file *f, char *last,
                  struct warnings *warnings);
void keeper_watch(struct keeper *k, pid_t program);
/*
 * Adds to *signals (bit n-1 = signal n) those that reached the keeper since it was last asked;
 * nothing when there is none, or it does not answer.
 */
void keeper_query(struct keeper *k, uint64_t *signals);
/* Tells it that the launcher is about to stop, or goes on. */
void keeper_stopping(struct keeper *k, bool stopping);
void keeper_end(struct keeper *k);

/* ---- signals.c ------------------------------------------------------------------------------- */

/* What the launcher found at its start, for the program. */
struct signal_state {
    sigset_t mask;
    struct sigaction on_child, on_pipe, on_size;
};

/*
 * Blocks what is forwarded and waited for; no write ends us.  The program gets `was` back by
 * signals_give_back.
 */
void signals_begin(struct signal_state *was);
/*
 * Before the program may go: what has come until now ends or stops us, as it would have done to the
 * program.
 */
void signals_let_through(const struct signal_state *was, struct keeper *k);
/* In the child, before exec: everything as it was. */
void signals_give_back(const struct signal_state *was);

/*
 * Waits until the program ends: forwards, stops and continues with it.  Returns its wait status; what
 * it used, with children that it had waited for, goes to *usage; the first of SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT that somebody else has sent meanwhile to *sent, 0: none.
 */
int signals_wait(pid_t program, struct keeper *k, struct rusage *usage, int *sent);

/*
 * After the program's end: of what is still coming only the keyboard may end the launcher; a broken
 * pipe or a limit shows as an error.
 */
void signals_after_program(const struct signal_state *was);

/* Ends the launcher by the signal that ended the program, without a core dump of its own. */
void signals_end_as(int signo) __attribute__((noreturn));

/* ---- guard.c --------------------------------------------------------------------------------- */

/* From here on SIGBUS in a mapping of a file that was made shorter does not end this process. */
void guard_begin(void);
/* In a child, before exec: as it was. */
void guard_give_back(void);

/* ---- start.c: the program's process ---------------------------------------------------------- */

struct start {
    const struct inspection *program;
    char **argv;
    const char *runtime; /* path of librtcheck.so; NULL: start it unchecked */
    const struct run_file *file;
    const struct signal_state *was;
    bool is_silent; /* what it prints is dropped */
};

struct started {
    pid_t pid;
    struct handshake *handshake; /* shared with the child, until start_error */
};

/*
 * In steps, so that the pid is known before the program's first instruction: start_fork makes the
 * process, start_release lets it exec.  Nobody waits for the exec (it may be stopped on the way): after
 * the process has ended start_error tells 0, or the -errno by which exec failed.
 */
int start_fork(const struct start *s, struct started *out, char err[TOOLS_ERROR_BYTES]);
void start_release(const struct started *s);
int start_error(struct started *s);

/* ---- measure.c: --measure -------------------------------------------------------------------- */

#define MEASURE_MOST 255u /* pairs: PAIRS of options.def */

struct measuring {
    struct measured result;
    off_t input; /* where stdin is when a run begins; -1: it is not open, or cannot be set */
    struct print_options how; /* of what the run that is reported tells while it goes on */
};

/*
 * Before the first run: sees to it that all can read the same, so a pipe is read to its end here.
 * -errno: they cannot.
 */
int measure_begin(struct measuring *m, unsigned pairs, char err[TOOLS_ERROR_BYTES]);
/*
 * After it, which ended with `wait_status`: runs the pairs; `start` is as of the first run.  -errno: one
 * could not be started, or (-EINTR) somebody wanted it to end; m->told is of the pairs before.
 */
int measure(struct measuring *m, const struct start *start, const struct options *o,
            const char *options_text, struct keeper *keeper, int wait_status,
            char err[TOOLS_ERROR_BYTES]);

/* Absolute path of the runtime library that belongs to this launcher. */
int runtime_path(char *path, size_t room, char err[TOOLS_ERROR_BYTES]);

/* ---- counters.c: --counters ------------------------------------------------------------------ */

#define COUNTERS_MAX LAUNCHER_COUNTERS_MAX

struct counters; /* freed by counters_free, which takes NULL */

/* A list of names, with commas.  -EINVAL: err names one that nobody knows. */
int counters_make(struct counters **out, const char *list, char err[TOOLS_ERROR_BYTES]);
/*
 * On a process that has yet to become the program: they count from its exec on, its threads and
 * children, too.
 */
void counters_open(struct counters *all, pid_t pid);
/* In its place, where the exec of the program takes them away. */
void counters_deny(struct counters *all);
/* How many rows; their strings are the counters'.  What no perf event tells is in `usage`, after the end. */
unsigned counters_read(const struct counters *all, const struct rusage *usage, uint64_t wall_ns,
                       struct counter_row rows[COUNTERS_MAX]);
void counters_free(struct counters *all);
/* Every name there is, and whether it can be counted here: to stdout. */
void counters_list(void);

/* ---- track.c: --interval --------------------------------------------------------------------- */

struct tracker;

/*
 * Rows of the counters, which stay: for each thread and child when it begins, execs and ends, and each
 * interval_ms (0: never) to `log`.  After counters_open.  NULL: there will be none, which `lost` says.
 */
struct tracker *tracker_start(const struct counters *counters, pid_t pid, unsigned interval_ms,
                              int log, struct warnings *warnings);
void tracker_end(struct tracker *tracker, struct warnings *warnings);

/* ---- reaper.c: the records of ended processes, while the run goes on ------------------------- */

/* A thread; between reaper_start and reaper_end the report is its alone. */
struct reaper {
    pthread_t thread;
    bool is_running;
    _Atomic uint32_t stop; /* futex */
    struct report *report;
    const struct run_file *file;
    int log; /* where errors are told as they happen; -1 = nowhere */
    struct print_options how;
    struct live live;
    uint32_t checks_requested; /* leak checks in mid-run, told so far */
    uint64_t live_since_ms;    /* since when there is something to tell; 0 = there is not */
};

/* .report, .file, .log and .how are set, the rest is zero. */
void reaper_start(struct reaper *reaper, struct warnings *warnings);
void reaper_end(struct reaper *reaper);

/* Of processes that are gone: until their witnesses have told.  `run` is the live header. */
void wait_for_scanners(struct report *r, struct run_header *run);

#endif
