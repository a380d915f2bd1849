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
#include "os.h"
#include "os_dispatch.h"
#include "os_priv.h"

#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define SIGSYS_BIT (1ull << (SIGSYS - 1))

#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#define SYS_USER_DISPATCH 2
#define SA_RESTORER 0x04000000

struct siginfo_of_call {
    int signal, error, code, unused;
    const void *at;
    int number;
    uint32_t arch;
};

/* ---- trampolines ----------------------------------------------------------------------------- */

/* Arguments with which a child arms itself. */
__attribute__((used)) uint64_t dispatch_start, dispatch_bytes;
__attribute__((used)) _Atomic uint64_t dispatch_missed;

/*
 * Call sites of calls with a child on another stack or on ours: jump targets of the two tables of
 * trampolines.
 */
__attribute__((used)) _Atomic uintptr_t dispatch_stackless[DISPATCH_SLOTS],
    dispatch_arming[DISPATCH_SLOTS];

/*
 * Arm the child.  Preserves all registers except those a system call clobbers.  Pops the 128 bytes
 * by which its caller has skipped the red zone.
 */
__asm__(".text\n"
        ".type dispatch_begin, @function\n"
        "dispatch_begin:\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %r10\n"
        "    pushq %r8\n"
        "    movl $59, %edi\n" /* PR_SET_SYSCALL_USER_DISPATCH */
        "    movl $1, %esi\n"
        "    movq dispatch_start(%rip), %rdx\n"
        "    movq dispatch_bytes(%rip), %r10\n"
        "    xorl %r8d, %r8d\n"
        "    movl $157, %eax\n" /* prctl */
        "    syscall\n"
        "    testq %rax, %rax\n"
        "    jz 1f\n"
        "    lock incq dispatch_missed(%rip)\n"
        "1:  popq %r8\n"
        "    popq %r10\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    xorl %eax, %eax\n" /* result of the call in the child */
        "    ret $128\n"
        ".size dispatch_begin, .-dispatch_begin\n");

/* Restore rip and rsp from struct dispatch_kept. */
#define RESUME_LINES               \
    "    movq (%rsp), %rcx\n"      \
    "    movq 8(%rsp), %rsp\n"     \
    "    .cfi_def_cfa rsp, 0\n"    \
    "    .cfi_register rip, rcx\n" \
    "    jmp *%rcx\n"              \
    "    .cfi_endproc\n"

/* DW_CFA_def_cfa_expression: breg7 (rsp) 8, deref.  DW_CFA_expression of 16 (rip): breg7 0. */
#define KEPT_ON_STACK                          \
    "    .cfi_startproc\n"                     \
    "    .cfi_escape 0x0f, 3, 0x77, 8, 0x06\n" \
    "    .cfi_escape 0x10, 16, 2, 0x77, 0\n"

__asm__(".type dispatch_call, @function\n"
        ".hidden dispatch_call\n"
        ".globl dispatch_call\n"
        "dispatch_call:\n" KEPT_ON_STACK "    syscall\n" RESUME_LINES
        ".size dispatch_call, .-dispatch_call\n"

        ".type dispatch_fork, @function\n"
        ".hidden dispatch_fork\n"
        ".globl dispatch_fork\n"
        "dispatch_fork:\n" KEPT_ON_STACK "    syscall\n"
        "    testq %rax, %rax\n"
        "    jnz 1f\n"
        "    leaq -128(%rsp), %rsp\n"
        "    call dispatch_begin\n"
        "1:\n" RESUME_LINES ".size dispatch_fork, .-dispatch_fork\n"

        /* For changed arguments: restores the originals from struct dispatch_kept. */
        ".type dispatch_change, @function\n"
        ".hidden dispatch_change\n"
        ".globl dispatch_change\n"
        "dispatch_change:\n" KEPT_ON_STACK "    syscall\n"
        "    movq 16(%rsp), %rdi\n"
        "    movq 24(%rsp), %rsi\n"
        "    movq 40(%rsp), %r10\n"
        "    movq 48(%rsp), %r8\n"
        "    movq 56(%rsp), %r9\n" RESUME_LINES ".size dispatch_change, .-dispatch_change\n"

        ".balign 16\n"
        ".type dispatch_stackless_lines, @function\n"
        ".hidden dispatch_stackless_lines\n"
        ".globl dispatch_stackless_lines\n"
        "dispatch_stackless_lines:\n"
        ".set place, 0\n"
        ".rept 64\n"
        "    .balign 16\n"
        "    syscall\n"
        "    jmp *dispatch_stackless+place(%rip)\n"
        "    .set place, place+8\n"
        ".endr\n"
        ".size dispatch_stackless_lines, .-dispatch_stackless_lines\n"

        ".balign 32\n"
        ".type dispatch_arming_lines, @function\n"
        ".hidden dispatch_arming_lines\n"
        ".globl dispatch_arming_lines\n"
        "dispatch_arming_lines:\n"
        ".set place, 0\n"
        ".rept 64\n"
        "    .balign 32\n"
        "    syscall\n"
        "    testq %rax, %rax\n"
        "    jnz 1f\n"
        "    leaq -128(%rsp), %rsp\n"
        "    call dispatch_begin\n"
        "1:  jmp *dispatch_arming+place(%rip)\n"
        "    .set place, place+8\n"
        ".endr\n"
        ".size dispatch_arming_lines, .-dispatch_arming_lines\n");

static_assert(DISPATCH_SLOTS == 64, "as many lines");
static_assert(offsetof(struct dispatch_kept, argument) == 16, "as the lines above have it");

/* ---- arming ---------------------------------------------------------------------------------- */

static int switch_dispatch(long how, uint64_t start, uint64_t bytes)
{
    return (int)os_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, how, (long)start, (long)bytes, 0,
                        0);
}

int os_dispatch_arm(void)
{
    uint64_t unblocked = 1ull << (SIGSYS - 1);
    CALL4(SYS_rt_sigprocmask, SIG_UNBLOCK, &unblocked, NULL, sizeof unblocked);
    return switch_dispatch(PR_SYS_DISPATCH_ON, dispatch_start, dispatch_bytes);
}

void os_dispatch_disarm(void)
{
    switch_dispatch(PR_SYS_DISPATCH_OFF, 0, 0);
}

uint64_t os_dispatch_missed(void)
{
    return atomic_load_explicit(&dispatch_missed, memory_order_relaxed);
}

static struct os_action ours = {.flags = SA_SIGINFO | SA_RESTORER | SA_NODEFER | SA_RESTART,
                                .mask = 1ull << (OS_SIGNAL_CANCEL - 1)};

void os_dispatch_on_stack(void)
{
    ours.flags |= SA_ONSTACK;
    os_restore_action(SIGSYS, &ours);
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
    ours.handler = (uintptr_t)handler;
    ours.restorer = (uintptr_t)os_signal_return;
    int err = os_has(OS_USER_DISPATCH)
                  ? (int)CALL4(SYS_rt_sigaction, SIGSYS, &ours, before, sizeof ours.mask)
                  : -ENOSYS;
    if (err)
        return err;
    dispatch_start = start;
    dispatch_bytes = bytes;
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
    *foreign = i->code == SYS_USER_DISPATCH && i->arch != AUDIT_ARCH_X86_64;
    return i->code == SYS_USER_DISPATCH;
}

/* ---- in the handler -------------------------------------------------------------------------- */

void os_dispatch_call(const void *context, long *number, long argument[6])
{
    static const uint8_t where[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    *number = r[REG_RAX];
    for (unsigned i = 0; i < 6; i++)
        argument[i] = r[where[i]];
}

uintptr_t os_dispatch_sp(const void *context)
{
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
}

struct entry os_dispatch_entry(const void *context)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    return (struct entry){(uintptr_t)r[REG_RBP], (uintptr_t)r[REG_RIP]};
}

long os_pass(long number, long a, long b, long c, long d, long e, long f)
{
    return os_call(number, a, b, c, d, e, f);
}

void os_dispatch_return(void *context, long result)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = result;
}

void os_dispatch_repeat(void *context)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] -=
        2; /* length of the syscall instruction, and of int $0x80 */
}
