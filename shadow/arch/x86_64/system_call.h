/*
 * system_call.h - the instruction that enters the kernel: x86-64.
 *
 * The runtime issues its system calls without libc (src/base, src/os), and a test of the command
 * issues one as a statically linked program would.  Inline, because the kernel must find the
 * instruction in the code of the caller's library.  Results of -4095 to -1 are errors, as the kernel
 * returns them.  The variant with four arguments leaves the other registers unchanged.
 */
#ifndef SYSTEM_CALL_H
#define SYSTEM_CALL_H

static inline __attribute__((always_inline)) long system_call4(long nr, long a, long b, long c,
                                                               long d)
{
    register long r10 __asm__("r10") = d;
    long result = nr;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static inline __attribute__((always_inline)) long system_call6(long nr, long a, long b, long c,
                                                               long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result = nr;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
