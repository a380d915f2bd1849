/*
 * launcher.h - interface of launcher: run a program under the runtime, from its start to its end.
 *
 *   fds, guard         first: descriptors, SIGBUS in a file that is cut
 *   inspect            can the program be checked?
 *   run_file           create the run file
 *   signals, keeper    forward signals, and stop and continue with the program
 *   start              the program's process
 *   reaper             during the run: collect the records of ended processes
 *   measure            --measure: pairs of runs with and without the runtime
 *   state_dir          where the run file of the last run is kept
 *
 * The program must not notice the launcher: descriptors, signal state and limits are restored in
 * the child before exec.  cmd_run.c has the order of the calls.
 *
 * Functions return and report errors as messages.h defines.  They are called by the main thread;
 * the reaper has a thread of its own.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "format/format.h"
#include "options.h"
#include "report.h"

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
/* heap=file: -EINVAL if pool-size is not a valid size of a heap in the file. */
int run_file_check_heap(const struct options *o, char err[TOOLS_ERROR_BYTES]);
void run_file_close(struct run_file *f);

/* ---- state_dir.c ----------------------------------------------------------------------------- */

/*
 * Put the path for the run of process `pid` into `path`: PROGRAM.PID.TIME in $XDG_STATE_HOME/rtcheck,
 * else ~/.local/state/rtcheck, which is created with mode 0700.  -errno: err has the reason.
 */
int state_run_path(char *path, size_t room, const char *program, pid_t pid,
                   char err[TOOLS_ERROR_BYTES]);
/*
 * Save the run file `fd` as `path`, link `last` to it and remove old runs. If there is one of this
 * name -2, -3 .. is appended to `path`.
 */
int state_keep(int fd, char *path, size_t room, char err[TOOLS_ERROR_BYTES]);

struct kept_run {
    char path[PATH_MAX];
    struct timespec time; /* of its end */
    uint64_t bytes;       /* on disk */
};

/* The runs that are kept, the newest first; freed by the caller. */
struct kept_run *state_runs(size_t *count);

#define RUNS_KEPT 20u      /* of all programs */
#define RUNS_KEPT_MAX 256u /* of the last RUNS_RECENT_SECONDS */
#define RUNS_RECENT_SECONDS 600
#define TEMPORARY_SECONDS 86400    /* temporary files stay: they may still be written */
#define RUN_BYTES_MAX (4ull << 30) /* of data in one kept file, and on disk in all */

/* ---- keeper.c: a second process in the launcher's group -------------------------------------- */

/*
 * The keeper blocks every signal.  A signal that is pending in the keeper too was sent to the whole
 * process group; siginfo does not contain that.  The keeper also continues a launcher that stopped
 * together with its program if only the program was continued.  If the launcher is killed, the
 * keeper saves the run file.
 */
struct keeper {
    pid_t pid; /* 0: none */
    int fd;
    uint32_t questions;
};

/*
 * `name`: the program's; it must stay valid.  `last`: the last argument of this process; the keeper overwrites the arguments in its own memory.
 */
void keeper_start(struct keeper *k, const struct run_file *f, const char *name, char *last,
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

/* ---- guard.c --------------------------------------------------------------------------------- */

/* From now on SIGBUS in a mapping of a truncated file does not end this process. */
void guard_begin(void);
/* In a child, before exec: restore the inherited handler. */
void guard_give_back(void);

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

/* Absolute path of the runtime library that belongs to this launcher. */
int runtime_path(char *path, size_t room, char err[TOOLS_ERROR_BYTES]);

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

/* ---- measure.c: --measure -------------------------------------------------------------------- */

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

#endif
