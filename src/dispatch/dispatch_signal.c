/*
 * dispatch_signal.c - SIGSYS used by the program, for traps of a seccomp filter or as any other
 * signal.
 *
 * The kernel has only our handler.  The program's action is stored here and returned to its
 * queries.  A SIGSYS that does not come from dispatch is forwarded according to that action.  Mask
 * and SA_RESETHAND are treated as in the kernel.  The handler runs on the stack on which the signal
 * arrived.
 */
#include "dispatch_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define SYS_SECCOMP 1

struct os_action dispatch_program_action;

static const int arm_yourself; /* identified by its address */

void dispatch_arm_thread(uint32_t tid)
{
    os_signal_thread(tid, SIGSYS, (void *)(uintptr_t)&arm_yourself);
}

long dispatch_action(const long a[6])
{
    struct os_action wanted, before = dispatch_program_action;
    if ((unsigned long)a[3] != sizeof wanted.mask)
        return -EINVAL;
    if (a[1]) {
        if (!os_dispatch_look(a[1], &wanted, sizeof wanted))
            return -EFAULT;
        dispatch_program_action = wanted;
        if (wanted.flags & SA_ONSTACK) /* the program's own stacks may be too small for handlers */
            os_dispatch_on_stack();
    }
    if (!a[2])
        return 0;
    /* Tests that the result is writable; returns our action, replaced below. */
    long err = os_pass(SYS_rt_sigaction, SIGSYS, 0, a[2], a[3], 0, 0);
    if (!err)
        memcpy((void *)a[2], &before, sizeof before);
    return err;
}

/* End the process as without a handler. */
static void end_by(int signal)
{
    static const struct os_action none;
    os_restore_action(signal, &none);
    os_signal_thread(os_tid(), signal, NULL);
}

/*
 * Set the mask of the program's handler.  Unblock the signal that only our handler blocks: the
 * program's handler may end by siglongjmp.
 */
static void set_handler_mask(uint64_t more, const void *context)
{
    uint64_t before, cancel = 1ull << (LIBC_SIGNAL_CANCEL - 1);
    memcpy(&before, &((const ucontext_t *)context)->uc_sigmask,
           sizeof before); /* 8 bytes, as in the kernel */
    os_block_more(more);
    if (!((before | more) & cancel))
        os_pass(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&cancel, 0, sizeof cancel, 0, 0);
}

static void forward_to(const struct os_action *action, int signal, void *info, void *context)
{
    if (action->flags & SA_RESETHAND)
        dispatch_program_action.handler = (uintptr_t)SIG_DFL;
    if (((const siginfo_t *)info)->si_code != SYS_SECCOMP &&
        !os_sandboxed()) /* a sandbox may trap that call, too */
        set_handler_mask(action->mask & ~(1ull << (SIGSYS - 1)), context);
    os_handler_of(action)(signal, info, context);
    os_dispatch_unblock(context); /* the handler may have changed the mask that is restored */
}

void dispatch_forward(int signal, void *info, void *context)
{
    const siginfo_t *i = info;
    struct os_action action = dispatch_program_action;
    if (i->si_code == SI_QUEUE && i->si_value.sival_ptr == &arm_yourself) {
        os_dispatch_arm();
        os_dispatch_unblock(context); /* sigreturn may restore another mask than the present one */
    } else if (os_handler_of(&action))
        forward_to(&action, signal, info, context);
    /* seccomp's SIGSYS cannot be ignored. */
    else if (os_is_default(&action) || i->si_code == SYS_SECCOMP)
        end_by(signal);
}
