/*
 * dispatch_pass.c - the treatment of each dispatched system call: where its thread resumes, and
 * where its child does.
 *
 * SIGSYS must never be blocked in an armed thread: the kernel kills a process to which it cannot
 * deliver the SIGSYS of a dispatched call.  So SIGSYS is removed from every mask that the program
 * passes to the kernel.  The program's own memory is not changed, but a query of its mask shows the
 * difference.
 */
#include "calls.h"
#include "context.h"
#include "dispatch_lines.h"
#include "os.h"
#include "os_priv.h"
#include "signal_return.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>

#define SIGSYS_BIT (1ull << (SIGSYS - 1))

#define CLEAR_SIGHAND 0x100000000ull
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* ---- resuming -------------------------------------------------------------------------------- */

static bool is_inside(const stack_t *stack, uintptr_t at)
{
    return at - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * Where to save: over the siginfo after the context.  If the frame is on another stack than the
 * program's: below the program's red zone.
 */
static struct dispatch_kept *keep_slot(void *context)
{
    const stack_t *other = &((ucontext_t *)context)->uc_stack;
    uintptr_t sp = os_dispatch_sp(context);
    if (is_inside(other, (uintptr_t)context) && !is_inside(other, sp))
        return (struct dispatch_kept *)align_down(
            sp - RED_ZONE_BYTES - sizeof(struct dispatch_kept), 8);
    return (struct dispatch_kept *)((uintptr_t)context + CONTEXT_KERNEL_BYTES);
}

static struct dispatch_kept *keep(void *context, void (*line)(void))
{
    struct dispatch_kept *kept = keep_slot(context);
    kept->pc = context_pc(context);
    kept->sp = context_sp(context);
    context_set_sp(context, (uintptr_t)kept);
    context_set_pc(context, (uintptr_t)line);
    return kept;
}

static bool resume_at(void *context, void (*line)(void))
{
    keep(context, line);
    return true;
}

void os_dispatch_pass_changed(void *context, unsigned argument, const void *data, size_t bytes)
{
    long number, a[6];
    os_dispatch_call(context, &number, a);
    struct dispatch_kept *kept = keep(context, dispatch_change);
    memcpy(kept->argument, a, sizeof a);
    memcpy(kept->data, data, bytes);
    context_set_argument(context, argument, (long)(uintptr_t)kept->data);
}

/* The trampoline of this call site; DISPATCH_SLOTS: the table is full. */
static uint32_t line_of(_Atomic uintptr_t slot[DISPATCH_SLOTS], uintptr_t pc)
{
    for (uint32_t i = 0; i < DISPATCH_SLOTS; i++) {
        uintptr_t there = 0;
        if (atomic_compare_exchange_strong(&slot[i], &there, pc) || there == pc)
            return i;
    }
    return DISPATCH_SLOTS;
}

static bool resume_in_table(void *context, bool arms)
{
    uint32_t line = line_of(dispatch_slots(arms), context_pc(context));
    if (line == DISPATCH_SLOTS)
        return false;
    context_set_pc(context, dispatch_line(line, arms));
    return true;
}

bool os_dispatch_pass_stackless(void *context)
{
    return resume_in_table(context, false);
}

/* ---- forks and threads ----------------------------------------------------------------------- */

bool os_dispatch_look(long at, void *out, size_t bytes)
{
    return at && os_copy(out, (const void *)at, bytes) == bytes;
}

static bool pass_clone(void *context, uint64_t flags, bool has_stack)
{
    bool shares = flags & CLONE_VM,
         arms = !(flags & CLEAR_SIGHAND) && !(shares && flags & CLONE_VFORK);
    if (shares || has_stack)
        return resume_in_table(context, arms && !os_sandboxed());
    return resume_at(context, arms && !os_sandboxed() ? dispatch_fork : dispatch_call);
}

static bool pass_clone3(void *context, long arguments)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack;
    } a = {0};
    return os_dispatch_look(arguments, &a, sizeof a) ? pass_clone(context, a.flags, a.stack != 0)
                                                     : resume_at(context, dispatch_call);
}

/* ---- masks ----------------------------------------------------------------------------------- */

void os_dispatch_unblock(void *context)
{
    uint64_t mask;
    void *at = &((ucontext_t *)context)->uc_sigmask;
    memcpy(&mask, at, sizeof mask); /* 8 bytes, as in the kernel */
    mask &= ~SIGSYS_BIT;
    memcpy(at, &mask, sizeof mask);
}

/* The restored mask lies at the stack pointer; a handler of the program may have changed it. */
static bool pass_return(void *context)
{
    os_dispatch_unblock((void *)context_sp(context));
    context_set_pc(context, (uintptr_t)os_signal_return);
    return true;
}

static bool pass_mask(void *context, unsigned argument, long at)
{
    uint64_t mask;
    if (!os_dispatch_look(at, &mask, sizeof mask) || !(mask & SIGSYS_BIT))
        return resume_at(context, dispatch_call);
    mask &= ~SIGSYS_BIT;
    os_dispatch_pass_changed(context, argument, &mask, sizeof mask);
    return true;
}

/* pselect6, io_pgetevents: the argument points to a pointer to the mask and its size. */
static bool pass_far_mask(void *context, unsigned argument, long at)
{
    struct far_mask {
        uint64_t at, bytes, mask;
    } m;
    if (!os_dispatch_look(at, &m, 16) || !os_dispatch_look((long)m.at, &m.mask, sizeof m.mask) ||
        !(m.mask & SIGSYS_BIT))
        return resume_at(context, dispatch_call);
    m.mask &= ~SIGSYS_BIT;
    m.at = (uintptr_t)keep_slot(context)->data + offsetof(struct far_mask, mask);
    os_dispatch_pass_changed(context, argument, &m, sizeof m);
    return true;
}

static bool pass_action(void *context, long at)
{
    struct os_action action;
    if (!os_dispatch_look(at, &action, sizeof action) || !(action.mask & SIGSYS_BIT))
        return resume_at(context, dispatch_call);
    action.mask &= ~SIGSYS_BIT;
    os_dispatch_pass_changed(context, 1, &action, sizeof action);
    return true;
}

/* ---- all calls ------------------------------------------------------------------------------- */

bool os_dispatch_pass(void *context)
{
    long number, a[6];
    os_dispatch_call(context, &number, a);
    switch (number) {
    case SYS_fork:
        return pass_clone(context, 0, false);
    case SYS_vfork:
        return pass_clone(context, CLONE_VM | CLONE_VFORK, false);
    case SYS_clone:
        return pass_clone(context, (uint32_t)a[0], a[1] != 0);
    case SYS_clone3:
        return pass_clone3(context, a[0]);
    case SYS_rt_sigreturn:
        return pass_return(context);
    case SYS_rt_sigprocmask:
        return a[0] == SIG_UNBLOCK ? resume_at(context, dispatch_call)
                                   : pass_mask(context, 1, a[1]);
    case SYS_rt_sigaction:
        return pass_action(context, a[1]);
    case SYS_rt_sigsuspend:
        return pass_mask(context, 0, a[0]);
    case SYS_ppoll:
        return pass_mask(context, 3, a[3]);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return pass_mask(context, 4, a[4]);
    case SYS_pselect6:
    case SYS_io_pgetevents:
        return pass_far_mask(context, 5, a[5]);
    default:
        return resume_at(context, dispatch_call);
    }
}
