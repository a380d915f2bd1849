/*
 * lifecycle.c - forks, exits, dlopen, sandboxes.
 *
 * Forks: our fork handlers are registered before all others, because the first registration also
 * registers ours.  So they run last before the fork and first after it.  fork itself is wrapped to
 * get the child's pid.  _Fork and a raw clone through syscall() run no handlers; their wrappers
 * call ours.
 *
 * Exits: an exit handler covers exit and return from main.  It is also registered before all others
 * (at the first registration, perhaps by a library's constructor), so it runs last.  It stops the
 * other threads, for which other exit handlers may wait.  _exit and _Exit are wrapped.  In a vfork
 * child they must call the kernel directly: the child runs in its parent's memory.
 */
#include "calls.h"
#include "intercept.h"
#include "library_jump.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "child.h"

/* ---- forks ----------------------------------------------------------------------------------- */

EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso);
EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso)
{
    static _Atomic bool registered;
    if (!atomic_exchange(&registered, true))
        NEXT(register_atfork)(fork_prepare, fork_parent, fork_child, NULL);
    if (!prepare && !parent && !child)
        return 0;
    return NEXT(register_atfork)(prepare, parent, child, dso);
}

EXPORT pid_t fork(void)
{
    pid_t pid = NEXT(fork)();
    if (pid != 0)
        fork_pid(pid);
    else
        shell_after_fork();
    return pid;
}

EXPORT pid_t _Fork(void)
{
    pid_t (*real)(void) = NEXT(_Fork); /* looked up before threads are stopped */
    fork_prepare();
    pid_t pid = real();
    if (pid == 0) {
        fork_child();
        shell_after_fork();
        return 0;
    }
    fork_parent();
    fork_pid(pid);
    return pid;
}

/* A clone without CLONE_VM is a fork. */
static bool is_fork(long nr, unsigned long flags)
{
    return nr == SYS_fork || (nr == SYS_clone && !(flags & CLONE_VM));
}

static long forking_call(long nr, const long a[6])
{
    long (*real)(long, ...) = NEXT(syscall);
    fork_prepare();
    long pid = real(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (pid == 0) {
        fork_child();
        shell_after_fork();
        return 0;
    }
    fork_parent();
    fork_pid((int32_t)pid);
    return pid;
}

static void note_sandbox(void)
{
    child_before_sandbox();
    fatal_withdraw();
    costs_stop();
    fence_entries = true; /* before the membarrier becomes unavailable */
    os_enter_sandbox();
    /* A child without an image reports it when it gets one. */
    if (init_is_started() && !fork_is_child())
        image_flag(IMAGE_SANDBOXED);
}

/*
 * A subreaper gets orphans as children and may count them, so ours would be visible.  PR_SET_TSC
 * may forbid the time-stamp counter.
 */
static void note_option(int option, long on)
{
    if (option == PR_SET_TSC && on != PR_TSC_ENABLE)
        costs_stop();
    if (option == PR_SET_CHILD_SUBREAPER && on && init_is_started() && run_header())
        atomic_store(&run_header()->adopts_orphans, 1);
}

EXPORT long syscall(long nr, ...)
{
    va_list ap;
    va_start(ap, nr);
    long a[6];
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (is_fork(nr, (unsigned long)a[0]))
        return forking_call(nr, a);
    if (nr == SYS_seccomp || (nr == SYS_prctl && a[0] == PR_SET_SECCOMP))
        note_sandbox();
    if (nr == SYS_prctl)
        note_option((int)a[0], a[1]);
    if (descriptors_tracked && descriptor_is_call(nr))
        return descriptor_call(nr, a, CALLER);
    return NEXT(syscall)(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT int prctl(int option, ...)
{
    va_list ap;
    va_start(ap, option);
    long a[4];
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (option == PR_SET_SECCOMP)
        note_sandbox();
    note_option(option, a[0]);
    return NEXT(prctl)(option, a[0], a[1], a[2], a[3]);
}

/* ---- exits ---------------------------------------------------------------------------------- */

static bool is_constructed;

/*
 * Calls exit again for another exit status, because streams are flushed after this handler.  It
 * calls libc's exit: the program may define its own.
 */
static void ending(int status, void *unused)
{
    (void)unused;
    int wanted = is_constructed ? init_hooks.finish(END_EXIT, status) : status;
    if (wanted != status)
        NEXT(exit)(wanted);
}

static void ending_quickly(void *unused)
{
    (void)unused;
    int wanted = is_constructed ? init_hooks.finish(END_QUICK_EXIT, 0) : 0;
    if (wanted)
        os_exit_now(wanted);
}

static void register_ends(void)
{
    static _Atomic bool registered;
    if (atomic_exchange(&registered, true))
        return;
    NEXT(on_exit)(ending, NULL);
    NEXT(cxa_at_quick_exit)(ending_quickly, NULL);
}

void lifecycle_constructed(void)
{
    register_ends();
    is_constructed = true;
}

EXPORT int on_exit(void (*handler)(int, void *), void *argument)
{
    register_ends();
    return NEXT(on_exit)(handler, argument);
}

/* Also covers atexit, which is linked into each program and library. */
EXPORT int __cxa_atexit(void (*handler)(void *), void *argument, void *dso);
EXPORT int __cxa_atexit(void (*handler)(void *), void *argument, void *dso)
{
    register_ends();
    return NEXT(cxa_atexit)(handler, argument, dso);
}

EXPORT int __cxa_at_quick_exit(void (*handler)(void *), void *dso);
EXPORT int __cxa_at_quick_exit(void (*handler)(void *), void *dso)
{
    register_ends();
    return NEXT(cxa_at_quick_exit)(handler, dso);
}

static _Noreturn void end_now(int status)
{
    if (init_is_started() && !fork_shares_memory())
        status = init_hooks.finish(END_EXIT_NOW, status);
    os_exit_now(status);
}

EXPORT _Noreturn void _exit(int status)
{
    end_now(status);
}

EXPORT _Noreturn void _Exit(int status)
{
    end_now(status);
}

/* ---- libraries ------------------------------------------------------------------------------- */

/* dlopen itself is in assembly (library_jump.h). */
LIBRARY_JUMP;

static_assert(RTLD_DEEPBIND == LIBRARY_JUMP_CLEARS, "the jump above clears it");

__attribute__((used)) void *next_dlopen;
__attribute__((used)) void *resolve_dlopen(void);
void *resolve_dlopen(void)
{
    return next_dlopen = dlsym(RTLD_NEXT, "dlopen");
}
