/*
 * signals.c - the program's signal actions, where our handler replaces a default action.
 *
 * The program must not notice our handler: a query returns the default action, and setting the
 * default installs our handler.  libc's functions run first; between the two steps our handler is
 * not installed.  Neither must it notice our alternate signal stacks (init/signal_stack.c).  abort
 * ends a program whose handler of SIGABRT returns.
 *
 * A bad access at a guard page raises SIGSEGV, and the kernel ends a process that blocks it.  So while
 * blocks are guarded the signal is removed from masks: those of threads, and those of handlers.  The
 * program sees it in the masks that it reads.  (That of its handler of SIGSEGV: init/fatal.c.)
 */
#include "intercept.h"
#include "library_jump.h"

#include <signal.h>
#include <string.h>

/* An action is set; in a vfork child these are not the parent's. */
static void note_stack(int signal, bool wants)
{
    if (!fork_shares_memory())
        signal_stack_note(signal, wants);
}

/* libc has returned the old handler `before`, and perhaps set another one. */
static void *program_handler(int signal, void *before)
{
    before = (void *)(uintptr_t)handlers_program(signal, before);
    handlers_wrap(signal);
    if (before != (void *)(uintptr_t)SIG_ERR)
        note_stack(signal, false);
    if (!fatal_covers(signal))
        return before;
    uintptr_t replaced = fatal_program_action(signal)->handler;
    fatal_install(signal); /* if the action is now the default */
    return fatal_is_own(before) ? (void *)replaced : before;
}

/* Fill in the old action as libc would without our handler. */
static void hide_our_handler(int signal, struct sigaction *old)
{
    const struct os_action *was = fatal_program_action(signal);
    int on_stack = os_is_default(was) ? 0 : old->sa_flags & SA_ONSTACK;
    *old = (struct sigaction){.sa_flags = (int)was->flags | on_stack};
    memcpy(&old->sa_sigaction, &was->handler, sizeof was->handler);
    memcpy(&old->sa_mask, &was->mask, sizeof was->mask);
}

/* A handler that runs on an alternate stack, if its thread has one. */
static bool wants_stack(const struct sigaction *act)
{
    uintptr_t handler = (uintptr_t)act->sa_sigaction;
    return act->sa_flags & SA_ONSTACK && handler != (uintptr_t)SIG_DFL &&
           handler != (uintptr_t)SIG_IGN;
}

/* Bit n: the mask of the program's handler of signal n + 1 contains SIGSEGV. */
static _Atomic uint64_t masks_fault;

static void note_mask(int signal, bool blocks)
{
    uint64_t bit = 1ull << (signal - 1);
    if (fork_shares_memory())
        return;
    if (blocks)
        atomic_fetch_or(&masks_fault, bit);
    else if (atomic_load(&masks_fault) & bit)
        atomic_fetch_and(&masks_fault, ~bit);
}

static bool blocks_fault(const sigset_t *mask)
{
    return guarded_is_on() && sigismember(mask, SIGSEGV) == 1;
}

/* The handler that the program has set, not ours that calls it. */
static void show_program_handler(int signal, struct sigaction *old)
{
    const void *handler;
    memcpy(&handler, &old->sa_sigaction, sizeof handler);
    handler = handlers_program(signal, handler);
    memcpy(&old->sa_sigaction, &handler, sizeof handler);
}

EXPORT int sigaction(int signal, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction without;
    bool was_removed = signal_stack_hides(signal), wants = act && wants_stack(act),
         removes = wants && signal_stack_removes(CALLER->pc),
         blocks = act && signal != SIGSEGV && blocks_fault(&act->sa_mask);
    if (removes || blocks)
        without = *act;
    if (removes)
        without.sa_flags &= ~SA_ONSTACK;
    if (blocks)
        sigdelset(&without.sa_mask, SIGSEGV);
    int result = NEXT(sigaction)(signal, removes || blocks ? &without : act, old);
    if (result)
        return result;
    if (old)
        show_program_handler(signal, old);
    if (act)
        handlers_wrap(signal);
    if (old && was_removed)
        old->sa_flags |= SA_ONSTACK;
    if (old && atomic_load(&masks_fault) >> (signal - 1) & 1)
        sigaddset(&old->sa_mask, SIGSEGV);
    if (act)
        note_stack(signal, wants);
    if (act)
        note_mask(signal, blocks);
    if (!fatal_covers(signal))
        return result;
    if (old && fatal_is_own((void *)(uintptr_t)old->sa_sigaction))
        hide_our_handler(signal, old);
    if (act)
        fatal_install(signal);
    return result;
}

EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    return (__sighandler_t)(uintptr_t)program_handler(
        number, NEXT(signal)(number, (void *)(uintptr_t)handler));
}

/* Other names of the same function. */
EXPORT __sighandler_t bsd_signal(int number, __sighandler_t handler)
    __attribute__((alias("signal"), nothrow, leaf));
EXPORT __sighandler_t ssignal(int number, __sighandler_t handler)
    __attribute__((alias("signal"), nothrow, leaf));

EXPORT __sighandler_t sysv_signal(int number, __sighandler_t handler)
{
    return (__sighandler_t)(uintptr_t)program_handler(
        number, NEXT(sysv_signal)(number, (void *)(uintptr_t)handler));
}

EXPORT __sighandler_t __sysv_signal(int number, __sighandler_t handler)
    __attribute__((alias("sysv_signal"), nothrow, leaf));

EXPORT __sighandler_t sigset(int number, __sighandler_t handler)
{
    return (__sighandler_t)(uintptr_t)program_handler(
        number, NEXT(sigset)(number, (void *)(uintptr_t)handler));
}

/* ---- alternate signal stacks ----------------------------------------------------------------- */

static bool enables(const stack_t *set)
{
    return !(set->ss_flags & SS_DISABLE);
}

/* The program must not notice our stack; it may replace it. */
EXPORT int sigaltstack(const stack_t *set, stack_t *old)
{
    bool known =
        set && os_is_readable((uintptr_t)set) && os_is_readable((uintptr_t)set + sizeof *set - 1);
    bool on = known && enables(set), off = known && !on; /* `old` may be the same struct */
    int result = NEXT(sigaltstack)(set, old);
    if (result)
        return result;
    if (old && signal_stack_is_own((uintptr_t)old->ss_sp))
        *old = (stack_t){.ss_flags = SS_DISABLE};
    if (on)
        signal_stack_withdraw();
    if (off)
        signal_stack_restore();
    return result;
}

/* ---- masks of threads ------------------------------------------------------------------------ */

typedef int mask_function(int how, const void *set, void *old);

static void note_blocked(uint32_t bit)
{
    self_state = (self_state & ~(uint32_t)SELF_BLOCKS_FAULTS) | bit;
}

/*
 * Call libc's function without SIGSEGV in the set.  The program reads the mask that it has set.  A
 * pending SIGSEGV is delivered during the call that unblocks it (init/fatal.c).
 */
static int set_mask(mask_function *next_function, int how, const sigset_t *set, sigset_t *old)
{
    sigset_t without;
    uint32_t was = self_state & SELF_BLOCKS_FAULTS;
    bool blocks = set && how != SIG_UNBLOCK && blocks_fault(set),
         changes = set && (was || guarded_is_on()) &&
                   (how == SIG_SETMASK || sigismember(set, SIGSEGV) == 1);
    if (blocks) {
        without = *set;
        sigdelset(&without, SIGSEGV);
    }
    if (changes && !fork_shares_memory())
        note_blocked(blocks ? SELF_BLOCKS_FAULTS : 0);
    int result = next_function(how, blocks ? &without : set, old);
    if (result && !fork_shares_memory())
        note_blocked(was);
    else if (old && was)
        sigaddset(old, SIGSEGV);
    return result;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return set_mask(NEXT(sigprocmask), how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return set_mask(NEXT(pthread_sigmask), how, set, old);
}

/* ---- abort ----------------------------------------------------------------------------------- */

/* The program has set another action than the default, which is our handler. */
static bool program_handles(int signal)
{
    struct os_action now;
    return fatal_covers(signal) && !fork_shares_memory() && os_action_of(signal, &now) == 0 &&
           !os_is_default(&now) && !fatal_is_own((const void *)(uintptr_t)now.handler);
}

/*
 * libc's abort raises SIGABRT for the program's handler. If this returns, it sets the default action
 * and raises the signal again, both without calling an exported function, so the end would not be
 * recorded. Do its first step here, and let our handler replace the default for the second. An abort
 * inside libc, of a failed assertion, does not get here.
 */
static void raise_for_program(void)
{
    static const struct os_action none;
    os_unblock(SIGABRT);
    os_signal_self(SIGABRT);
    os_restore_action(SIGABRT, &none);
    fatal_install(SIGABRT);
}

/* abort itself is in assembly (library_jump.h). */
ABORT_JUMP;

typedef void abort_function(void);
__attribute__((used)) abort_function *prepare_abort(void);
abort_function *prepare_abort(void)
{
    if (program_handles(SIGABRT))
        raise_for_program();
    return NEXT(abort);
}
