/*
 * signals.c - what the program does with its signals, where ours stand in for a default.
 *
 * It must not notice: whoever asks is told that the default is set, and whoever sets it gets ours.  libc's
 * own functions do the work first; a moment between the two steps is a moment without our handler.
 */
#include "intercept.h"

#include <signal.h>
#include <string.h>

#define SA_RESTORER 0x04000000ul /* where a handler returns to is given, too: libc's own business */

/* libc has just said `before` of a signal and set another action, or not. */
static void *program_handler(int signal, void *before)
{
    if (!fatal_covers(signal))
        return before;
    fatal_install(signal); /* if it is the default now */
    return fatal_is_ours(before) ? (void *)(uintptr_t)SIG_DFL : before;
}

/* As libc would have said it. */
static void hide_our_handler(int signal, struct sigaction *old)
{
    const struct os_action *was = fatal_program_action(signal);
    *old = (struct sigaction){.sa_handler = SIG_DFL, .sa_flags = (int)(was->flags & ~SA_RESTORER)};
    memcpy(&old->sa_mask, &was->mask, sizeof was->mask);
}

EXPORT int sigaction(int signal, const struct sigaction *act, struct sigaction *old)
{
    int result = NEXT(sigaction)(signal, act, old);
    if (result || !fatal_covers(signal))
        return result;
    if (old && fatal_is_ours((void *)(uintptr_t)old->sa_sigaction))
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

/* The same function by its other names. */
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
