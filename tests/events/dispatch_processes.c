/*
 * dispatch_processes.c - rows of dispatch.c: processes and threads that begin, stacks that end, calls that fail.
 */
#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "dispatch.h"

#define READ_WRITE (PROT_READ | PROT_WRITE)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)

extern char **environ;

static int status_of(pid_t pid)
{
    int status;
    assert(pid > 0 && waitpid(pid, &status, __WALL) == pid);
    return status;
}

/* ---- children ------------------------------------------------------------------------------------------- */

static _Noreturn void work_and_end(int status)
{
    void *at = mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    assert(at != MAP_FAILED && munmap(at, 8192) == 0);
    free(strdup("something"));
    _exit(status);
}

void forked(void)
{
    pid_t pid = fork();
    if (pid == 0)
        work_and_end(11);
    assert(status_of(pid) == 11 << 8);
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        work_and_end(12);
    assert(status_of(pid) == 12 << 8);
    pid = _Fork();
    if (pid == 0)
        _exit(13);
    assert(status_of(pid) == 13 << 8);
}

/* The child overwrites the memory below the stack pointer of the waiting parent. */
static void spoil(void)
{
    volatile char deep[2048];
    memset((void *)deep, 0x5a, sizeof deep);
}

void vforked(void)
{
    static char path[] = "/bin/sh", c[] = "-c", words[] = "exit 7";
    char *const argv[] = {path, c, words, NULL};
    volatile int shared = 0;
    for (volatile int i = 0; i < 5; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            spoil();
            shared++;
            if (i % 2)
                execve("/nowhere", argv, environ);
            else
                execve(path, argv, environ);
            _exit(8);
        }
        assert(status_of(pid) == (i % 2 ? 8 : 7) << 8);
    }
    assert(shared == 5 && getppid() > 0);
}

void spawned(void)
{
    static char path[] = "/bin/sh", c[] = "-c", words[] = "exit 9";
    char *const argv[] = {path, c, words, NULL};
    pid_t pid;
    assert(posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0 && status_of(pid) == 9 << 8);
    assert(posix_spawn(&pid, "/nowhere", NULL, NULL, argv, environ) == ENOENT);
    assert(system("exit 3") == 3 << 8);
    FILE *words_of = popen("echo said", "r");
    char line[8] = "";
    assert(words_of && fgets(line, sizeof line, words_of) && strcmp(line, "said\n") == 0 &&
           pclose(words_of) == 0);
}

/* ---- threads and others in this memory --------------------------------------------------------------------- */

static _Atomic int done;
static char other_stack[65536];

static int in_clone(void *arg)
{
    done += *(int *)arg;
    return 5;
}

static void *in_thread(void *arg)
{
    done += *(int *)arg;
    return NULL;
}

void cloned(void)
{
    int one = 1;
    pthread_t thread[8];
    pid_t pid = clone(in_clone, other_stack + sizeof other_stack, CLONE_VM | SIGCHLD, &one);
    assert(status_of(pid) == 5 << 8 && done == 1);
    pid = clone(in_clone, other_stack + sizeof other_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &one);
    assert(status_of(pid) == 5 << 8 && done == 2);
    pid = clone(in_clone, other_stack + sizeof other_stack, SIGCHLD, &one);
    assert(status_of(pid) == 5 << 8 && done == 2);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++)
            assert(pthread_create(&thread[i], NULL, in_thread, &one) == 0);
        for (int i = 0; i < 8; i++)
            assert(pthread_join(thread[i], NULL) == 0);
    }
    assert(done == 34);
}

void replaced(void)
{
    static char path[] = "/bin/sh", c[] = "-c", words[] = "exit $(expr 3 + 4)";
    char *const argv[] = {path, c, words, NULL};
    sigset_t all;
    pid_t pid = fork();
    if (pid == 0) {
        sigfillset(&all); /* which the next image inherits */
        sigprocmask(SIG_SETMASK, &all, NULL);
        execv(path, argv);
    }
    assert(status_of(pid) == 7 << 8);
}

void small_stacks(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    int one = 1;
    pthread_attr_init(&attr);
    assert(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) == 0);
    for (int i = 0; i < 8; i++)
        assert(pthread_create(&thread, &attr, in_thread, &one) == 0 &&
               pthread_join(thread, NULL) == 0);
    assert(done == 8);
}

/* Takes its own stack away, and ends: no call in between finds any. */
static int end_without(void *stack)
{
    __asm__ volatile("movq %0, %%rdi\n movl $65536, %%esi\n movl $11, %%eax\n syscall\n"
                     "movl $24, %%eax\n syscall\n" /* sched_yield */
                     "xorl %%edi, %%edi\n movl $60, %%eax\n syscall\n" ::"r"(stack)
                     : "memory");
    return 0;
}

void without_stack(void)
{
    char *stack = mmap(NULL, 65536, READ_WRITE, PLAIN, -1, 0);
    assert(stack != MAP_FAILED);
    assert(status_of(clone(end_without, stack + 65536, CLONE_VM | SIGCHLD, stack)) == 0);
    assert(mprotect(stack, 4096, PROT_READ) == -1 && errno == ENOMEM);
}

/* ---- calls that fail, and sandboxes -------------------------------------------------------------------------- */

void refused(void)
{
    char *at = mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    void *brk = (void *)syscall(SYS_brk, 0);
    assert(syscall(SYS_mmap, NULL, 0, READ_WRITE, PLAIN, -1, 0) == -1 && errno == EINVAL);
    assert(syscall(SYS_mmap, NULL, 4096, READ_WRITE, MAP_PRIVATE, 9999, 0) == -1 && errno == EBADF);
    assert(syscall(SYS_munmap, at + 1, 4096) == -1 && errno == EINVAL);
    assert(syscall(SYS_mremap, at, 4096, 1ul << 46, 0, NULL) == -1 && errno != 0);
    assert(syscall(SYS_madvise, at, 4096, 9999) == -1 && errno == EINVAL);
    assert(syscall(SYS_mprotect, at + 1, 4096, 0) == -1 && errno == EINVAL);
    assert(syscall(SYS_shmdt, at) == -1 && errno == EINVAL);
    assert(syscall(SYS_shmat, -1, NULL, 0) == -1 && errno == EINVAL);
    assert((void *)syscall(SYS_brk, 1) == brk &&
           (void *)syscall(SYS_brk, (char *)brk + 4096) == (char *)brk + 4096);
    assert((void *)syscall(SYS_brk, brk) == brk);
    assert(syscall(9999) == -1 && errno == ENOSYS);
    errno = 77;
    assert(syscall(SYS_munmap, at, 8192) == 0 && errno == 77);
}

/* All that a system call leaves as it is: registers, and the 128 bytes below the stack pointer. */
static long call_exactly(long number, long one, long two, long three, long four)
{
    long di = one, si = two, dx = three, near, far;
    double x = 1.25;
    register long r10 __asm__("r10") = four;
    register long r8 __asm__("r8") = 888;
    register long r9 __asm__("r9") = 999;
    __asm__ volatile(
        "subq $256, %%rsp\n movq $1234, -8(%%rsp)\n movq $5678, -16(%%rsp)\n movq $9012, "
        "-128(%%rsp)\n"
        "syscall\n"
        "movq -8(%%rsp), %7\n addq -16(%%rsp), %7\n movq -128(%%rsp), %8\n addq $256, %%rsp\n"
        : "+a"(number), "+D"(di), "+S"(si), "+d"(dx), "+r"(r10), "+r"(r8), "+r"(r9), "=&r"(near),
          "=&r"(far), "+x"(x)
        :
        : "rcx", "r11", "memory", "cc");
    assert(di == one && si == two && dx == three && r10 == four && r8 == 888 && r9 == 999);
    assert(near == 1234 + 5678 && far == 9012 && x == 1.25);
    return number;
}

void registers(void)
{
    unsigned long all = -1ul, now = 0;
    assert(call_exactly(SYS_mmap, 0, 8192, READ_WRITE, PLAIN) == -EINVAL); /* from 999 on */
    long at = (long)mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    assert(call_exactly(SYS_mprotect, at, 8192, PROT_READ, 4) == 0);
    assert(call_exactly(SYS_munmap, at, 8192, 3, 4) == 0);
    errno = 77;
    assert(call_exactly(SYS_munmap, at + 1, 8192, 3, 4) == -EINVAL && errno == 77);
    assert(call_exactly(SYS_getppid, 1, 2, 3, 4) == getppid());
    assert(call_exactly(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&now, 8) == 0);
    assert(call_exactly(SYS_rt_sigprocmask, SIG_SETMASK, (long)&now, 0, 8) == 0 && all == -1ul);
    long pid = call_exactly(SYS_clone, SIGCHLD, 0, 0, 0);
    if (pid == 0)
        _exit(6);
    assert(status_of((pid_t)pid) == 6 << 8);
}

/* The upper half of a vector register across a call, which may fail, with the stack pointer `apart` further down. */
static unsigned long upper_half(long number, long one, long two, long distance)
{
    unsigned long upper;
    __asm__ volatile(
        "subq %4, %%rsp\n subq $512, %%rsp\n"
        "vpcmpeqd %%xmm15, %%xmm15, %%xmm15\n vinsertf128 $1, %%xmm15, %%ymm15, %%ymm15\n"
        "syscall\n"
        "vextractf128 $1, %%ymm15, %%xmm15\n vmovq %%xmm15, %1\n"
        "addq $512, %%rsp\n addq %4, %%rsp\n vzeroupper\n"
        : "+a"(number), "=&r"(upper)
        : "D"(one), "S"(two), "r"(distance), "d"(0l)
        : "rcx", "r11", "r10", "r8", "r9", "memory", "cc", "xmm15");
    return upper;
}

void vectors(void)
{
    static const unsigned long all = -1ul;
    if (!__builtin_cpu_supports("avx"))
        return;
    for (long distance = 0; distance < 128; distance += 8) {
        assert(upper_half(SYS_getppid, 0, 0, distance) == -1ul);
        assert(upper_half(SYS_munmap, 0, 0, distance) == -1ul);
        assert(upper_half(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, distance) == -1ul);
    }
}

/* The old way in: getpid is 20 there. */
void of_another_system(void)
{
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    assert(result == getpid() || result == -ENOSYS);
}

/* Only the calls that the runtime is documented to need, and those tested: rt_sigreturn is not among them. */
void sandboxed(void)
{
#define ALLOW(nr) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter filter[] = {
        /* clang-format off */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_getppid), ALLOW(SYS_exit_group), ALLOW(SYS_munmap), ALLOW(SYS_mmap),
        ALLOW(SYS_madvise), ALLOW(SYS_mprotect), ALLOW(SYS_sched_yield), ALLOW(SYS_futex), ALLOW(SYS_gettid), ALLOW(SYS_getpid), ALLOW(SYS_clock_gettime),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        /* clang-format on */
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    pid_t pid = fork();
    if (pid == 0) {
        assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        assert(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
        work_and_end(getppid() > 0 ? 4 : 5);
    }
    assert(status_of(pid) == 4 << 8);
}

static volatile int traps;

static void answer_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    traps += info->si_code == 1; /* SYS_SECCOMP */
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -ENOTTY;
}

/* A sandbox whose program answers traps: nearly all calls are traps, also those in handlers. */
void trapped(void)
{
    struct sock_filter filter[] = {
        /* clang-format off */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_rt_sigreturn), ALLOW(SYS_exit_group), ALLOW(SYS_munmap), ALLOW(SYS_futex),
        ALLOW(SYS_gettid), ALLOW(SYS_getpid), ALLOW(SYS_clock_gettime),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        /* clang-format on */
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    struct sigaction action = {.sa_sigaction = answer_trap, .sa_flags = SA_SIGINFO};
    pid_t pid = fork();
    if (pid == 0) {
        assert(sigaction(SIGSYS, &action, NULL) == 0 &&
               prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        assert(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
        int good = syscall(SYS_getppid) == -1 && errno == ENOTTY && traps == 1;
        syscall(SYS_exit_group, good ? 4 : 5);
    }
    assert(status_of(pid) == 4 << 8);
}
