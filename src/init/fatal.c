/*
 * fatal.c - handlers for signals that end the process by default, and that the program has left at
 * that default.
 *
 * The kernel ends a process without a notice. So for each such signal our own handler is installed,
 * and sigaction reports SIG_DFL to the program (intercept/signals.c). The handler is reset at
 * delivery (SA_RESETHAND), and first runs the work of an image's end. Then the signal ends the
 * process, with the same exit status and core dump as without us. A fault repeats itself, unless
 * memory was mapped at its address meanwhile; any other signal is sent again. A second signal in the meantime finds the default.
 *
 * SIGBUS also occurs if the run file is truncated, in any thread that uses a lost page. If those pages
 * can be replaced (runfile/cut.c) the instruction is repeated and the program continues. So this
 * handler is not reset at delivery, because other threads may need it at the same time, and while
 * it is installed the runtime never blocks SIGBUS, not in its other handlers either: the kernel ends a
 * process that cannot handle it.  It runs on the stack that is in use: on the helper stack
 * (os/helper_stack.c) the kernel would take an alternate stack for free on which a handler of the
 * program waits.
 *
 * A bad access at a guard page (guard_fault.c) raises SIGSEGV, too, and the program continues.  While
 * blocks are guarded, our handler of SIGSEGV is therefore not reset at delivery either.  A handler of
 * the program is replaced by one of ours with the same flags and mask, which calls it for all other
 * faults.  But the kernel never blocks SIGSEGV then, not in that handler either: SELF_BLOCKS_FAULTS is
 * set where the program has blocked it.  Natively a fault ends such a program, and a signal that was
 * sent stays pending.
 *
 * No handler is installed in the first process of a pid namespace: signals without a handler do not
 * end it. There is none in a sandbox either, which might forbid sending a signal. In a vfork child
 * the handler skips the work.
 */
#include "init.h"
#include "context.h"
#include "fault.h"

static const uint8_t fatal[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT,  SIGBUS,  SIGFPE,
                                SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM,  SIGTERM, SIGXCPU,
                                SIGXFSZ, SIGIO,   SIGSYS,  SIGPROF, SIGVTALRM};

static _Atomic bool installed;
/* By signal: the default, as the program has set it; SIGSEGV: or a handler of the program. */
static struct os_action program_action[32];
static _Atomic int postponed; /* the signal */
static const struct fatal_hooks *hooks;

bool fatal_covers(int signal)
{
    for (unsigned i = 0; i < sizeof fatal; i++)
        if (fatal[i] == signal)
            return atomic_load_explicit(&installed, memory_order_relaxed);
    return false;
}

/* The instruction will fault again when the handler returns. */
static bool happens_again(int signal, const siginfo_t *info)
{
    return info->si_code > 0 &&
           (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL);
}

/*
 * The same after our work: memory may have been mapped at the address in the meantime, also by us,
 * as the kernel prefers holes that have become free.
 */
static bool still_happens_again(int signal, const siginfo_t *info)
{
    bool is_filled = signal == SIGSEGV && info->si_code == SEGV_MAPERR &&
                     os_is_readable((uintptr_t)info->si_addr);
    return happens_again(signal, info) && !is_filled;
}

/*
 * The signal interrupted a section of its own thread, so no state can be used: send it again after
 * the section. Do this only once: if that section never ends, the next signal ends it.
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

/* heap=file: a page of the program's own memory.  The program cannot continue without it. */
static bool is_heap_lost(int signal, const siginfo_t *info)
{
    return signal == SIGBUS && info->si_code == BUS_ADRERR &&
           heap_has_pages_in_file((uintptr_t)info->si_addr, 1);
}

/* The run file was truncated by another process: pages past its end raise SIGBUS. */
static bool is_file_cut(int signal, const siginfo_t *info)
{
    return signal == SIGBUS && info->si_code == BUS_ADRERR &&
           (run_contains(info->si_addr) || (is_heap_lost(signal, info) && run_is_short()));
}

static bool survives_cut(const siginfo_t *info)
{
    bool survived = run_replace_lost(info->si_addr, pool_fill_lost);
    hooks->cut(survived);
    return survived;
}

/*
 * A child that has not called the runtime since its fork is not an image yet.  A crash makes it one;
 * another signal ends it without a record.  false: there is no image.
 */
static bool ensure_image(int signal, const siginfo_t *info)
{
    bool is_crash = happens_again(signal, info) || signal == SIGABRT;
    if (fork_is_child() && is_crash && !fork_is_beginning())
        fork_begin_child();
    return !fork_is_child();
}

/* A SIGSEGV that the program has blocked was sent: it stays pending, as natively. */
static bool is_kept(const siginfo_t *info, void *context)
{
    if (!(self_state & SELF_BLOCKS_FAULTS) || info->si_code > 0)
        return false;
    os_keep_pending(SIGSEGV, info, context);
    return true;
}

static void on_fatal(int signal, void *info, void *context)
{
    bool cut = is_file_cut(signal, info), heap_lost = !cut && is_heap_lost(signal, info);
    uint64_t source;
    if (signal == SIGSEGV &&
        (translated_fault(info, context) || guard_fault(info, context) || is_kept(info, context)))
        return;
    if (cut && survives_cut(info))
        return;
    if (signal == SIGBUS || signal == SIGSEGV)
        os_restore_action(signal,
                          &program_action[signal]); /* as SA_RESETHAND does for the others */
    if (!happens_again(signal, info) && postpone(signal))
        return;
    if (heap_lost)
        hooks->heap_lost();
    if (cut || heap_lost) {
        ; /* nothing can be recorded */
    } else if (!run_is_gone() && !run_is_cut() && !fork_shares_memory() && !os_sandboxed() &&
               ensure_image(signal, info)) {
        if ((signal == SIGSEGV || signal == SIGBUS) &&
            fault_is_of_fill(info, context, pool_knobs.free_fill, &source))
            image_flag(IMAGE_FAULT_OF_FREED);
        hooks->killed(&(struct fatal_signal){signal, info, context});
    }
    if (!still_happens_again(signal, info))
        os_signal_thread(os_tid(), signal, NULL); /* blocked until this handler returns */
}

/* ---- the program's handler of SIGSEGV -------------------------------------------------------- */

#define FAULT_BIT (1ull << (SIGSEGV - 1))

/* Replace the action by the default, which is our handler. */
static void reset(int signal)
{
    struct os_action action = program_action[signal];
    action.handler = 0;
    os_restore_action(signal, &action);
    fatal_install(signal);
}

/* The mask after the handler, in the context, is that of the interrupted code unless the program changes it. */
static void call_handler(const struct os_action *action, int signal, void *info, void *context)
{
    if (!(action->flags & SA_NODEFER) || action->mask & FAULT_BIT)
        self_state |= SELF_BLOCKS_FAULTS;
    handlers_call(action, signal, info, context);
    self_state &= ~(uint32_t)SELF_BLOCKS_FAULTS;
    if (*context_mask(context) & FAULT_BIT) {
        self_state |= SELF_BLOCKS_FAULTS;
        *context_mask(context) &= ~FAULT_BIT;
    }
}

/* The kernel has set the program's mask without SIGSEGV, on the program's stack. */
static void on_chained(int signal, void *info, void *context)
{
    struct os_action action = program_action[signal];
    if (translated_fault(info, context) || guard_fault(info, context) || is_kept(info, context))
        return;
    if (self_state & SELF_BLOCKS_FAULTS || !os_handler_of(&action)) {
        reset(signal); /* the fault happens again */
        return;
    }
    if (action.flags & SA_RESETHAND)
        reset(signal);
    call_handler(&action, signal, info, context);
}

static void chain(int signal, const struct os_action *given)
{
    struct os_action own = *given;
    program_action[signal] = *given;
    own.handler = (uintptr_t)on_chained;
    own.flags = (own.flags | SA_SIGINFO | SA_NODEFER) & ~(uint64_t)SA_RESETHAND;
    own.mask &= ~FAULT_BIT;
    os_restore_action(signal, &own);
}

/* ---- installation ---------------------------------------------------------------------------- */

bool fatal_is_own(const void *handler)
{
    return handler == (const void *)(uintptr_t)&on_fatal ||
           handler == (const void *)(uintptr_t)&on_chained;
}

/*
 * While blocks are guarded, replace the program's action of SIGSEGV.  true: that is not the default.
 * A vfork child must not change the parent's table.
 */
static bool install_over(int signal, const struct os_action *now)
{
    os_handler handler = os_handler_of(now);
    if (signal != SIGSEGV || !guarded_is_on() || os_is_default(now))
        return !os_is_default(now);
    if (handler && !fatal_is_own((const void *)(uintptr_t)handler))
        chain(signal, now);
    else if (!handler)
        guarded_stop(); /* ignored: a fault would end the program */
    return true;
}

static void install(int signal)
{
    struct os_action before;
    bool is_bus = signal == SIGBUS, survives = is_bus || (signal == SIGSEGV && guarded_is_on());
    int flags = SA_RESTART | (is_bus ? 0 : SA_ONSTACK) | (survives ? 0 : SA_RESETHAND);
    if ((signal == SIGSEGV && fork_shares_memory()) || os_action_of(signal, &before) ||
        install_over(signal, &before))
        return;
    if (os_take_signal(signal, on_fatal, flags, is_bus ? 0 : SIGBUS, &before))
        return;
    if (os_is_default(&before))
        program_action[signal] = before;
    else if (os_handler_of(&before) != on_fatal)
        os_restore_action(signal, &before);
}

void fatal_install(int signal)
{
    struct os_action now;
    install(signal);
    if (signal == SIGBUS && os_action_of(signal, &now) == 0)
        os_never_block(os_handler_of(&now) == on_fatal ? SIGBUS : 0);
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
    guarded_start();
    for (unsigned i = 0; i < sizeof fatal; i++)
        fatal_install(fatal[i]);
    signal_stack_start();
}

void fatal_withdraw(void)
{
    struct os_action before, none = {0};
    guarded_stop();
    if (!atomic_exchange(&installed, false))
        return;
    for (unsigned i = 0; i < sizeof fatal; i++)
        if (os_action_of(fatal[i], &before) == 0 && os_handler_of(&before) == on_fatal)
            os_restore_action(fatal[i], &none);
        else if (os_handler_of(&before) == on_chained)
            os_restore_action(fatal[i], &program_action[fatal[i]]);
    os_never_block(0);
}
