/*
 * dispatch_signal.c - SIGSYS, which a program may use, too: for traps of a sandbox, or as any other signal.
 *
 * Ours is the only handler that the kernel knows; what the program sets is kept here, told when it asks, and
 * done by us when a SIGSYS comes that is none of ours: mask and one-time handlers as the kernel has them, but
 * not the stack, which is the one that the signal came on.
 */
#include "dispatch_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define SYS_SECCOMP 1

struct os_action dispatch_theirs;

static const int arm_yourself; /* by its address */

void dispatch_arm_thread(uint32_t tid)
{
    os_signal_thread(tid, SIGSYS, (void *)(uintptr_t)&arm_yourself);
}

long dispatch_action(const long a[6])
{
    struct os_action wanted, before = dispatch_theirs;
    if ((unsigned long)a[3] != sizeof wanted.mask)
        return -EINVAL;
    if (a[1]) {
        if (!os_dispatch_look(a[1], &wanted, sizeof wanted))
            return -EFAULT;
        dispatch_theirs = wanted;
        if (wanted.flags & SA_ONSTACK) /* of a program whose stacks have no room for handlers */
            os_dispatch_on_stack();
    }
    if (!a[2])
        return 0;
    long err =
        os_pass(SYS_rt_sigaction, SIGSYS, 0, a[2], a[3], 0, 0); /* ours: may it be written there? */
    if (!err)
        memcpy((void *)a[2], &before, sizeof before);
    return err;
}

/* As if there was no handler. */
static void end_by(int signal)
{
    static const struct os_action none;
    os_restore_action(signal, &none);
    os_signal_thread(os_tid(), signal, NULL);
}

/* What ours keeps out besides does not stay so: their handler may be left by a jump. */
static void mask_as_theirs(uint64_t more, const void *context)
{
    uint64_t before, cancel = 1ull << (OS_SIGNAL_CANCEL - 1);
    memcpy(&before, &((const ucontext_t *)context)->uc_sigmask,
           sizeof before); /* the kernel's part of it */
    os_block_more(more);
    if (!((before | more) & cancel))
        os_pass(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&cancel, 0, sizeof cancel, 0, 0);
}

static void forward_to(const struct os_action *action, int signal, void *info, void *context)
{
    if (action->flags & SA_RESETHAND)
        dispatch_theirs.handler = (uintptr_t)SIG_DFL;
    if (((const siginfo_t *)info)->si_code != SYS_SECCOMP &&
        !os_sandboxed()) /* which may trap that, too */
        mask_as_theirs(action->mask & ~(1ull << (SIGSYS - 1)), context);
    os_handler_of(action)(signal, info, context);
    os_dispatch_unblock(context); /* it may have changed what it goes on with */
}

void dispatch_forward(int signal, void *info, void *context)
{
    const siginfo_t *i = info;
    struct os_action action = dispatch_theirs;
    if (i->si_code == SI_QUEUE && i->si_value.sival_ptr == &arm_yourself) {
        os_dispatch_arm();
        os_dispatch_unblock(context); /* it may wait with another mask than it goes on with */
    } else if (os_handler_of(&action))
        forward_to(&action, signal, info, context);
    else if (os_is_default(&action) || i->si_code == SYS_SECCOMP) /* that cannot be ignored */
        end_by(signal);
}
