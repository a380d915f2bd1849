/* translated_trap.c - translated_bad. */
#include "translated_trap.h"

__asm__(".text\n"
        ".type translated_bad, @function\n"
        ".globl translated_bad\n"
        ".hidden translated_bad\n"
        "translated_bad:\n"
        "    cmpb $0, 0\n" /* 80 3c 25, 4 bytes of address, 1 of the constant */
        "    ret\n"
        ".size translated_bad, .-translated_bad\n");
