/*
 * finish.c - the end of an image, and by hand the reporter.
 *
 * The reporter is a program of its own, `rtcheck report --end FILE`, found beside our library.  It
 * is started so that the program cannot notice: cloned in our memory with all signals blocked,
 * from a child that itself ends at once, so that it is nobody's SIGCHLD and no waitpid finds it;
 * without our LD_PRELOAD.  We wait for its word in the run header, bounded.
 */
#include "leave_priv.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
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
#define STACK_BYTES 65536ul

struct start {
    char path[1024]; /* of the reporter */
    char *argv[6];
    char **envp;
    char *second_stack;
    uint32_t pid; /* of the reporter, once it is there */
    bool failed;
};

/* ---- the reporter's process ----------------------------------------------------------------- */

static int become_reporter(void *argument)
{
    struct start *s = argument;
    s->pid = os_pid();
    sigset_t none;
    sigemptyset(&none);
    for (int sig = 1; sig < NSIG; sig++)
        os_restore_action(sig, &(struct os_action){0}); /* of this process only: they are not shared */
    sigprocmask(SIG_SETMASK, &none, NULL);
    next.syscall(SYS_execve, s->path, s->argv, s->envp);
    s->failed = true;
    os_exit_now(127);
}

/* Starts the reporter and ends, so that the reporter is an orphan from the beginning. */
static int between(void *argument)
{
    struct start *s = argument;
    if (clone(become_reporter, s->second_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, s) < 0)
        s->failed = true;
    os_exit_now(0);
}

static bool find_reporter(char *out, size_t room)
{
    const char *given = getenv("RTCHECK_REPORTER");
    Dl_info us;
    struct text t = text_begin(out, room);
    if (given) {
        text_put(&t, given);
        text_end(&t);
    } else if (dladdr((void *)(uintptr_t)&leave_finish, &us) && us.dli_fname) {
        const char *slash = strrchr(us.dli_fname, '/');
        text_put_n(&t, us.dli_fname, slash ? (size_t)(slash - us.dli_fname) : 0);
        text_put(&t, "/../bin/rtcheck");
        text_end(&t);
    } else {
        return false;
    }
    struct stat st;
    return os_stat(out, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

/* environ without LD_PRELOAD, in *bytes of our own memory. */
static char **reporters_environment(size_t *bytes)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n])
        n++;
    *bytes = align_up((n + 1) * sizeof(char *), PAGE_BYTES);
    char **copy = os_map(*bytes);
    if (os_failed(copy))
        return NULL;
    for (size_t i = 0; i < n && environ[i]; i++)
        if (!text_starts(environ[i], "LD_PRELOAD="))
            copy[kept++] = environ[i];
    return copy;
}

static void wait_for_report(const struct start *s)
{
    struct run_header *run = run_header();
    for (uint64_t waited = 0; waited < REPORT_WAIT_NS; waited += POLL_NS) {
        if (atomic_load_explicit(&run->reported, memory_order_acquire) ||
            os_process_gone(s->pid))
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
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int pid = clone(between, stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, s);
    if (pid > 0)
        waitpid(pid, NULL, __WCLONE);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0) { /* both are in memory of their own by now */
        os_unmap(stacks, 2 * STACK_BYTES);
        os_unmap(s->envp, bytes);
    }
    return pid > 0 && !s->failed;
}

/* ---- by hand -------------------------------------------------------------------------------- */

static struct stat stderr_at_start;
static bool stderr_known;

static void __attribute__((constructor)) remember_stderr(void)
{
    stderr_known = os_stat_fd(2, &stderr_at_start) == 0;
}

/* The lines that we ever write ourselves: only to what was stderr when the program started. */
static void say(const char *what, const char *which)
{
    struct stat now;
    if (os_sandboxed() || !stderr_known || os_stat_fd(2, &now) || now.st_dev != stderr_at_start.st_dev ||
        now.st_ino != stderr_at_start.st_ino)
        return;
    char line[1200];
    struct text t = text_begin(line, sizeof line);
    text_put(&t, "rtcheck: ");
    text_put(&t, what);
    text_put(&t, which);
    text_put(&t, "\n");
    os_write(2, line, (size_t)(text_end(&t) - line));
}

/* The first image speaks for the run; a child only when the first is gone. */
static bool speaks_for_the_run(void)
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
    uint32_t seen = atomic_load(&run->checks_told);
    for (uint64_t waited = 0; waited < REPORT_WAIT_NS; waited += POLL_NS) {
        if (atomic_load_explicit(&now->record->told, memory_order_acquire) || os_process_gone(s.pid))
            return;
        os_wait(&run->checks_told, seen, POLL_NS, true);
        seen = atomic_load(&run->checks_told);
    }
}

static struct start reporter;
static bool reporter_known;

/* The loader is asked: not by who outlives a program that may have ended in the midst of it. */
void reporter_look(void)
{
    reporter_known = reporter_known || find_reporter(reporter.path, sizeof reporter.path);
}

int report_by_hand(void)
{
    struct start *s = &reporter;
    if (!run_header() && !rt.by_launcher && image()->image == 0)
        say("not recorded: no run file could be made", "");
    if (!run_header() || run_header()->mode != RUN_BY_HAND || !speaks_for_the_run())
        return 0;
    static char end[] = "--end";
    s->argv[0] = report_name;
    s->argv[1] = report_verb;
    s->argv[2] = end;
    s->argv[3] = (char *)(uintptr_t)run_path();
    if (!os_sandboxed())
        reporter_look();
    if (!os_sandboxed() && reporter_known && start_reporter(s))
        wait_for_report(s);
    else
        say("no reporter could be started: rtcheck report ", run_path());
    return (int)(atomic_load(&run_header()->status_asked) & 0xff);
}

/* ---- leaks ---------------------------------------------------------------------------------- */

#define END_BYTES 64u /* of libc's exit and quick_exit, which only call on */

/* The function by which the program ended; its caller, and what is further out, is all that is left. */
static struct range end_function(enum image_end how)
{
    struct object o;
    if (how == END_EXIT_NOW || how == END_EXEC)
        return loader_find((uintptr_t)&leave_finish, &o) ? (struct range){o.start, o.end}
                                                         : (struct range){0, 0};
    uintptr_t at = (uintptr_t)dlsym(RTLD_NEXT, how == END_QUICK_EXIT ? "quick_exit" : "exit");
    return (struct range){at, at + END_BYTES};
}

#define NO_IMAGE UINT32_MAX
static _Atomic uint32_t checked_early = NO_IMAGE; /* this image has had its check at the end */

static bool is_checked(void)
{
    return atomic_load(&checked_early) == image()->image;
}

static _Atomic uint32_t finishing = NO_IMAGE; /* a thread of this image ends it: it has the last word */

static bool is_finishing(void)
{
    return atomic_load(&finishing) == image()->image;
}

/* The thread whose turn goes on behind its check: it calls exec; and from where on its stack. */
static _Atomic uint32_t holder;
static uintptr_t calls_at;

/* Is this in a handler that has interrupted an exec? */
static bool is_holder(void)
{
    uint32_t tid = atomic_load(&holder);
    return tid && tid == os_tid();
}

static bool check_and_hold(const struct caller *caller, const struct range held[HELD_MAX])
{
    if (is_finishing()) {
        leaks_done();
        return false;
    }
    bool lost = leaks_check(caller, held, true);
    atomic_store(&holder, os_tid());
    atomic_fetch_add(&left_held, 1);
    return lost;
}

static bool check_and_go_on(const struct caller *caller, const struct range held[HELD_MAX])
{
    bool lost = leaks_check(caller, held, false);
    leaks_done();
    return lost;
}

/* No handler may leave it half done.  true: some are lost. */
static bool check_at_end(const struct caller *caller, const struct range held[HELD_MAX], bool holds)
{
    struct os_signals signals;
    bool lost = false;
    if (is_checked())
        return false;
    if (leaks_begin(&signals))
        lost = holds ? check_and_hold(caller, held) : check_and_go_on(caller, held);
    os_restore_signals(&signals);
    return lost;
}

/* true: some are lost. */
static bool find_leaks(enum image_end how, const struct range held[HELD_MAX])
{
    if (!wants_leaks_at_end())
        return false;
    struct range f = end_function(how);
    struct caller caller;
    if (!unwind_caller_of(f.start, f.end - f.start, &caller) &&
        !unwind_to((uintptr_t)__builtin_frame_address(0), &caller))
        return false;
    return check_at_end(&caller, held, how == END_EXEC);
}

bool leave_check_early(void)
{
    struct range us = end_function(END_EXIT_NOW);
    struct caller caller;
    uint64_t kept[KEPT_COUNT];
    const struct range held[HELD_MAX] = {{(uintptr_t)kept, (uintptr_t)(kept + KEPT_COUNT)}};
    if (!core_is_started() || !wants_leaks() || fork_shares_memory() ||
        !unwind_caller_of(us.start, us.end - us.start, &caller))
        return false;
    if (fork_is_child())
        fork_begin_child();
    leaks_keep(&caller, kept);
    bool lost = check_at_end(&caller, held, false);
    atomic_store(&checked_early, image()->image);
    vigil_end();
    leaks_hear(true);
    return lost && !image()->threads_unheard;
}

const struct range nothing[HELD_MAX];

void leave_killed(const void *context)
{
    struct caller caller;
    unwind_interrupted(context, &caller);
    atomic_store(&finishing, image()->image);
    if (is_holder())
        leave_stayed();
    struct cost_part since = cost_part_begin();
    errors_sweep();
    mapped_settle();
    dispatched_settle();
    check_at_end(&caller, nothing, false);
    cost_part_end(COST_SCAN, since);
    vigil_end();
    run_ring();
}

void leave_cut(void)
{
    say("the run file was made shorter while the program ran, which cannot go on: ", run_path());
}

int leave_finish(enum image_end how, int status)
{
    static _Atomic bool reported;
    if (fork_is_child())
        return status; /* did nothing with memory since the fork: there is no image to end */
    atomic_store(&finishing, image()->image);
    if (is_holder())
        leave_stayed();
    bool early = is_checked();
    struct cost_part since = cost_part_begin();
    errors_sweep();
    mapped_settle();
    dispatched_settle();
    find_leaks(how, nothing);
    cost_part_end(COST_SCAN, since);
    if (how == END_EXIT || how == END_QUICK_EXIT) { /* _exit is for handlers, too */
        if (!early)
            leaks_hear(true);
        heard_tell(&(struct heard){.event = HEARD_REPORT});
    }
    image_end(how, status);
    vigil_end();
    int asked = atomic_exchange(&reported, true) ? 0 : report_by_hand();
    return asked ? asked : status;
}

/* ---- exec ----------------------------------------------------------------------------------- */

/*
 * The other threads stand still until exec has ended them.  The stop has ended their pause or poll by EINTR: they
 * would go on with that, out of main perhaps, while this one is on its way.  And who looks for leaks
 * would send this thread a signal, which the next program would find.  For a second at most: a handler of this
 * thread may wait for one of them.
 *
 * By hand the next image makes a file of its own, and removes this one unless it has something to tell. */
bool leave_replaced(const struct exec_call *call)
{
    const struct range held[HELD_MAX] = {
        {(uintptr_t)call->given, (uintptr_t)(call->given + countof(call->given))},
        {(uintptr_t)call->list, (uintptr_t)(call->list + call->list_count)}};
    struct cost_part since = cost_part_begin();
    mapped_settle();
    dispatched_settle();
    calls_at = (uintptr_t)call;
    bool lost = find_leaks(END_EXEC, held);
    cost_part_end(COST_SCAN, since);
    if (is_finishing() && !is_holder())
        return false;
    image_end(END_EXEC, 0);
    vigil_end(); /* it would keep this memory */
    if (!rt.options.keep && !lost)
        run_step_aside(true);
    return true;
}

void leave_stayed(void)
{
    struct os_signals signals;
    uint32_t me = os_tid();
    bool begun = leaks_begin(&signals); /* else it is its turn since the check */
    if (!is_checked())
        leaks_forget();
    image_reopen();
    bool held = atomic_compare_exchange_strong(&holder, &me, 0);
    if (held) {
        atomic_fetch_sub(&left_held, 1);
        leaks_let_go();
    }
    if (!is_checked() && !is_finishing())
        vigil_start();
    if (!rt.options.keep)
        run_step_aside(false);
    if (begun || held)
        leaks_done();
    os_restore_signals(&signals);
}

void leave_left(const struct jump *j)
{
    if (is_holder() && jump_leaves(j, calls_at))
        leave_stayed();
}
