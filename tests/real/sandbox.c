/*
 * rtc-build: shared
 *
 * sandbox.c - makes a program enter a seccomp filter after its start.
 *
 * Preloaded behind the runtime.  It wraps __libc_start_main, not a constructor: the order of
 * constructors of two preloaded libraries is not defined, and the filter must come last.
 * RTC_TEST_SANDBOX=N,N,... lists the system calls that the program makes without the runtime; the
 * few that the runtime may make at any time are added.  Everything else kills the process.  Without
 * the variable it only leaves a mark in the output of strace: the end of the start.
 */
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_MAX 400

static const int runtime_calls[] = {
    SYS_mmap,   SYS_munmap, SYS_mprotect,      SYS_madvise,     SYS_futex,
    SYS_gettid, SYS_getpid, SYS_clock_gettime, SYS_sched_yield, SYS_exit_group,
};

/* System calls of signal returns and interruptions: strace of a quiet run does not show them. */
static const int kernel_calls[] = {SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit};

static struct sock_filter filter[2 * CALLS_MAX + 8];
static unsigned short filter_count;

static void filter_add(unsigned short code, unsigned jump_true, unsigned jump_false, unsigned k)
{
    filter[filter_count++] = (struct sock_filter){
        .code = code, .jt = (unsigned char)jump_true, .jf = (unsigned char)jump_false, .k = k};
}

static void filter_allow(int call)
{
    if (filter_count > 2 * CALLS_MAX)
        abort();
    filter_add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)call);
    filter_add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

static void filter_build(const char *calls)
{
    filter_add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    filter_add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
    filter_add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    filter_add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof runtime_calls / sizeof *runtime_calls; i++)
        filter_allow(runtime_calls[i]);
    for (size_t i = 0; i < sizeof kernel_calls / sizeof *kernel_calls; i++)
        filter_allow(kernel_calls[i]);
    for (char *end; *calls; calls = *end ? end + 1 : end)
        filter_allow((int)strtol(calls, &end, 10));
    filter_add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
}

static void sandbox_enter(void)
{
    const char *calls = getenv("RTC_TEST_SANDBOX");
    if (!calls) {
        ssize_t refused = write(-1, "start is over", 13);
        (void)refused;
        return;
    }
    filter_build(calls);
    struct sock_fprog program = {.len = filter_count, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        abort();
}

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);
start_function __libc_start_main;

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    start_function *real = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    sandbox_enter();
    return real(main, argc, argv, init, fini, rtld_fini, stack_end);
}
