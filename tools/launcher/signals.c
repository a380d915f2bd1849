/*
 * signals.c - signal forwarding between the launcher's caller and the program.
 *
 * The program must receive every signal that it would receive without rtcheck, exactly once.
 * Signals sent to the launcher alone are forwarded.  Signals sent to the process group, by the
 * keyboard or by kill(-group), have already reached the program.  The keeper distinguishes the two
 * cases.  timeout(1) does both in succession, so a signal is handled only SETTLE_MS after its
 * arrival.  Equal signals within that time are merged, as pending signals are.
 *
 * Stops: the launcher stops only after the program has stopped (the program may handle SIGTSTP), by
 * the same signal.  So a shell displays and continues the job as usual.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/bits.h"
#include "launcher.h"

#define SETTLE_MS 20
#define CONTINUE_MS 50 /* how long to wait until a continued program's state changes */

static const int passed_on[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH};

struct waiting {
    pid_t program;
    int sent; /* the first signal to end the program that another process sent */
    struct keeper *keeper;
    struct rusage *usage;
    sigset_t set;
    uint64_t keeper_had; /* reported by the keeper and not yet consumed; bit n-1 = signal n */
    uint64_t explained_until_ms[NSIG]; /* equal signals until then are part of a group's */
};

static sigset_t waited_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (unsigned i = 0; i < countof(passed_on); i++)
        sigaddset(&set, passed_on[i]);
    return set;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Remove `sig` from the pending signals; was it pending? */
static bool take(int sig)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    return sigtimedwait(&one, NULL, &(struct timespec){0}) == sig;
}

void signals_begin(struct signal_state *was)
{
    sigset_t set = waited_set();
    /* An inherited SIG_IGN would make the kernel reap the program. */
    struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction ignored = {.sa_handler =
                                    SIG_IGN}; /* rows are written while the program runs */
    sigaction(SIGCHLD, &standard, &was->on_child);
    sigaction(SIGPIPE, &ignored, &was->on_pipe);
    sigaction(SIGXFSZ, &ignored, &was->on_size);
    sigprocmask(SIG_BLOCK, &set, &was->mask);
}

void signals_give_back(const struct signal_state *was)
{
    guard_give_back();
    sigaction(SIGCHLD, &was->on_child, NULL);
    sigaction(SIGPIPE, &was->on_pipe, NULL);
    sigaction(SIGXFSZ, &was->on_size, NULL);
    sigprocmask(SIG_SETMASK, &was->mask, NULL);
}

/*
 * Signals that arrived until now were meant for a program that does not exist yet, or has no
 * handler yet.  They affect the launcher as they would have affected the program.  If the launcher
 * ends, the child ends too, because it still waits for start_release.
 */
void signals_let_through(const struct signal_state *was, struct keeper *k)
{
    sigset_t set = waited_set();
    uint64_t of_before = 0;
    keeper_query(k, &of_before);
    sigprocmask(SIG_SETMASK, &was->mask, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* ---- passing on ------------------------------------------------------------------------------ */

/* Has the keeper received `sig` since the last call for it? */
static bool keeper_got(struct waiting *w, int sig)
{
    uint64_t bit = 1ull << (sig - 1);
    keeper_query(w->keeper, &w->keeper_had);
    bool got = w->keeper_had & bit;
    w->keeper_had &= ~bit;
    return got;
}

/*
 * Was `sig` sent to the whole group?  If so, our own copy may still be pending, if the signal that
 * we took was timeout's first one.  Or it may still be on its way, if the keeper received its copy
 * first.
 */
static bool is_for_group(struct waiting *w, int sig, const siginfo_t *info)
{
    bool by_kernel = info->si_code == SI_KERNEL;
    bool explained = now_ms() < w->explained_until_ms[sig];
    if (by_kernel && sig == SIGHUP && getsid(0) == getpid())
        return false; /* terminal hangup: the kernel signals only the session leader */
    sleep_ms(SETTLE_MS);
    if (keeper_got(w, sig)) {
        take(sig);
        w->explained_until_ms[sig] = now_ms() + SETTLE_MS;
        return true;
    }
    return explained || by_kernel;
}

/*
 * Has the program created its own process group, although the launcher leads the original one?
 * Without rtcheck the program would have been the group's leader, and the sender would have meant
 * its group.
 */
static bool has_moved(pid_t program)
{
    return getpgrp() == getpid() && getpgid(program) == program;
}

/* A signal of the program to its parent is meant for the launcher's parent. */
static bool is_for_parent(const struct waiting *w, const siginfo_t *info)
{
    return info->si_code <= 0 && info->si_pid == w->program && getppid() > 1;
}

static void note_sent(struct waiting *w, int sig, const siginfo_t *info)
{
    bool is_to_end = sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT;
    if (is_to_end && w->sent == 0 && !(info->si_code <= 0 && info->si_pid == w->program))
        w->sent = sig;
}

static void pass_on(struct waiting *w, int sig, const siginfo_t *info)
{
    note_sent(w, sig, info);
    if (is_for_group(w, sig, info)) {
        if (has_moved(w->program))
            kill(-w->program, sig);
    } else if (is_for_parent(w, info)) {
        kill(getppid(), sig);
    } else if (info->si_code == SI_QUEUE) {
        sigqueue(w->program, sig, info->si_value);
    } else {
        kill(w->program, sig);
    }
}

/* The program has ended; forward signals that it sent to its parent before. */
static void pass_on_last(struct waiting *w)
{
    siginfo_t info;
    int sig;
    while ((sig = sigtimedwait(&w->set, &info, &(struct timespec){0})) > 0) {
        note_sent(w, sig, &info);
        if (sig != SIGCHLD && is_for_parent(w, &info) && !keeper_got(w, sig))
            kill(getppid(), sig);
    }
}

/* ---- stopping and continuing ----------------------------------------------------------------- */

/* Stop the launcher by `sig`; false: it does not stop, because it is the init of a container. */
static bool stop_self(int sig)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    kill(getpid(), sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* stops here, until SIGCONT arrives */
    sigprocmask(SIG_BLOCK, &one, NULL);
    if (take(SIGCONT))
        return true;
    kill(getpid(), SIGSTOP); /* sig is ignored, or the group is orphaned: SIGSTOP always stops */
    return take(SIGCONT);
}

/* Get the next change of the program's state, if there is one. */
static bool next_change(const struct waiting *w, int *status)
{
    return wait4(w->program, status, WNOHANG | WUNTRACED | WCONTINUED, w->usage) == w->program;
}

/*
 * The program has stopped: stop the launcher, and continue both together.  true: *status is the
 * program's next change; false: there is none yet.
 */
static bool stop_together(struct waiting *w, int sig, int *status)
{
    keeper_stopping(w->keeper, true);
    bool stopped = stop_self(sig);
    keeper_stopping(w->keeper, false);
    bool changed = next_change(w, status);
    for (int ms = 0; stopped && !changed && ms < CONTINUE_MS; ms++) {
        sleep_ms(1);
        changed = next_change(w, status);
    }
    if (stopped && !changed) /* only the launcher was continued */
        kill(w->program, SIGCONT);
    keeper_got(w, SIGCONT); /* consume the SIGCONT that continued the launcher */
    return changed;
}

/* Follow the program's state changes.  true: it has ended, with *status. */
static bool has_ended(struct waiting *w, int *status)
{
    bool changed = next_change(w, status);
    while (changed) {
        if (WIFEXITED(*status) || WIFSIGNALED(*status))
            return true;
        changed = WIFSTOPPED(*status) ? stop_together(w, WSTOPSIG(*status), status)
                                      : next_change(w, status);
    }
    return false;
}

/*
 * As the init of a container, or after an exec by a process with children, we may have other
 * children.
 */
static void reap_others(const struct waiting *w)
{
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
           info.si_pid != w->program && info.si_pid != w->keeper->pid) {
        waitpid(info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
}

int signals_wait(pid_t program, struct keeper *k, struct rusage *usage, int *sent)
{
    struct waiting w = {.program = program, .keeper = k, .usage = usage, .set = waited_set()};
    int status = 0;
    while (!has_ended(&w, &status)) {
        siginfo_t info;
        int sig = sigwaitinfo(&w.set, &info);
        if (sig == SIGCHLD)
            reap_others(&w);
        else if (sig > 0)
            pass_on(&w, sig, &info);
    }
    pass_on_last(&w);
    *sent = w.sent;
    return status;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* A ^C after the program's end ends the report; late copies of the program's signal are ignored. */
static void on_keyboard(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != SI_KERNEL)
        return;
    signal(sig, SIG_DFL);
    raise(sig); /* delivered when the handler returns */
}

/* No core dump of the launcher, and the largest file size that the hard limit allows. */
static void adjust_limits(void)
{
    struct rlimit files;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (getrlimit(RLIMIT_FSIZE, &files) == 0)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){files.rlim_max, files.rlim_max});
}

void signals_after_program(const struct signal_state *was)
{
    static const int keyboard[] = {SIGINT, SIGQUIT};
    struct sigaction action = {.sa_sigaction = on_keyboard, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigset_t set;
    adjust_limits();
    sigemptyset(&set);
    for (unsigned i = 0; i < countof(keyboard); i++) {
        struct sigaction inherited;
        sigaction(keyboard[i], NULL, &inherited);
        if (inherited.sa_handler == SIG_IGN || sigismember(&was->mask, keyboard[i]))
            continue; /* the caller ignores or blocks it */
        sigaction(keyboard[i], &action, NULL);
        sigaddset(&set, keyboard[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_end_as(int signo)
{
    sigset_t one;
    prctl(PR_SET_DUMPABLE, 0);
    signal(signo, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, signo);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), signo);
    _exit(128 + signo); /* the init of a container cannot kill itself */
}
