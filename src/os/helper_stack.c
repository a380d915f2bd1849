/*
 * helper_stack.c - a second stack of each thread, for rare work that needs more than a small stack
 * has.
 *
 * Signal handlers run on alternate stacks of a few KiB, and coroutines on less.  malloc and free
 * must fit in there, so what they seldom do (parse call frame information, make a slab, describe
 * an error) runs on the helper stack, which is part of the thread's struct:
 *
 *      program's stack                   helper stack
 *      free                              note_there
 *      error_free                        add
 *      helper_call: signals are blocked  lock_take: the lock is not free
 *      helper_switch ------------------> helper_switch -----.
 *      lock_wait: the program's mask <----------------------'
 *
 * Signals are blocked on the helper stack.  A handler of the program needs as much stack as it
 * likes, may leave by siglongjmp, and garbage collectors scan from its stack pointer to the end of
 * the thread's stack: it must find the thread on the stack that the program gave it.  So no
 * handler, no callback and no frame of a section is ever on this stack, and a thread that is
 * stopped by a signal is not either.  Signals that an instruction raises stay unblocked: the
 * kernel ends a process that blocks them.
 *
 * With signals blocked a thread must not wait for another one's progress: that one may hold the
 * lock in a handler which waits for a handler of ours.  So a lock that is not free is waited for
 * on the program's stack, with the program's mask.
 *
 * In a sandbox signals cannot be blocked; there, and for threads without a struct (before their
 * first call, and past their end), the work is done on the stack of the caller.
 */
#include "os.h"
#include "os_priv.h"

#include <signal.h>
#include <sys/syscall.h>

/*
 * helper_switch(f, about, top, &sp): calls f(about) with the stack pointer at `top`; *sp is the
 * stack pointer that it will come back to.  It keeps a frame pointer, so unwinders find the caller
 * on the other stack.
 */
void helper_switch(void (*f)(void *), void *about, uintptr_t top, uintptr_t *sp);

__asm__(".text\n"
        ".type helper_switch, @function\n"
        ".globl helper_switch\n"
        ".hidden helper_switch\n"
        "helper_switch:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    movq %rsp, (%rcx)\n"
        "    movq %rdx, %rsp\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    callq *%rax\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    retq\n"
        "    .cfi_endproc\n"
        ".size helper_switch, .-helper_switch\n");

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
 * In use: by this call's caller, or by what the handler of a fault has interrupted, or one that
 * came while a lock was waited for.  Where `use` is written no handler can come but that of a
 * fault, which leaves it as it was.
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

/* The jump may keep the mask of the handler that makes it, which has what we blocked in it. */
void helper_abandon(bool intact)
{
    struct helper_use *use = self ? self->helper.use : NULL;
    if (!use)
        return;
    self->helper.use = NULL;
    uint64_t ours = intact ? HANDLED_LATER & ~use->mask : 0;
    if (intact && use->blocks)
        CALL4(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, NULL, sizeof ours);
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
