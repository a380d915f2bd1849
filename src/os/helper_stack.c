/*
 * helper_stack.c - a second stack of each thread, for rare work that needs more than a small stack
 * has.
 *
 * Signal handlers run on alternate stacks of a few KiB, coroutines on even smaller ones.  malloc
 * and free must fit on them.  So their rare work (parse call frame information, make a slab,
 * describe an error) runs on the helper stack, which is part of the thread's struct:
 *
 *      program's stack                   helper stack
 *      free                              note_there
 *      error_free                        add
 *      helper_call: signals are blocked  lock_take: the lock is not free
 *      helper_switch ------------------> helper_switch -----.
 *      lock_wait: the program's mask <----------------------'
 *
 * Signals are blocked on the helper stack.  A handler of the program must find its thread on the
 * stack that the program gave it: it needs stack space, may leave by siglongjmp, and garbage
 * collectors scan from its stack pointer to the end of the thread's stack.  So no handler, no
 * callback and no frame of a critical section is ever on the helper stack.  Nor is a thread that a
 * signal has stopped.  Synchronous signals (faults) stay unblocked: the kernel kills a process that
 * blocks them.
 *
 * A thread with blocked signals must not wait for another thread's progress: the other may hold the
 * lock in a handler that waits for a handler of this thread.  So waiting for a contended lock
 * happens on the program's stack, with the program's mask.
 *
 * The work is done on the caller's stack in a sandbox, where signals cannot be blocked, and for
 * threads without a struct (before their first call, and past their end).
 */
#include "os.h"
#include "os_priv.h"
#include "stack_switch.h"

#include <signal.h>
#include <sys/syscall.h>

#define SIGNAL_BIT(signal) (1ull << ((signal)-1))
#define RAISED_BY_INSTRUCTIONS                                                            \
    (SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | \
     SIGNAL_BIT(SIGTRAP))

#define HANDLED_LATER (OS_ALL_SIGNALS & ~RAISED_BY_INSTRUCTIONS)

static bool block(struct helper_use *u)
{
    uint64_t most = HANDLED_LATER;
    u->blocks = !os_sandboxed() &&
                CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &most, &u->mask, sizeof u->mask) == 0;
    return u->blocks;
}

static void unblock(struct helper_use *u)
{
    u->blocks = false;
    CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &u->mask, NULL, sizeof u->mask);
}

static bool is_on(const struct helper_stack *h)
{
    return (uintptr_t)__builtin_frame_address(0) - (uintptr_t)h->room < sizeof h->room;
}

/*
 * h->use is set if the helper stack is in use: by a caller of this call, by code that the handler
 * of a fault has interrupted, or by code that a handler has interrupted while it waited for a lock.
 * Only the handler of a fault can interrupt the writes of h->use, and it restores the old value.
 */
COLD void helper_call(void (*f)(void *), void *about)
{
    struct helper_stack *h = self ? &self->helper : NULL;
    struct helper_use use;
    if (!h || h->use || !block(&use)) {
        f(about);
        return;
    }
    h->use = &use;
    helper_switch(f, about, (uintptr_t)(h->room + sizeof h->room), &use.sp);
    h->use = NULL;
    unblock(&use);
}

bool helper_is_here(void)
{
    return self && is_on(&self->helper);
}

uintptr_t helper_program_sp(void)
{
    return helper_is_here() ? self->helper.use->sp : (uintptr_t)__builtin_frame_address(0);
}

/*
 * siglongjmp may restore the mask of the handler that jumps; it contains the signals blocked here.
 */
void helper_abandon(bool intact)
{
    struct helper_use *use = self ? self->helper.use : NULL;
    if (!use)
        return;
    self->helper.use = NULL;
    uint64_t masked = intact ? HANDLED_LATER & ~use->mask : 0;
    if (intact && use->blocks)
        CALL4(SYS_rt_sigprocmask, SIG_UNBLOCK, &masked, NULL, sizeof masked);
}

/* ---- waiting for locks ----------------------------------------------------------------------- */

struct waiting {
    struct helper_use *use;
    bool (*wait)(void *);
    void *about;
    bool result;
};

static void wait_on_program_stack_now(void *about)
{
    struct waiting *w = about;
    unblock(w->use);
    w->result = w->wait(w->about);
    block(w->use);
}

static bool wait_on_program_stack(bool (*wait)(void *), void *about)
{
    if (!helper_is_here())
        return wait(about);
    struct waiting w = {.use = self->helper.use, .wait = wait, .about = about};
    uintptr_t back;
    helper_switch(wait_on_program_stack_now, &w, align_down(w.use->sp, 16), &back);
    return w.result;
}

void helper_start(void)
{
    lock_wait_hook = wait_on_program_stack;
}
