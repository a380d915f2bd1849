/*
 * signal.c - the threads of this process as reported by the kernel, and how to interrupt one.
 *
 * Signal actions are set by raw system calls.  libc refuses actions of the signals it reserves, and
 * its sigaction would report our actions to the program.
 */
#include "calls.h"
#include "context.h"
#include "instructions.h"
#include "os.h"
#include "os_priv.h"
#include "signal_return.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>

/* ---- threads --------------------------------------------------------------------------------- */

struct entry_of_folder {
    uint64_t inode, offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

int os_each_name(const char *folder, void (*visit)(const char *name, void *about), void *about)
{
    _Alignas(8) char buffer[4096];
    int fd = os_sandboxed() ? -EPERM : os_open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    long got;
    while ((got = CALL3(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct entry_of_folder *e = (const void *)(buffer + at);
            if (e->name[0] != '.')
                visit(e->name, about);
            at += e->bytes;
        }
    }
    os_close(fd);
    return (int)got;
}

struct each_thread {
    void (*visit)(uint32_t tid, void *about);
    void *about;
};

static void visit_thread(const char *name, void *about)
{
    const struct each_thread *each = about;
    uint64_t tid;
    if (text_parse_decimal(&name, &tid) && !*name)
        each->visit((uint32_t)tid, each->about);
}

/* Put "/proc/self/task", or the same of the process that the caller serves. */
static void put_tasks(struct text *t)
{
    uint32_t served = os_served();
    text_put(t, "/proc/");
    if (served)
        text_decimal(t, served);
    else
        text_put(t, "self");
    text_put(t, "/task");
}

int os_each_thread(void (*visit)(uint32_t tid, void *about), void *about)
{
    struct each_thread each = {visit, about};
    char path[32];
    struct text t = text_begin(path, sizeof path);
    put_tasks(&t);
    text_end(&t);
    return os_each_name(path, visit_thread, &each);
}

uint32_t os_threads(void)
{
    struct stat st;
    bool known = !os_sandboxed() && os_stat("/proc/self/task", &st) == 0 && st.st_nlink > 2;
    /* One link per thread, plus "." and the entry in the parent. */
    return known ? (uint32_t)st.st_nlink - 2 : 0;
}

/* Read /proc/PID/task/TID/`name`, NUL-terminated.  Returns the number of bytes. */
static long read_of_thread(uint32_t tid, const char *name, char *buffer, size_t room)
{
    char path[64];
    struct text t = text_begin(path, sizeof path);
    put_tasks(&t);
    text_put(&t, "/");
    text_decimal(&t, tid);
    text_put(&t, name);
    text_end(&t);
    int fd = os_sandboxed() ? -EPERM : os_open(path, O_RDONLY, 0);
    long got = fd < 0 ? 0 : os_read(fd, buffer, room - 1);
    if (fd >= 0)
        os_close(fd);
    buffer[got > 0 ? got : 0] = '\0';
    return got;
}

/*
 * Detect futex waits: mutexes, condition variables, semaphores and joins.  Those without a time
 * limit are restarted by the kernel.
 */
static void note_futex(struct os_waiting *w)
{
    unsigned operation = w->argument[1] & FUTEX_CMD_MASK;
    bool waits =
        operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI;
    bool is_futex = w->in_call && w->number == SYS_futex && waits;
    w->futex = is_futex ? w->argument[0] : 0;
    w->is_repeated = is_futex && !w->argument[3];
}

/*
 * Line formats: "number argument*6 sp pc"; "-1 sp pc" if blocked outside of a system call;
 * "running".
 */
bool os_thread_waits(uint32_t tid, struct os_waiting *w)
{
    char line[256];
    read_of_thread(tid, "/syscall", line, sizeof line);
    const char *s = line + (line[0] == '-');
    uint64_t word[7]; /* the arguments, if in a call, and the stack pointer */
    w->in_call = line[0] != '-';
    unsigned words = w->in_call ? OS_CALL_ARGUMENTS + 1 : 1;
    if (!text_parse_decimal(&s, &w->number))
        return false;
    for (unsigned i = 0; i < words; i++)
        if (!text_starts(s, " 0x") || (s += 3, !text_parse_hex(&s, &word[i])))
            return false;
    for (unsigned i = 0; i < OS_CALL_ARGUMENTS; i++)
        w->argument[i] = w->in_call ? word[i] : 0;
    w->sp = word[words - 1];
    note_futex(w);
    return true;
}

bool os_thread_blocks(uint32_t tid, int signal)
{
    static const char field[] = "SigBlk:\t";
    char status[2048];
    long got = read_of_thread(tid, "/status", status, sizeof status);
    for (long i = 0; i + (long)sizeof field <= got; i++) {
        const char *digits = status + i + sizeof field - 1;
        uint64_t mask;
        if (text_starts(status + i, field))
            return text_parse_hex(&digits, &mask) && mask >> (signal - 1) & 1;
    }
    return false;
}

uintptr_t os_thread_list(uint32_t tid)
{
    uintptr_t head = 0;
    size_t bytes;
    return !os_sandboxed() && CALL3(SYS_get_robust_list, tid, &head, &bytes) == 0 ? head : 0;
}

/* Line format: "tid (name) state ..."; the name may contain any character. */
enum os_thread_state os_thread_state(uint32_t tid)
{
    char line[128];
    long got = read_of_thread(tid, "/stat", line, sizeof line);
    for (long i = got - 3; i > 0; i--)
        if (line[i] == ')')
            return line[i + 2] == 'Z' || line[i + 2] == 'X' ? OS_THREAD_OVER
                   : line[i + 2] == 'R'                     ? OS_THREAD_RUNS
                                                            : OS_THREAD_WAITS;
    return got <= 0 && !os_sandboxed() ? OS_THREAD_OVER : OS_THREAD_WAITS;
}

/* ---- signals --------------------------------------------------------------------------------- */

/*
 * valgrind assumes that the frame of a handler with SA_ONSTACK lies on an alternate stack.  If the
 * thread has none, valgrind does not extend the main thread's stack for the frame, and the program
 * dies by SIGSEGV.
 */
static unsigned usable(int flags)
{
    bool ends = (flags & SA_ONSTACK) && os_by_valgrind();
    return (unsigned)flags & ~(ends ? (unsigned)SA_ONSTACK : 0);
}

int os_take_signal(int signal, os_handler handler, int flags, int unblocked,
                   struct os_action *before)
{
    struct os_action action = {.handler = (uintptr_t)handler,
                               .flags = usable(flags) | SA_SIGINFO | SIGNAL_RESTORER,
                               .restorer = (uintptr_t)os_signal_return,
                               .mask = OS_ALL_SIGNALS & ~(unblocked ? 1ull << (unblocked - 1) : 0)};
    return (int)CALL4(SYS_rt_sigaction, signal, &action, before, sizeof action.mask);
}

void os_restore_action(int signal, const struct os_action *before)
{
    CALL4(SYS_rt_sigaction, signal, before, NULL, sizeof(uint64_t));
}

int os_action_of(int signal, struct os_action *now)
{
    return (int)CALL4(SYS_rt_sigaction, signal, NULL, now, sizeof(uint64_t));
}

bool os_is_default(const struct os_action *action)
{
    return action->handler == (uintptr_t)SIG_DFL;
}

os_handler os_handler_of(const struct os_action *action)
{
    return action->handler > (uintptr_t)SIG_IGN ? (os_handler)action->handler : NULL;
}

int os_signal_thread(uint32_t tid, int signal, void *value)
{
    siginfo_t info = {.si_signo = signal, .si_code = SI_QUEUE};
    info.si_pid = (pid_t)os_pid();
    info.si_uid = os_uid();
    info.si_value.sival_ptr = value;
    return (int)CALL4(SYS_rt_tgsigqueueinfo, os_pid(), tid, signal, &info);
}

/* kill sends to the process: of others the kernel does not report whether they were sent to a thread. */
void os_keep_pending(int signal, const void *given, void *context)
{
    const siginfo_t *info = given;
    os_block_more(1ull << (signal - 1));
    *context_mask(context) |= 1ull << (signal - 1);
    if (info->si_code == SI_USER)
        CALL3(SYS_rt_sigqueueinfo, os_pid(), signal, info);
    else
        CALL4(SYS_rt_tgsigqueueinfo, os_pid(), os_tid(), signal, info);
}

/* ---- calls that a signal has interrupted ----------------------------------------------------- */

/*
 * Calls that fail with EINTR despite SA_RESTART (signal(7)), and have no effect then.  The socket
 * calls at the end do so if the socket has a time limit.
 */
static const uint16_t interruptible[] = {
    SYS_poll,         SYS_ppoll,         SYS_select,
    SYS_pselect6,     SYS_epoll_wait,    SYS_epoll_pwait,
    SYS_epoll_pwait2, SYS_nanosleep,     SYS_clock_nanosleep,
    SYS_pause,        SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
    SYS_msgrcv,       SYS_msgsnd,        SYS_semop,
    SYS_semtimedop,   SYS_futex,         SYS_io_getevents,
    SYS_read,         SYS_readv,         SYS_recvfrom,
    SYS_recvmsg,      SYS_write,         SYS_writev,
    SYS_sendto,       SYS_sendmsg,       SYS_accept,
    SYS_accept4,
};

static bool is_interruptible(uint32_t number)
{
    for (unsigned i = 0; i < sizeof interruptible / sizeof interruptible[0]; i++)
        if (interruptible[i] == number)
            return true;
    return false;
}

enum os_interrupted os_interrupted_call(const void *context)
{
    uint8_t code[CODE_BEFORE_BYTES + CODE_CALL_BYTES];
    uint32_t number;
    if (context_result(context) != -EINTR)
        return OS_NO_CALL;
    if (os_read_memory(context_pc(context) - sizeof code, code, sizeof code) != sizeof code)
        return OS_CALL_ENDED; /* unknown */
    if (!code_is_system_call(code + CODE_BEFORE_BYTES))
        return OS_NO_CALL;
    return code_loads_number(code, &number) && is_interruptible(number) ? OS_CALL_REPEATABLE
                                                                        : OS_CALL_ENDED;
}

void os_repeat_call(void *context)
{
    context_set_pc(context, context_pc(context) - CODE_NUMBER_BYTES - CODE_CALL_BYTES);
}
