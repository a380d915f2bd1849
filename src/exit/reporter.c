/*
 * reporter.c - start the reporter in a run without a launcher, at the end and on demand.
 *
 * The reporter is a separate program, `rtcheck report --end FILE`, found relative to our library.
 * The program cannot notice its start.  It is cloned in our memory with all signals blocked,
 * without our LD_PRELOAD.  Its parent is a child that ends at once, so the reporter causes no
 * SIGCHLD and no waitpid finds it.  The wait for its result in the run header is bounded.
 */
#include "exit_priv.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_WAIT_NS 30000000000ull
#define POLL_NS 50000000ull
#define STACK_BYTES 16384ul /* address space may be limited */

struct start {
    char path[1024]; /* path of the reporter */
    char *argv[6];
    char **envp;
    char *second_stack;
    uint32_t pid; /* pid of the reporter, set when it has started */
    bool failed;
};

/* ---- the reporter's process ------------------------------------------------------------------ */

static int become_reporter(void *argument)
{
    struct start *s = argument;
    s->pid = os_pid();
    sigset_t none;
    sigemptyset(&none);
    for (int sig = 1; sig < NSIG; sig++)
        os_restore_action(sig, &(struct os_action){0}); /* actions are not shared with the parent */
    next.sigprocmask(SIG_SETMASK, &none, NULL);
    next.syscall(SYS_execve, s->path, s->argv, s->envp);
    s->failed = true;
    os_exit_now(127);
}

/* Start the reporter and end, so that the reporter is an orphan from the beginning. */
static int between(void *argument)
{
    struct start *s = argument;
    if (clone(become_reporter, s->second_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, s) < 0)
        s->failed = true;
    os_exit_now(0);
}

/* The program may have set environ to any value: treat an unreadable one as empty. */
static char **readable_environment(void)
{
    static char *none[] = {NULL};
    struct environment e;
    environment_read(&e, environ);
    return e.readable && environ ? environ : none;
}

static const char *find_variable(const char *name_and_equals)
{
    for (char **e = readable_environment(); *e; e++)
        if (text_starts(*e, name_and_equals))
            return *e + text_length(name_and_equals);
    return NULL;
}

static bool find_reporter(char *out, size_t room)
{
    const char *given = find_variable("RTCHECK_REPORTER=");
    Dl_info own_code;
    struct text t = text_begin(out, room);
    if (given) {
        text_put(&t, given);
        text_end(&t);
    } else if (dladdr((void *)(uintptr_t)&finish_image, &own_code) && own_code.dli_fname) {
        const char *slash = strrchr(own_code.dli_fname, '/');
        text_put_n(&t, own_code.dli_fname, slash ? (size_t)(slash - own_code.dli_fname) : 0);
        text_put(&t, "/../bin/rtcheck");
        text_end(&t);
    } else {
        return false;
    }
    struct stat st;
    return os_stat(out, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

/* environ without LD_PRELOAD, in newly mapped memory of *bytes bytes. */
static char **reporters_environment(size_t *bytes)
{
    char **given = readable_environment();
    size_t n = 0, kept = 0;
    while (given[n])
        n++;
    *bytes = align_up((n + 1) * sizeof(char *), PAGE_BYTES);
    char **copy = os_map(*bytes);
    if (os_failed(copy))
        return NULL;
    for (size_t i = 0; i < n && given[i]; i++)
        if (!text_starts(given[i], "LD_PRELOAD="))
            copy[kept++] = given[i];
    return copy;
}

static void wait_for_report(const struct start *s)
{
    struct run_header *run = run_header();
    for (uint64_t waited = 0; waited < REPORT_WAIT_NS; waited += POLL_NS) {
        if (atomic_load_explicit(&run->reported, memory_order_acquire) || os_process_gone(s->pid))
            return;
        os_wait(&run->reported, 0, POLL_NS, true);
    }
}

static bool start_reporter(struct start *s)
{
    size_t bytes;
    char *stacks = os_map(2 * STACK_BYTES);
    s->failed = false;
    s->envp = reporters_environment(&bytes);
    if (os_failed(stacks) || !s->envp)
        return false;
    s->second_stack = stacks + STACK_BYTES;
    sigset_t all, before;
    sigfillset(&all);
    next.pthread_sigmask(SIG_SETMASK, &all, &before);
    int pid = clone(between, stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, s);
    if (pid > 0)
        waitpid(pid, NULL, __WCLONE);
    next.pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0) { /* both processes have left this memory */
        os_unmap(stacks, 2 * STACK_BYTES);
        os_unmap(s->envp, bytes);
    }
    return pid > 0 && !s->failed;
}

/* ---- runs without a launcher ----------------------------------------------------------------- */

static struct stat stderr_at_start;
static bool stderr_known;

static void __attribute__((constructor)) remember_stderr(void)
{
    stderr_known = os_stat_fd(2, &stderr_at_start) == 0;
}

/*
 * The only lines that the runtime prints.  They are written only to the stderr of the program's
 * start.
 */
static void print_line(const char *what, const char *which)
{
    struct stat now;
    if (os_sandboxed() || !stderr_known || os_stat_fd(2, &now) ||
        now.st_dev != stderr_at_start.st_dev || now.st_ino != stderr_at_start.st_ino)
        return;
    char line[1200];
    struct text t = text_begin(line, sizeof line);
    text_put(&t, "rtcheck: ");
    text_put(&t, what);
    text_put(&t, which);
    text_put(&t, "\n");
    os_write(2, line, (size_t)(text_end(&t) - line));
}

/* The first image reports for the run; a child does so only if the first process is gone. */
static bool is_run_reporter(void)
{
    uint32_t first = atomic_load(&run_areas()[1].pid);
    return image()->image == 1 || (first && os_process_gone(first));
}

static char report_name[] = "rtcheck", report_verb[] = "report";

void report_check_by_hand(const struct leaks_now *now)
{
    static struct start s;
    static char check[] = "--check", number[16];
    struct text t = text_begin(number, sizeof number);
    if (rt.drop_in.is_on)
        return;
    text_decimal(&t, image()->image);
    text_end(&t);
    s.argv[0] = report_name;
    s.argv[1] = report_verb;
    s.argv[2] = check;
    s.argv[3] = number;
    s.argv[4] = (char *)(uintptr_t)run_path();
    if (os_sandboxed() || !find_reporter(s.path, sizeof s.path) || !start_reporter(&s))
        return;
    struct run_header *run = run_header();
    uint32_t seen = atomic_load(&run->checks_reported);
    for (uint64_t waited = 0; waited < REPORT_WAIT_NS; waited += POLL_NS) {
        if (atomic_load_explicit(&now->record->reported, memory_order_acquire) ||
            os_process_gone(s.pid))
            return;
        os_wait(&run->checks_reported, seen, POLL_NS, true);
        seen = atomic_load(&run->checks_reported);
    }
}

static struct start reporter;
static bool reporter_known, reporter_searched;

/*
 * Find the reporter.  This takes the loader's lock, which another thread may hold.  Do not call
 * while the threads are stopped, nor in the post-mortem scanner: the program may have ended while
 * it held that lock.
 */
void reporter_find(void)
{
    if (reporter_searched || os_sandboxed() || !run_header() || run_header()->mode != RUN_BY_HAND)
        return;
    reporter_searched = true;
    reporter_known = find_reporter(reporter.path, sizeof reporter.path);
}

/* Exit status if there is no report, and so no known result. 0: the program's own status. */
static int status_unknown(void)
{
    return rt.options.error_exitcode > 0 ? rt.options.error_exitcode : 0;
}

int end_without_file(int status)
{
    int unknown = status_unknown();
    finish_file_cut(true);
    return unknown && run_path()[0] ? unknown : status;
}

int report_by_hand(void)
{
    struct start *s = &reporter;
    if (!run_header() && !rt.by_launcher && image()->image == 0) {
        print_line("not recorded: no run file could be made", "");
        return status_unknown();
    }
    if (!run_header() || run_header()->mode != RUN_BY_HAND || !is_run_reporter())
        return 0;
    if (run_is_cut())
        return status_unknown();
    static char end[] = "--end";
    s->argv[0] = report_name;
    s->argv[1] = report_verb;
    s->argv[2] = end;
    s->argv[3] = (char *)(uintptr_t)run_path();
    if (!os_sandboxed() && reporter_known && start_reporter(s))
        wait_for_report(s);
    else {
        print_line("no reporter could be started: rtcheck report ", run_path());
        return status_unknown();
    }
    if (!atomic_load_explicit(&run_header()->reported, memory_order_acquire))
        return status_unknown(); /* it ended without a result */
    return (int)(atomic_load(&run_header()->status_requested) & 0xff);
}

void finish_file_cut(bool survived)
{
    static _Atomic bool printed;
    if (!atomic_exchange(&printed, true) || !survived)
        print_line(survived ? "the run file was truncated; the program continues unchecked: "
                            : "the run file was truncated, and the program cannot continue: ",
                   run_path());
}

void finish_heap_lost(void)
{
    print_line(
        "the file system has no room for a page of the heap, and the program cannot continue: ",
        run_path());
}
