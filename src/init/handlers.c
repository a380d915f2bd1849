/*
 * handlers.c - the program's signal handlers while its code runs in checked copies.
 *
 * A signal may interrupt a check that has saved registers in words of the thread, and the handler's own
 * checks use the same words.  So each handler of the program is called by one of ours, with the program's
 * flags and mask, which keeps the words.  A handler that jumps out of the signal abandons the check.
 * The handler of SIGSEGV is called by fatal.c.
 */
#include "init.h"
#include "translated.h"

#include <signal.h>

#define SIGNALS_MOST 65
/* of libc, for pthread_cancel and setuid */
#define LIBCS_FIRST 32
#define LIBCS_LAST 33

static struct os_action program[SIGNALS_MOST];

static void on_signal(int signal, void *info, void *context)
{
    struct translated_words kept = translated_words();
    os_handler_of (&program[signal])(signal, info, context);
    translated_words_restore(&kept);
}

static bool is_own(const void *handler)
{
    return handler == (const void *)(uintptr_t)&on_signal;
}

const void *handlers_program(int signal, const void *handler)
{
    return is_own(handler) && signal < SIGNALS_MOST
               ? (const void *)(uintptr_t)program[signal].handler
               : handler;
}

void handlers_wrap(int signal)
{
    struct os_action now;
    if (!translated_counts().objects || signal == SIGSEGV || signal < 1 || signal >= SIGNALS_MOST ||
        (signal >= LIBCS_FIRST && signal <= LIBCS_LAST) || fork_shares_memory() ||
        os_action_of(signal, &now))
        return;
    const void *handler = (const void *)(uintptr_t)os_handler_of(&now);
    if (!handler || is_own(handler) || fatal_is_own(handler))
        return;
    program[signal] = now;
    now.handler = (uintptr_t)&on_signal;
    os_restore_action(signal, &now);
}

void handlers_wrap_all(void)
{
    for (int signal = 1; signal < SIGNALS_MOST; signal++)
        handlers_wrap(signal);
}
