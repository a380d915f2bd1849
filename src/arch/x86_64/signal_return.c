/*
 * signal_return.c - os_signal_return.
 */
#include "signal_return.h"

/* Return address of handlers: unwinders recognise it by exactly these bytes. */
__asm__(".text\n"
        ".type os_signal_return, @function\n"
        ".globl os_signal_return\n"
        ".hidden os_signal_return\n"
        "os_signal_return:\n"
        "    movq $15, %rax\n" /* rt_sigreturn */
        "    syscall\n"
        ".size os_signal_return, .-os_signal_return\n");
