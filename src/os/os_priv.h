/*
 * os_priv.h - internal to os: the raw system call and macros for its arities.
 */
#ifndef OS_PRIV_H
#define OS_PRIV_H

#include <stdint.h>

long os_call(long nr, long a, long b, long c, long d, long e, long f);
void os_fail_call(uint64_t n);
/*
 * All signals except SIGSYS.  Under events=all a system call of libc in our code raises SIGSYS, and
 * the kernel kills a process that blocks it.
 */
#define OS_ALL_SIGNALS (~(1ull << 30))

void os_forget_own(const void *at);
/* The process that the caller serves (os_serve); 0: none. */
uint32_t os_served(void);

#define CALL0(nr) os_call(nr, 0, 0, 0, 0, 0, 0)
#define CALL1(nr, a) os_call(nr, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(nr, a, b) os_call(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(nr, a, b, c) os_call(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(nr, a, b, c, d) os_call(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL6(nr, a, b, c, d, e, f) \
    os_call(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
