/*
 * signals.c - the program's signal actions, where our handler replaces a default action.
 *
 * The program must not notice our handler: a query returns the default action, and setting the
 * default installs our handler.  libc's functions run first; between the two steps our handler is
 * not installed.
 */
#include "intercept.h"

#include <signal.h>
#include <string.h>

#define SA_RESTORER 0x04000000ul /* libc sets the restorer itself */

/* libc has returned the old handler `before`, and perhaps set another one. */
static void *program_handler(int signal, void *before)
{
    if (!fatal_covers(signal))
        return before;
    fatal_install(signal); /* if the action is now the default */
    return fatal_is_own(before) ? (void *)(uintptr_t)SIG_DFL : before;
}

/* Fill in the old action as libc would without our handler. */
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
