/*
 * steps.c - a machine whose clock counts the instructions of the library that reads it.
 *
 *     steps LIBRARY PROGRAM [ARGUMENT...]
 *
 * Runs PROGRAM.  The processor's clock is forbidden to it, and each read is answered here.  After a read by LIBRARY the
 * process runs in single steps until LIBRARY returns to its caller, and the clock advances by 1 with each instruction;
 * a system call counts as one, an iteration of a repeated one as one, as in callgrind.  If STEPS_MOST steps pass
 * without a read, LIBRARY must be timing that in another way: the process runs freely until the next read.  Everything
 * else runs at full speed, and the clock follows the processor's: so its rate is about the same, and times from the
 * kernel and the vDSO stay valid.  The stops change one value that the runtime reads, the number of context switches:
 * it is set to 0.
 *
 * PROGRAM has one thread.  Processes that it starts have the processor's clock.
 *
 * Prints the number of LIBRARY's reads from outside of such a stretch, the number of instructions in the stretches, and
 * the status.  3: tracing is not permitted here, or reading the clock cannot be forbidden (some virtual machines accept
 * PR_SET_TSC without effect).
 *
 * rtc-build: -D_GNU_SOURCE
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                            \
    (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | \
     PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)

#define STEPS_MOST 60000u /* from one look to the next */

static struct {
    pid_t process;
    const char *library;
    uint64_t start, end; /* the range of its code */
    uint64_t clock;
    bool stepping, was_inside;
    unsigned long stretches, steps, at_look;
} seen;

static struct user_regs_struct registers(pid_t pid)
{
    struct user_regs_struct r = {0};
    ptrace(PTRACE_GETREGS, pid, 0, &r); /* fails if the process was just killed */
    return r;
}

static uint64_t word_at(pid_t pid, uint64_t at)
{
    return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, at, 0);
}

static bool is_inside(uint64_t pc)
{
    return pc >= seen.start && pc < seen.end;
}

static void find_library(void)
{
    char path[64], line[4352], name[4097];
    uint64_t start, end;
    snprintf(path, sizeof path, "/proc/%d/maps", seen.process);
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " r-x%*c %*s %*s %*s %4096s", &start, &end, name) !=
            3)
            continue;
        const char *slash = strrchr(name, '/');
        if (slash && strcmp(slash + 1, seen.library) == 0)
            seen.start = start, seen.end = end;
    }
    if (in)
        fclose(in);
}

/* ---- the clock -------------------------------------------------------------------------------- */

static uint64_t look(pid_t pid, uint64_t pc)
{
    if (pid != seen.process)
        return __builtin_ia32_rdtsc();
    seen.at_look = seen.steps;
    if (seen.stepping)
        return ++seen.clock; /* this look is an instruction, too */
    uint64_t now = __builtin_ia32_rdtsc();
    if (now > seen.clock)
        seen.clock = now;
    if (!is_inside(pc) && !seen.start)
        find_library();
    seen.stepping = seen.was_inside = is_inside(pc);
    seen.stretches += seen.stepping;
    return seen.clock;
}

/* false: another fault. */
static bool answer(pid_t pid)
{
    struct user_regs_struct r = registers(pid);
    uint64_t code = word_at(pid, r.rip);
    bool plain = (code & 0xffff) == 0x310f /* rdtsc */,
         with_cpu = (code & 0xffffff) == 0xf9010f /* rdtscp */;
    if (!plain && !with_cpu)
        return false;
    uint64_t now = look(pid, r.rip);
    r.rip += plain ? 2 : 3;
    r.rax = now & 0xffffffff;
    r.rdx = now >> 32;
    if (with_cpu)
        r.rcx = 0;
    ptrace(PTRACE_SETREGS, pid, 0, &r);
    return true;
}

/* Behind a call of the kernel's, or in front of it, where it is no answer yet. */
static void forget_switches(const struct user_regs_struct *r)
{
    if (r->orig_rax != SYS_getrusage || r->rax != 0)
        return;
    ptrace(PTRACE_POKEDATA, seen.process, r->rsi + offsetof(struct rusage, ru_nvcsw), 0);
    ptrace(PTRACE_POKEDATA, seen.process, r->rsi + offsetof(struct rusage, ru_nivcsw), 0);
}

/* A function called by LIBRARY has a return address in LIBRARY on top of the stack at its start. */
static void take_step(void)
{
    struct user_regs_struct r = registers(seen.process);
    bool inside = is_inside(r.rip);
    forget_switches(&r);
    seen.clock++;
    seen.steps++;
    if (!inside && seen.was_inside)
        seen.stepping = is_inside(word_at(seen.process, r.rsp));
    seen.was_inside = inside;
    seen.stepping &= seen.steps < seen.at_look + STEPS_MOST;
}

/* ---- the process ------------------------------------------------------------------------------ */

/* Handle a stop of the process; return the signal to deliver. */
static int take_stop(pid_t pid, int status)
{
    int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) { /* a call */
        struct user_regs_struct r = registers(pid);
        if (pid == seen.process)
            forget_switches(&r);
        return 0;
    }
    if (signal == SIGSEGV && answer(pid))
        return 0;
    if (signal == SIGTRAP && pid == seen.process && seen.stepping && status >> 16 == 0)
        take_step();
    return signal == SIGTRAP || signal == SIGSTOP ? 0 : signal; /* a child's first is SIGSTOP */
}

/* The status of PROGRAM, when all have ended. */
static int run(void)
{
    int status, last = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status)) {
            int signal = take_stop(pid, status);
            ptrace(pid != seen.process ? PTRACE_CONT
                   : seen.stepping     ? PTRACE_SINGLESTEP
                                       : PTRACE_SYSCALL,
                   pid, 0, signal);
        } else if (pid == seen.process) {
            last = status;
        }
    }
    return last;
}

static bool clock_can_be_forbidden(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0)
            __builtin_ia32_rdtsc();
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static void become(char **argv)
{
    personality(ADDR_NO_RANDOMIZE); /* the same run every time */
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0 || ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) {
        perror("PR_SET_TSC, PTRACE_TRACEME");
        _exit(3);
    }
    raise(SIGSTOP);
    execvp(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

/* Two that take turns change faster on one processor. */
static void stay_here(void)
{
    cpu_set_t one;
    int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    int status;
    if (argc < 3)
        return 2;
    if (!clock_can_be_forbidden()) {
        fputs("PR_SET_TSC has no effect\n", stderr);
        return 3;
    }
    seen.library = argv[1];
    stay_here();
    seen.process = fork();
    if (seen.process == 0)
        become(argv + 2);
    if (waitpid(seen.process, &status, 0) != seen.process || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, seen.process, 0, OPTIONS) != 0 ||
        ptrace(PTRACE_CONT, seen.process, 0, 0) != 0)
        return 3;
    status = run();
    printf("stretches %lu steps %lu status %d\n", seen.stretches, seen.steps, status);
    return 0;
}
