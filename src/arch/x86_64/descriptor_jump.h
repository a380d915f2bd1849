/*
 * descriptor_jump.h - the exported functions that open and close descriptors: x86-64.
 *
 * Without --track-fds a call is only a jump to the next definition: no frame of ours, all arguments
 * as they were, also those of variadic functions.  A compiler does not promise that, so it is
 * written in assembly.  With --track-fds it is a jump to a function in C, for which the program is
 * the caller.  %r11 is free at a function's entry: the linker's stubs use it, too.
 *
 * The next definition is looked up at the first call, as a lazily bound function is.
 *
 * DESCRIPTOR_JUMP(symbol, name) defines the function `symbol`.  The file that contains it (src/intercept)
 * defines next_<name>, a struct next_function, and checked_<name>.  The file that contains
 * DESCRIPTOR_JUMP_RESOLVE defines resolve_descriptor_function, which returns the address of the next
 * definition.
 * descriptors_tracked is a byte.
 */
#ifndef DESCRIPTOR_JUMP_H
#define DESCRIPTOR_JUMP_H

#define DESCRIPTOR_JUMP(symbol, name)                      \
    __asm__(".text\n"                                      \
            ".globl " #symbol "\n"                         \
            ".type " #symbol ", @function\n" #symbol ":\n" \
            "    .cfi_startproc\n"                         \
            "    endbr64\n"                                \
            "    cmpb $0, descriptors_tracked(%rip)\n"     \
            "    jne checked_" #name "\n"                  \
            "    movq next_" #name "(%rip), %r11\n"        \
            "    testq %r11, %r11\n"                       \
            "    jz 1f\n"                                  \
            "    jmp *%r11\n"                              \
            "1:  leaq next_" #name "(%rip), %r11\n"        \
            "    jmp jump_to_descriptor_function\n"        \
            "    .cfi_endproc\n"                           \
            ".size " #symbol ", .-" #symbol "\n")

/* %r11: the function to look up and to jump to.  %al: the number of vectors of a variadic call. */
#define DESCRIPTOR_JUMP_RESOLVE                              \
    __asm__(".text\n"                                        \
            ".type jump_to_descriptor_function, @function\n" \
            "jump_to_descriptor_function:\n"                 \
            "    .cfi_startproc\n"                           \
            "    subq $72, %rsp\n"                           \
            "    .cfi_adjust_cfa_offset 72\n"                \
            "    movq %rdi, 8(%rsp)\n"                       \
            "    movq %rsi, 16(%rsp)\n"                      \
            "    movq %rdx, 24(%rsp)\n"                      \
            "    movq %rcx, 32(%rsp)\n"                      \
            "    movq %r8, 40(%rsp)\n"                       \
            "    movq %r9, 48(%rsp)\n"                       \
            "    movq %rax, 56(%rsp)\n"                      \
            "    movq %r11, %rdi\n"                          \
            "    call resolve_descriptor_function\n"         \
            "    movq %rax, %r11\n"                          \
            "    movq 8(%rsp), %rdi\n"                       \
            "    movq 16(%rsp), %rsi\n"                      \
            "    movq 24(%rsp), %rdx\n"                      \
            "    movq 32(%rsp), %rcx\n"                      \
            "    movq 40(%rsp), %r8\n"                       \
            "    movq 48(%rsp), %r9\n"                       \
            "    movq 56(%rsp), %rax\n"                      \
            "    addq $72, %rsp\n"                           \
            "    .cfi_adjust_cfa_offset -72\n"               \
            "    jmp *%r11\n"                                \
            "    .cfi_endproc\n"                             \
            ".size jump_to_descriptor_function, .-jump_to_descriptor_function\n")

#endif
