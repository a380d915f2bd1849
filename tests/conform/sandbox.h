/*
 * sandbox.h - a seccomp sandbox: after the start only the listed system calls are allowed.
 *
 * The list has the calls of the rows themselves (threads, fork, signals, output on stdout) and the
 * runtime's documented calls after start-up.  Any other call kills the process.  So a new kind of
 * call in the runtime appears as a SIGSYS in the row that caused it.
 */
#ifndef CONFORM_SANDBOX_H
#define CONFORM_SANDBOX_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const int sandbox_calls[] = {
    /* clang-format off */
    /* the runtime's after start-up */
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_gettid, SYS_getpid,
    SYS_clock_gettime, SYS_sched_yield, SYS_exit_group,
    /* output, and libc's calls on a descriptor */
    SYS_read, SYS_write, SYS_close, SYS_fstat, SYS_newfstatat, SYS_lseek,
    /* threads and children */
    SYS_clone, SYS_clone3, SYS_wait4, SYS_exit, SYS_set_robust_list, SYS_rseq, SYS_prlimit64,
    /* signals */
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_tgkill,
    SYS_restart_syscall,
    /* libc's own allocator and its seeds */
    SYS_brk, SYS_getrandom,
    /* clang-format on */
};

enum { SANDBOX_CALLS = sizeof sandbox_calls / sizeof sandbox_calls[0] };

/*
 * Load and check the architecture, load the number, and compare it with each allowed call, with a
 * jump to the last instruction (allow).  Without a match, kill.
 */
static inline int sandbox_enter(void)
{
    struct sock_filter program[SANDBOX_CALLS + 6];
    unsigned n = 0;
    const struct sock_filter arch =
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    const struct sock_filter is_arch = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    const struct sock_filter kill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const struct sock_filter number =
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[n++] = arch;
    program[n++] = is_arch;
    program[n++] = kill;
    program[n++] = number;
    for (unsigned i = 0; i < SANDBOX_CALLS; i++) {
        const struct sock_filter is_call =
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)sandbox_calls[i],
                     (unsigned char)(SANDBOX_CALLS - i), 0);
        program[n++] = is_call;
    }
    program[n++] = kill;
    program[n++] = allow;
    const struct sock_fprog filter = {(unsigned short)n, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

#endif
