/*
 * error_act.c - what happens at a new error after the critical section: a debugger's break, and --on-error.
 *
 * Signal handlers of the program, and commands of a debugger, may run here and allocate.
 */
#include "rtcheck/debug.h"
#include "track_priv.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic bool aborts; /* --on-error=abort: the abort is no crash */

bool errors_abort(void)
{
    return atomic_load(&aborts);
}

/* ---- the debugger's break -------------------------------------------------------------------- */

EXPORT __attribute__((noinline)) void rtc_error_break(const struct rtc_finding *finding)
{
    __asm__ volatile("" ::"r"(finding) : "memory"); /* the call and its argument must exist */
}

static void show_debugger(const struct error_record *e)
{
    uint32_t kind = atomic_load_explicit(&e->kind, memory_order_relaxed);
    struct rtc_finding finding = {.code = error_code(kind),
                                  .title = error_title(kind),
                                  .function = error_entry_name(e->entry),
                                  .address = e->address,
                                  .bytes = e->bytes,
                                  .block = e->block,
                                  .block_bytes = e->block_bytes};
    rtc_error_break(&finding);
}

/* ---- --on-error ------------------------------------------------------------------------------ */

void errors_act(const struct error_record *e)
{
    show_debugger(e);
    switch (rt.options.on_error) {
    case ON_ERROR_STOP:
        os_signal_self(SIGSTOP);
        break;
    case ON_ERROR_ABORT:
        atomic_store(&aborts, true);
        abort();
    case ON_ERROR_DEBUGGER:
        os_signal_self(os_is_traced() ? SIGTRAP : SIGSTOP);
        break;
    case ON_ERROR_EXIT:
        _exit(rt.options.error_exitcode > 0 ? rt.options.error_exitcode : 1);
    case ON_ERROR_CONTINUE:
        break;
    }
}
