/*
 * library_jump.h - the exported dlopen and abort: x86-64.
 *
 * RTLD_DEEPBIND would give a library libc's malloc but our free, so the flag is cleared.  libc's
 * dlopen is reached by a jump, not a call: the loader determines $ORIGIN, RUNPATH and the namespace
 * from its return address, which must be in the program.  A compiler does not promise such a jump,
 * so it is written in assembly.  It also has the name rtc_dlopen (rtcheck/event.h).
 *
 * A macro, because only the file that contains it may export dlopen.  That file (src/intercept)
 * defines next_dlopen, the address of libc's dlopen or NULL, and resolve_dlopen, which sets it and
 * returns it.
 *
 * libc's abort is reached by a jump, too, so that stacks of a crash have no frame of ours.  The file
 * that contains ABORT_JUMP defines prepare_abort, which returns the address of libc's abort.
 *
 * backtrace is a jump, so that libc's finds no frame of ours: the file that contains BACKTRACE_JUMP
 * defines backtrace_target, which returns the address of the function that continues.
 */
#ifndef LIBRARY_JUMP_H
#define LIBRARY_JUMP_H

#define LIBRARY_JUMP_CLEARS 8 /* RTLD_DEEPBIND */

#define LIBRARY_JUMP                             \
    __asm__(".text\n"                            \
            ".globl dlopen\n"                    \
            ".globl rtc_dlopen\n"                \
            ".type dlopen, @function\n"          \
            ".type rtc_dlopen, @function\n"      \
            "dlopen:\n"                          \
            "rtc_dlopen:\n"                      \
            "    .cfi_startproc\n"               \
            "    endbr64\n"                      \
            "    andl $~8, %esi\n"               \
            "    movq next_dlopen(%rip), %rax\n" \
            "    testq %rax, %rax\n"             \
            "    jz 1f\n"                        \
            "    jmp *%rax\n"                    \
            "1:  subq $24, %rsp\n"               \
            "    .cfi_adjust_cfa_offset 24\n"    \
            "    movq %rdi, 8(%rsp)\n"           \
            "    movl %esi, 16(%rsp)\n"          \
            "    call resolve_dlopen\n"          \
            "    movq 8(%rsp), %rdi\n"           \
            "    movl 16(%rsp), %esi\n"          \
            "    addq $24, %rsp\n"               \
            "    .cfi_adjust_cfa_offset -24\n"   \
            "    jmp *%rax\n"                    \
            "    .cfi_endproc\n"                 \
            ".size dlopen, .-dlopen\n"           \
            ".size rtc_dlopen, .-rtc_dlopen\n")

#define ABORT_JUMP                            \
    __asm__(".text\n"                         \
            ".globl abort\n"                  \
            ".type abort, @function\n"        \
            "abort:\n"                        \
            "    .cfi_startproc\n"            \
            "    endbr64\n"                   \
            "    subq $8, %rsp\n"             \
            "    .cfi_adjust_cfa_offset 8\n"  \
            "    call prepare_abort\n"        \
            "    addq $8, %rsp\n"             \
            "    .cfi_adjust_cfa_offset -8\n" \
            "    jmp *%rax\n"                 \
            "    .cfi_endproc\n"              \
            ".size abort, .-abort\n")

#define BACKTRACE_JUMP                         \
    __asm__(".text\n"                          \
            ".globl backtrace\n"               \
            ".type backtrace, @function\n"     \
            "backtrace:\n"                     \
            "    .cfi_startproc\n"             \
            "    endbr64\n"                    \
            "    subq $24, %rsp\n"             \
            "    .cfi_adjust_cfa_offset 24\n"  \
            "    movq %rdi, 8(%rsp)\n"         \
            "    movl %esi, 16(%rsp)\n"        \
            "    call backtrace_target\n"      \
            "    movq 8(%rsp), %rdi\n"         \
            "    movl 16(%rsp), %esi\n"        \
            "    addq $24, %rsp\n"             \
            "    .cfi_adjust_cfa_offset -24\n" \
            "    jmp *%rax\n"                  \
            "    .cfi_endproc\n"               \
            ".size backtrace, .-backtrace\n")

#endif
