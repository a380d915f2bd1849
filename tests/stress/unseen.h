/*
 * unseen.h - for tests: a fork that no interposer sees.
 */
#ifndef UNSEEN_H
#define UNSEEN_H

#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* A raw system call, which no library intercepts.  Like fork, but returns -errno on failure. */
static inline pid_t clone_unseen(void)
{
    register long tls __asm__("r8") = 0;
    register long child_tid __asm__("r10") = 0;
    long result = SYS_clone;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)SIGCHLD), "S"(0l), "d"(0l), "r"(child_tid), "r"(tls)
                     : "rcx", "r11", "memory");
    return (pid_t)result;
}

#endif
