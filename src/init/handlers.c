/*
 * handlers.c - the program's signal handlers while its code runs in checked copies.
 *
 * A signal may interrupt a check that has saved registers in words of the thread, and the handler's own
 * checks use the same words.  So each handler of the program is called by one of ours, with the program's
 * flags and mask, which keeps the words.  A handler that jumps out of the signal abandons the check.
 * The handler of SIGSEGV is called by fatal.c.
 *
 * The handler sees the address of the original instruction, in its context and as the address of a fault
 * of that instruction.  If it changes the address, the program continues in the copy of the instruction
 * there.  A signal within a check is one before its instruction, with two differences: a register that the
 * check uses, and the flags, may have the check's values.  After the check this is true only of a register
 * whose value the program does not read again, as the one that the instruction loads.
 */
#include "context.h"
#include "init.h"
#include "translated.h"

#include <signal.h>

#define SIGNALS_MOST 65
/* of libc, for pthread_cancel and setuid */
#define LIBCS_FIRST 32
#define LIBCS_LAST 33

static struct os_action program[SIGNALS_MOST];

/* Signals of faults whose si_addr is the instruction. */
static bool has_address_of_code(int signal)
{
    return signal == SIGILL || signal == SIGFPE || signal == SIGTRAP;
}

void handlers_call(const struct os_action *action, int signal, void *given, void *context)
{
    struct translated_words kept = translated_words();
    uintptr_t pc = context_pc(context), original = translated_original(pc);
    siginfo_t *info = given;
    if (pc != original && action->flags & SA_SIGINFO && has_address_of_code(signal) &&
        info->si_code > 0)
        info->si_addr = (void *)translated_original((uintptr_t)info->si_addr);
    context_set_pc(context, original);
    os_handler_of(action)(signal, info, context);
    uintptr_t after = context_pc(context);
    context_set_pc(context, after == original ? pc : translated_copy_of(after));
    translated_words_restore(&kept);
}

static void on_signal(int signal, void *info, void *context)
{
    handlers_call(&program[signal], signal, info, context);
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
