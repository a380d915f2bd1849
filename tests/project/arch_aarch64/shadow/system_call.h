/*
 * system_call.h - the instruction that enters the kernel: AArch64.
 */
#ifndef SYSTEM_CALL_H
#define SYSTEM_CALL_H

static inline __attribute__((always_inline)) long system_call6(long nr, long a, long b, long c,
                                                               long d, long e, long f)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

static inline __attribute__((always_inline)) long system_call4(long nr, long a, long b, long c,
                                                               long d)
{
    return system_call6(nr, a, b, c, d, 0, 0);
}

#endif
