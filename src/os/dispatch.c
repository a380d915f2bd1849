/*
 * dispatch.c - syscall user dispatch: every system call of a thread becomes a SIGSYS.
 *
 * The kernel executes system calls only if their instruction lies in one range of addresses: the
 * code of this library.  It rejects every other call and sends SIGSYS.  The handler cannot make the
 * call itself: it has another signal mask and another stack, and sigreturn would undo what the
 * kernel restores at the end of the call.  So it redirects the thread to a trampoline in this
 * library.  The trampoline makes the call and then jumps to the instruction after the program's
 * own:
 *
 *      program             handler                 trampoline
 *      mov $0, %eax        rip = dispatch_call     syscall    <- program's registers, stack, mask
 *      syscall             rsp = address of the    mov (%rsp), %rcx   (rcx, r11 are clobbered)
 *      ...  <----------    saved rip and rsp       mov 8(%rsp), %rsp; jmp *%rcx
 *
 * rip and rsp are saved below the program's red zone.  There lies the signal frame of SIGSYS, which
 * the kernel reads when the handler returns: registers and, next to the red zone, vector registers.
 * Only siginfo is not read, so rip and rsp overwrite siginfo.  If the frame is on an alternate
 * stack, they are saved on the program's stack instead.
 *
 * So the kernel treats calls as without dispatch: calls that wait, that are interrupted and
 * restarted, that change the signal mask or signal stacks, or that never return.  Only the place
 * where rip is saved differs for
 *
 *      clone with a stack, vfork    the child uses another stack, or clobbers the parent's:
 *                                   saved in a table of call sites
 *      fork                         as above, in both; the child arms itself before it continues
 *      rt_sigreturn                 rsp must keep its value: not saved, as it continues elsewhere
 *
 * A new thread or process is not armed, nor is one after an exec.  A child that shares its parent's
 * memory until it calls exec (vfork, posix_spawn) stays unarmed; all others arm themselves.
 *
 * No selector byte is used, by which a thread can switch dispatch off for a moment (prctl(2)).  It
 * would have to be right after siglongjmp, after vfork and in threads without thread-local storage
 * of their own.
 */
#include "context.h"
#include "instructions.h"
#include "dispatch_lines.h"
#include "os.h"
#include "os_priv.h"
#include "signal_return.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#define SIGSYS_BIT (1ull << (SIGSYS - 1))

#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#define SYS_USER_DISPATCH 2

struct siginfo_of_call {
    int signal, error, code, unused;
    const void *at;
    int number;
    uint32_t arch;
};

/* ---- arming ---------------------------------------------------------------------------------- */

static uint64_t own_start, own_bytes; /* the code whose calls the kernel executes */

static_assert(OS_DISPATCH_DATA == DISPATCH_DATA_BYTES, "room for changed arguments");

static int switch_dispatch(long how, uint64_t start, uint64_t bytes)
{
    return (int)os_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, how, (long)start, (long)bytes, 0,
                        0);
}

int os_dispatch_arm(void)
{
    uint64_t unblocked = 1ull << (SIGSYS - 1);
    CALL4(SYS_rt_sigprocmask, SIG_UNBLOCK, &unblocked, NULL, sizeof unblocked);
    return switch_dispatch(PR_SYS_DISPATCH_ON, own_start, own_bytes);
}

void os_dispatch_disarm(void)
{
    switch_dispatch(PR_SYS_DISPATCH_OFF, 0, 0);
}

uint64_t os_dispatch_missed(void)
{
    return dispatch_missed_count();
}

static struct os_action own_action = {.flags =
                                          SA_SIGINFO | SIGNAL_RESTORER | SA_NODEFER | SA_RESTART,
                                      .mask = 1ull << (LIBC_SIGNAL_CANCEL - 1)};

void os_dispatch_on_stack(void)
{
    own_action.flags |= SA_ONSTACK;
    os_restore_action(SIGSYS, &own_action);
}

/* Remove SIGSYS from the masks of handlers that were installed before ours. */
static void unblock_all(void)
{
    struct os_action action;
    for (int signal = 1; signal <= 64; signal++)
        if (os_action_of(signal, &action) == 0 && action.mask & SIGSYS_BIT) {
            action.mask &= ~SIGSYS_BIT;
            os_restore_action(signal, &action);
        }
}

int os_dispatch_start(os_handler handler, uintptr_t start, uint64_t bytes, struct os_action *before)
{
    own_action.handler = (uintptr_t)handler;
    own_action.restorer = (uintptr_t)os_signal_return;
    int err = os_has(OS_USER_DISPATCH) ? (int)CALL4(SYS_rt_sigaction, SIGSYS, &own_action, before,
                                                    sizeof own_action.mask)
                                       : -ENOSYS;
    if (err)
        return err;
    own_start = start;
    own_bytes = bytes;
    dispatch_lines_start(start, bytes);
    unblock_all();
    err = os_dispatch_arm();
    if (!err)
        return 0;
    os_restore_action(SIGSYS, before);
    os_mark_missing(OS_USER_DISPATCH);
    return err;
}

bool os_is_dispatched(const void *info, bool *foreign)
{
    const struct siginfo_of_call *i = info;
    *foreign = i->code == SYS_USER_DISPATCH && i->arch != DISPATCH_AUDIT_ARCH;
    return i->code == SYS_USER_DISPATCH;
}

/* ---- in the handler -------------------------------------------------------------------------- */

void os_dispatch_call(const void *context, long *number, long argument[6])
{
    *number = context_call_number(context);
    for (unsigned i = 0; i < 6; i++)
        argument[i] = context_argument(context, i);
}

uintptr_t os_dispatch_sp(const void *context)
{
    return context_sp(context);
}

struct entry os_dispatch_entry(const void *context)
{
    return (struct entry){context_fp(context), context_pc(context)};
}

long os_pass(long number, long a, long b, long c, long d, long e, long f)
{
    return os_call(number, a, b, c, d, e, f);
}

void os_dispatch_return(void *context, long result)
{
    context_set_result(context, result);
}

void os_dispatch_repeat(void *context)
{
    context_set_pc(context, context_pc(context) - CODE_CALL_BYTES);
}
