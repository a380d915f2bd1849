/*
 * dispatch.c - program behaviour that an interceptor of all system calls could break.
 *
 *     dispatch [ROW...]      "ok NAME" or "wrong NAME" for each, as Linux has it: also without the runtime
 *
 * rtc-build: -pthread +dispatch_*.c
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#include "alone.h"
#include "dispatch.h"

/* ---- handlers ---------------------------------------------------------------------------------------- */

static volatile sig_atomic_t came;
static int pipes[2];

/* All signals are blocked in the handler: its calls are dispatched nevertheless. */
static void note(int signal)
{
    assert(getppid() > 0);
    came = came * 100 + signal % 100;
}

static void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigfillset(&action.sa_mask);
    assert(sigaction(signal, &action, NULL) == 0);
}

static void alarm_in(long us)
{
    struct itimerval timer = {.it_value = {0, us}};
    assert(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void note_and_write(int signal)
{
    note(signal);
    assert(write(pipes[1], "x", 1) == 1);
}

/* A read is interrupted by a handler that writes to its pipe: the read is restarted. */
static void restarted(void)
{
    char c;
    assert(pipe(pipes) == 0);
    handle(SIGALRM, note_and_write, SA_RESTART);
    alarm_in(20000);
    assert(read(pipes[0], &c, 1) == 1 && c == 'x' && came == SIGALRM);
}

static void interrupted(void)
{
    char c;
    assert(pipe(pipes) == 0);
    handle(SIGALRM, note, 0);
    alarm_in(20000);
    assert(read(pipes[0], &c, 1) == -1 && errno == EINTR && came == SIGALRM);
}

/* Stopped and continued: the kernel restarts the call with the remaining time. */
static void slept_on(void)
{
    struct timespec wish = {0, 150000000}, before, after;
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        usleep(30000);
        kill(self, SIGSTOP);
        usleep(30000);
        kill(self, SIGCONT);
        _exit(0);
    }
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert(nanosleep(&wish, NULL) == 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >=
           149);
    assert(waitpid(pid, NULL, 0) == pid);
}

static sigjmp_buf back;

static void jump(int signal)
{
    note(signal);
    siglongjmp(back, 1);
}

/* Out of a call that waits, again and again. */
static void jumped(void)
{
    char c;
    assert(pipe(pipes) == 0);
    handle(SIGALRM, jump, SA_RESTART);
    for (volatile int i = 0; i < 20; i++) {
        came = 0;
        if (sigsetjmp(back, 1) == 0) {
            alarm_in(2000);
            (void)!read(pipes[0], &c, 1);
            assert(!"it came back");
        }
        assert(came == SIGALRM && getppid() > 0);
    }
}

static void masked(void)
{
    sigset_t all, now;
    sigfillset(&all);
    handle(SIGUSR1, note, 0);
    assert(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
    raise(SIGUSR1);
    assert(getppid() > 0 && !came);
    assert(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1) &&
           sigismember(&now, SIGCHLD));
    sigdelset(&all, SIGUSR1);
    assert(sigsuspend(&all) == -1 && errno == EINTR && came == SIGUSR1);
    assert(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1));
    assert(syscall(SYS_rt_sigprocmask, SIG_SETMASK, (void *)8, NULL, 8) == -1 && errno == EFAULT);
    assert(syscall(SYS_rt_sigprocmask, 77, &all, NULL, 8) == -1 && errno == EINVAL);
}

/* Calls that wait with their own signal mask, in which all signals but one are blocked. */
static void masked_while(void)
{
    sigset_t all, one;
    struct timespec second = {5, 0};
    struct epoll_event e;
    int epoll = epoll_create1(0);
    sigfillset(&all);
    sigfillset(&one);
    sigdelset(&one, SIGUSR1);
    handle(SIGUSR1, note, 0);
    assert(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
    raise(SIGUSR1);
    assert(ppoll(NULL, 0, &second, &one) == -1 && errno == EINTR && came == SIGUSR1);
    raise(SIGUSR1);
    assert(pselect(0, NULL, NULL, NULL, &second, &one) == -1 && errno == EINTR && came == 1010);
    raise(SIGUSR1);
    assert(epoll_pwait(epoll, &e, 1, 5000, &one) == -1 && errno == EINTR && came == 101010);
    assert(second.tv_sec == 5);
}

static char stack_of_signals[65536];

static void on_other_stack(int signal)
{
    char here;
    stack_t now;
    note(signal);
    assert(&here > stack_of_signals && &here < stack_of_signals + sizeof stack_of_signals);
    assert(sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_ONSTACK);
    stack_t other = {.ss_flags = SS_DISABLE};
    assert(sigaltstack(&other, NULL) == -1 && errno == EPERM);
}

static void on_alternate_stack(void)
{
    stack_t stack = {.ss_sp = stack_of_signals, .ss_size = sizeof stack_of_signals}, now;
    assert(sigaltstack(&stack, NULL) == 0);
    handle(SIGUSR1, on_other_stack, SA_ONSTACK);
    raise(SIGUSR1);
    assert(came == SIGUSR1);
    assert(sigaltstack(NULL, &now) == 0 && now.ss_sp == stack_of_signals &&
           !(now.ss_flags & SS_ONSTACK));
}

static void overflowed(int signal)
{
    note(signal);
    siglongjmp(back, 1);
}

static volatile int never;

static int deeper(volatile char *above)
{
    volatile char here[4096];
    here[0] = above ? *above : 0;
    return never ? 0 : deeper(here) + here[0];
}

/* A stack that has grown as far as it may, which a handler on another one leaves. */
static void overflow(void)
{
    stack_t stack = {.ss_sp = stack_of_signals, .ss_size = sizeof stack_of_signals};
    assert(sigaltstack(&stack, NULL) == 0);
    handle(SIGSEGV, overflowed, SA_ONSTACK);
    if (sigsetjmp(back, 1) == 0)
        deeper(NULL);
    assert(came == SIGSEGV && getppid() > 0);
}

/* A handler may return with a changed signal mask, in which all signals may be blocked. */
static void change_mask(int signal, siginfo_t *info, void *context)
{
    (void)info;
    note(signal);
    sigfillset(&((ucontext_t *)context)->uc_sigmask);
}

static void mask_given_back(void)
{
    struct sigaction action = {.sa_sigaction = change_mask, .sa_flags = SA_SIGINFO};
    sigset_t now;
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    assert(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR2));
    assert(getppid() > 0);
}

/* ---- its own SIGSYS ---------------------------------------------------------------------------------------- */

static void own_signal(void)
{
    struct sigaction old;
    handle(SIGSYS, note, SA_RESTART);
    assert(sigaction(SIGSYS, NULL, &old) == 0 && old.sa_handler == note &&
           old.sa_flags & SA_RESTART);
    raise(SIGSYS);
    assert(came == SIGSYS);
    kill(getpid(), SIGSYS);
    assert(came == 3131);
    handle(SIGSYS, note, SA_RESETHAND);
    raise(SIGSYS);
    assert(sigaction(SIGSYS, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    handle(SIGSYS, SIG_IGN, 0);
    raise(SIGSYS);
    assert(came == 313131);
}

/* With 512 bytes of a stack. */
static long call_from(char *stack, long number, long one, long two)
{
    register long r12 __asm__("r12");
    __asm__ volatile("movq %%rsp, %1\n movq %2, %%rsp\n syscall\n movq %1, %%rsp"
                     : "+a"(number), "=&r"(r12)
                     : "r"(stack), "D"(one), "S"(two)
                     : "rcx", "r11", "memory");
    return number;
}

/* A thread whose alternate stack is set, so that signals are not delivered on its small stack. */
static void tiny_stack(void)
{
    stack_t stack = {.ss_sp = stack_of_signals, .ss_size = sizeof stack_of_signals};
    char *at = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(at != MAP_FAILED && mprotect(at, 4096, PROT_NONE) == 0 &&
           sigaltstack(&stack, NULL) == 0);
    handle(SIGSYS, note, SA_ONSTACK);
    for (int i = 0; i < 10; i++)
        assert(call_from(at + 4096 + 512, SYS_getppid, 0, 0) == getppid());
    assert(call_from(at + 4096 + 512, SYS_munmap, (long)at + 8192, 8192) == 0);
    assert(!came);
}

/* Discard everything below the page of the stack pointer. */
static void discarded_below(void)
{
    char *at = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(at != MAP_FAILED);
    for (int distance = 8; distance <= 256; distance += 8) {
        memset(at, 1, 1 << 18);
        assert(call_from(at + (1 << 17) + distance, SYS_munmap, (long)at + (1 << 16), 1 << 16) ==
               0);
        assert(mmap(at + (1 << 16), 1 << 16, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at + (1 << 16));
    }
}

/* A jump that leaves the mask as it is. */
static void jumped_out(void)
{
    unsigned long before = 0, now = 0;
    assert(syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &before, 8) == 0);
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_NODEFER};
    assert(sigaction(SIGSYS, &action, NULL) == 0);
    if (sigsetjmp(back, 0) == 0)
        raise(SIGSYS);
    assert(came == SIGSYS && syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now, 8) == 0 &&
           now == before);
}

static void bad_action(void)
{
    char kernels[32];
    assert(syscall(SYS_rt_sigaction, SIGSYS, (void *)16, NULL, 8) == -1 && errno == EFAULT);
    assert(syscall(SYS_rt_sigaction, SIGSYS, NULL, (void *)16, 8) == -1 && errno == EFAULT);
    assert(syscall(SYS_rt_sigaction, SIGSYS, NULL, kernels, 9) == -1 && errno == EINVAL);
}

static void own_default(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        raise(SIGSYS);
        _exit(1);
    }
    assert(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

/* ---- cancellation --------------------------------------------------------------------------------------------- */

static volatile int cleaned;

static void clean(void *unused)
{
    (void)unused;
    cleaned++;
}

static void *wait_for_ever(void *unused)
{
    char c;
    pthread_cleanup_push(clean, NULL);
    (void)!read(pipes[0], &c, 1);
    pthread_cleanup_pop(0);
    return unused;
}

static void cancelled(void)
{
    pthread_t thread;
    void *result;
    assert(pipe(pipes) == 0);
    for (int i = 1; i <= 10; i++) {
        assert(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
        usleep(i % 2 ? 0 : 2000);
        assert(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        assert(result == PTHREAD_CANCELED);
    }
    assert(cleaned > 0);
}

static const struct row rows[] = {{"restarted", restarted},
                                  {"interrupted", interrupted},
                                  {"slept_on", slept_on},
                                  {"jumped", jumped},
                                  {"masked", masked},
                                  {"masked_while", masked_while},
                                  {"on_alternate_stack", on_alternate_stack},
                                  {"overflow", overflow},
                                  {"mask_given_back", mask_given_back},
                                  {"own_signal", own_signal},
                                  {"tiny_stack", tiny_stack},
                                  {"discarded_below", discarded_below},
                                  {"jumped_out", jumped_out},
                                  {"bad_action", bad_action},
                                  {"own_default", own_default},
                                  {"cancelled", cancelled},
                                  DISPATCH_PROCESSES};

/* A child that does nothing with memory is none to the runtime. */
static void allocate(void)
{
    free(malloc(1));
}

static const struct rows all = {rows, sizeof rows / sizeof rows[0], 20, allocate};

int main(int argc, char **argv)
{
    return rows_run(&all, argc, argv);
}
