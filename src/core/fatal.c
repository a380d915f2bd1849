/*
 * fatal.c - ends by a signal that the program left to its default.
 *
 * The kernel ends a process without a word; so where the program has no handler for a signal whose
 * default is the end, ours stands in, and the program is told that there is none (intercept/signals.c).
 * It is taken away as the signal is delivered, says what is to be said, and the signal ends the
 * process as it would have: a fault by happening again, any other by being sent again, so that status
 * and core are what they would be.  A second signal meanwhile finds the default.
 *
 * Nothing of it before the first process of a pid namespace (there signals without a handler are no
 * end), in a sandbox that might forbid to send a signal, and in a vfork child.
 */
#include "core.h"
#include "fault.h"

static const uint8_t fatal[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT,  SIGBUS,  SIGFPE,
                                SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM,  SIGTERM, SIGXCPU,
                                SIGXFSZ, SIGIO,   SIGSYS,  SIGPROF, SIGVTALRM};

static _Atomic bool installed;
static struct os_action program_action[32]; /* by signal: the default, as the program has set it */
static _Atomic int postponed;               /* the signal */
static const struct fatal_hooks *hooks;

bool fatal_covers(int signal)
{
    for (unsigned i = 0; i < sizeof fatal; i++)
        if (fatal[i] == signal)
            return atomic_load_explicit(&installed, memory_order_relaxed);
    return false;
}

/* The instruction will fault again as soon as we return. */
static bool happens_again(int signal, const siginfo_t *info)
{
    return info->si_code > 0 &&
           (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL);
}

/*
 * It interrupts a section of its own thread, in which nothing can be looked at: it is sent again behind it.
 * Once: if that section has no end, the next one ends it.
 */
static bool postpone(int signal)
{
    struct thread *t = self;
    if (!t || !thread_is_inside(t) || atomic_exchange(&postponed, signal))
        return false;
    fatal_install(signal);
    t->after |= AFTER_SIGNAL;
    return true;
}

void fatal_deliver_postponed(void)
{
    os_signal_thread(os_tid(), atomic_load(&postponed), NULL);
}

/* Somebody has made the run file shorter: what is behind its end cannot be read or written any more. */
static bool is_file_cut(int signal, const siginfo_t *info)
{
    return signal == SIGBUS && info->si_code == BUS_ADRERR && run_contains(info->si_addr);
}

static void on_fatal(int signal, void *info, void *context)
{
    if (!happens_again(signal, info) && postpone(signal))
        return;
    if (is_file_cut(signal, info)) {
        hooks->cut();
    } else if (!fork_shares_memory() && !fork_is_child() && !os_sandboxed()) {
        if ((signal == SIGSEGV || signal == SIGBUS) &&
            fault_is_of_fill(info, context, pool_knobs.free_fill))
            image_flag(IMAGE_FAULT_OF_FREED);
        hooks->killed(context);
    }
    if (!happens_again(signal, info))
        os_signal_thread(os_tid(), signal, NULL); /* blocked while we are here */
}

bool fatal_is_ours(const void *handler)
{
    return handler == (const void *)(uintptr_t)&on_fatal;
}

void fatal_install(int signal)
{
    struct os_action before;
    if (os_action_of(signal, &before) || !os_is_default(&before))
        return;
    if (os_take_signal(signal, on_fatal, SA_RESETHAND | SA_ONSTACK | SA_RESTART, &before))
        return;
    if (os_is_default(&before))
        program_action[signal] = before;
    else if (os_handler_of(&before) != on_fatal)
        os_restore_action(signal, &before);
}

const struct os_action *fatal_program_action(int signal)
{
    return &program_action[signal];
}

void fatal_start(const struct fatal_hooks *given)
{
    hooks = given;
    if (os_pid() == 1 || os_sandboxed())
        return;
    atomic_store(&installed, true);
    for (unsigned i = 0; i < sizeof fatal; i++)
        fatal_install(fatal[i]);
}

void fatal_withdraw(void)
{
    struct os_action before, none = {0};
    if (!atomic_exchange(&installed, false))
        return;
    for (unsigned i = 0; i < sizeof fatal; i++)
        if (os_action_of(fatal[i], &before) == 0 && os_handler_of(&before) == on_fatal)
            os_restore_action(fatal[i], &none);
}
