/*
 * variadic_jump.h - exported variadic functions whose arguments are looked at before libc's function
 * runs: x86-64.
 *
 * C can only pass such arguments on as a list, to another function: stacks would lack printf. Here the
 * registers are saved as a va_list expects them, check_<name> is called with them, and libc's function
 * is jumped to with all as it was. %al is the number of vector registers that are used.
 *
 * The file that contains VARIADIC_JUMP(name) defines next_<name>, a pointer to the next definition or
 * NULL, which check_<name> sets then. access_is_on is a byte.
 */
#ifndef VARIADIC_JUMP_H
#define VARIADIC_JUMP_H

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* The registers of arguments, as the processor's ABI has them in a list's area. */
struct saved_arguments {
    uint64_t word[6];
    uint64_t vector[16];
};

/* The list of the arguments after the first `named`; `frame`: that of the exported function. */
static inline void saved_list(va_list *list, const struct saved_arguments *saved, unsigned named,
                              const void *frame)
{
    const struct {
        unsigned word_offset, vector_offset;
        const void *on_stack, *saved;
    } at = {named * 8, sizeof saved->word, (const char *)frame + 16, saved};
    memcpy(list, &at, sizeof at);
}

#define VARIADIC_JUMP(name)                            \
    __asm__(".text\n"                                  \
            ".globl " #name "\n"                       \
            ".type " #name ", @function\n" #name ":\n" \
            "    .cfi_startproc\n"                     \
            "    endbr64\n"                            \
            "    movq next_" #name "(%rip), %r11\n"    \
            "    testq %r11, %r11\n"                   \
            "    jz 1f\n"                              \
            "    cmpb $0, access_is_on(%rip)\n"        \
            "    jne 1f\n"                             \
            "    jmp *%r11\n"                          \
            "1:  pushq %rbp\n"                         \
            "    .cfi_adjust_cfa_offset 8\n"           \
            "    .cfi_rel_offset %rbp, 0\n"            \
            "    movq %rsp, %rbp\n"                    \
            "    .cfi_def_cfa_register %rbp\n"         \
            "    subq $192, %rsp\n"                    \
            "    movq %rdi, (%rsp)\n"                  \
            "    movq %rsi, 8(%rsp)\n"                 \
            "    movq %rdx, 16(%rsp)\n"                \
            "    movq %rcx, 24(%rsp)\n"                \
            "    movq %r8, 32(%rsp)\n"                 \
            "    movq %r9, 40(%rsp)\n"                 \
            "    movq %rax, 176(%rsp)\n"               \
            "    testb %al, %al\n"                     \
            "    jz 2f\n"                              \
            "    movaps %xmm0, 48(%rsp)\n"             \
            "    movaps %xmm1, 64(%rsp)\n"             \
            "    movaps %xmm2, 80(%rsp)\n"             \
            "    movaps %xmm3, 96(%rsp)\n"             \
            "    movaps %xmm4, 112(%rsp)\n"            \
            "    movaps %xmm5, 128(%rsp)\n"            \
            "    movaps %xmm6, 144(%rsp)\n"            \
            "    movaps %xmm7, 160(%rsp)\n"            \
            "2:  movq %rsp, %rdi\n"                    \
            "    movq %rbp, %rsi\n"                    \
            "    call check_" #name "\n"               \
            "    movq (%rsp), %rdi\n"                  \
            "    movq 8(%rsp), %rsi\n"                 \
            "    movq 16(%rsp), %rdx\n"                \
            "    movq 24(%rsp), %rcx\n"                \
            "    movq 32(%rsp), %r8\n"                 \
            "    movq 40(%rsp), %r9\n"                 \
            "    movq 176(%rsp), %rax\n"               \
            "    testb %al, %al\n"                     \
            "    jz 3f\n"                              \
            "    movaps 48(%rsp), %xmm0\n"             \
            "    movaps 64(%rsp), %xmm1\n"             \
            "    movaps 80(%rsp), %xmm2\n"             \
            "    movaps 96(%rsp), %xmm3\n"             \
            "    movaps 112(%rsp), %xmm4\n"            \
            "    movaps 128(%rsp), %xmm5\n"            \
            "    movaps 144(%rsp), %xmm6\n"            \
            "    movaps 160(%rsp), %xmm7\n"            \
            "3:  leave\n"                              \
            "    .cfi_def_cfa %rsp, 8\n"               \
            "    .cfi_restore %rbp\n"                  \
            "    movq next_" #name "(%rip), %r11\n"    \
            "    jmp *%r11\n"                          \
            "    .cfi_endproc\n"                       \
            ".size " #name ", .-" #name "\n")

#endif
