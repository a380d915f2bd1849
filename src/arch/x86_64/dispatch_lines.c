/*
 * dispatch_lines.c - trampolines of dispatched system calls.
 *
 * The kernel clobbers rcx and r11 in every call: they are free after it.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "dispatch_lines.h"

/* Arguments with which a child arms itself. */
__attribute__((used)) uint64_t dispatch_start, dispatch_bytes;
__attribute__((used)) _Atomic uint64_t dispatch_missed;

/*
 * Call sites of calls with a child on another stack or on ours: jump targets of the two tables of
 * trampolines.
 */
__attribute__((used)) _Atomic uintptr_t dispatch_stackless[DISPATCH_SLOTS],
    dispatch_arming[DISPATCH_SLOTS];

void dispatch_lines_start(uint64_t start, uint64_t bytes)
{
    dispatch_start = start;
    dispatch_bytes = bytes;
}

uint64_t dispatch_missed_count(void)
{
    return atomic_load_explicit(&dispatch_missed, memory_order_relaxed);
}

_Atomic uintptr_t *dispatch_slots(bool arms)
{
    return arms ? dispatch_arming : dispatch_stackless;
}

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

static_assert(DISPATCH_SLOTS == 64 && STACKLESS_LINE_BYTES == 16 && ARMING_LINE_BYTES == 32,
              "lines");
static_assert(offsetof(struct dispatch_kept, argument) == 16, "as the lines above have it");
