/*
 * call.c - the function that enters the kernel, and thin wrappers of system calls.
 */
#include "os.h"
#include "os_priv.h"
#include "system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

/* Test switch RTCHECK_TEST_FAIL: the n-th system call of start-up fails; 0: none. */
static uint64_t fail_at;
static _Atomic uint64_t calls;

void os_fail_call(uint64_t n)
{
    fail_at = n;
}

long os_call(long nr, long a, long b, long c, long d, long e, long f)
{
    if (unlikely(fail_at) &&
        atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1 == fail_at)
        return -1; /* EPERM */
    bool timed = self && self->timed;
    uint64_t since = timed ? os_ticks() : 0;
    long result = system_call6(nr, a, b, c, d, e, f);
    if (unlikely(timed))
        self->cost.kernel_ticks += os_ticks() - since;
    return result;
}

/*
 * Calls that cannot fail natively.  A seccomp filter may return an error once; the result is
 * needed, so try again.
 */
static uint32_t number_of(long nr)
{
    long number;
    for (unsigned tries = 0; (number = CALL0(nr)) < 0 && tries < 3; tries++)
        ;
    return (uint32_t)number;
}

uint32_t os_program_pid(void)
{
    uint32_t served = os_served();
    return served ? served : os_pid();
}

uint32_t os_pid(void)
{
    return number_of(SYS_getpid);
}

uint32_t os_ppid(void)
{
    return (uint32_t)CALL0(SYS_getppid);
}

uint32_t os_tid(void)
{
    return number_of(SYS_gettid);
}

uint32_t os_uid(void)
{
    return (uint32_t)CALL0(SYS_geteuid);
}

uint32_t os_gid(void)
{
    return (uint32_t)CALL0(SYS_getegid);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts = {0, 0};
    CALL2(SYS_clock_gettime, clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t os_clock_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t os_cpu_clock_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t os_own_cpu_clock_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t os_wall_clock_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

void os_yield(void)
{
    CALL0(SYS_sched_yield);
}

bool os_alternate_stack(uintptr_t *start, uintptr_t *end)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    if (os_sandboxed() || CALL2(SYS_sigaltstack, NULL, &stack) < 0 || stack.ss_flags & SS_DISABLE)
        return false;
    *start = (uintptr_t)stack.ss_sp;
    *end = *start + stack.ss_size;
    return true;
}

int os_set_alternate_stack(uintptr_t start, size_t bytes)
{
    const stack_t stack = {
        .ss_sp = (void *)start, .ss_size = bytes, .ss_flags = bytes ? 0 : SS_DISABLE};
    return os_sandboxed() ? -EPERM : (int)CALL2(SYS_sigaltstack, &stack, NULL);
}

bool os_on_alternate_stack(void)
{
    stack_t stack = {.ss_flags = SS_ONSTACK};
    if (!os_sandboxed())
        CALL2(SYS_sigaltstack, NULL, &stack);
    return stack.ss_flags & SS_ONSTACK;
}

static _Atomic uint64_t never_blocked;

void os_never_block(int signal)
{
    atomic_store_explicit(&never_blocked, signal ? 1ull << (signal - 1) : 0, memory_order_relaxed);
}

void os_block_signals(struct os_signals *s)
{
    uint64_t all = OS_ALL_SIGNALS & ~atomic_load_explicit(&never_blocked, memory_order_relaxed);
    s->blocked = !os_sandboxed() &&
                 CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &s->before, sizeof s->before) == 0;
}

void os_restore_signals(const struct os_signals *s)
{
    if (s->blocked)
        CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &s->before, NULL, sizeof s->before);
}

void os_block_more(uint64_t mask)
{
    CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof mask);
}

void os_unblock(int signal)
{
    uint64_t mask = 1ull << (signal - 1);
    if (!os_sandboxed())
        CALL4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof mask);
}

void os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns, bool shared)
{
    struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    CALL4(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, ns ? &ts : NULL);
}

void os_wake(_Atomic uint32_t *word, bool shared)
{
    CALL3(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

/* States of the word: 0 free, 1 held, 2 held and contended. */
void os_lock(_Atomic uint32_t *word)
{
    uint32_t free = 0;
    if (atomic_compare_exchange_strong(word, &free, 1))
        return;
    while (atomic_exchange(word, 2))
        os_wait(word, 2, 0, false);
}

void os_unlock(_Atomic uint32_t *word)
{
    if (atomic_exchange(word, 0) == 2)
        os_wake(word, false);
}

static bool foreign_pids;

void os_pids_are_foreign(bool foreign)
{
    foreign_pids = foreign;
}

uint32_t os_pid_namespace(void)
{
    char link[64];
    static const char prefix[] = "pid:[";
    long n = os_read_link("/proc/self/ns/pid", link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    const char *digits = link + sizeof prefix - 1;
    uint64_t inode;
    return text_starts(link, prefix) && text_parse_decimal(&digits, &inode) ? (uint32_t)inode : 0;
}

#define PIDFD_SELF_THREAD (-10000) /* since Linux 6.14 */
#define PIDFD_SELF_PROCESS (-10001)

static const char *proc_path(char *buffer, size_t room, const char *folder, uint64_t number)
{
    struct text t = text_begin(buffer, room);
    text_put(&t, folder);
    text_decimal(&t, number);
    text_end(&t);
    return buffer;
}

bool os_is_this_process(int pidfd)
{
    static const char field[] = "\nPid:\t"; /* a number in the pid namespace of this /proc mount */
    char path[64], text[512];
    struct stat st;
    uint64_t tid = 0;
    if (pidfd == PIDFD_SELF_THREAD || pidfd == PIDFD_SELF_PROCESS || os_sandboxed())
        return true;
    if (pidfd < 0)
        return false;
    if (os_read_text(proc_path(path, sizeof path, "/proc/thread-self/fdinfo/", (uint64_t)pidfd),
                     text, sizeof text) <= 0)
        return true;
    const char *s = text;
    while (*s && !text_starts(s, field))
        s++;
    s += *s ? sizeof field - 1 : 0;
    return text_parse_decimal(&s, &tid) && tid &&
           os_stat(proc_path(path, sizeof path, "/proc/self/task/", tid), &st) == 0;
}

bool os_process_gone(uint32_t pid)
{
    if (os_sandboxed() || foreign_pids)
        return false;
    return CALL2(SYS_kill, pid, 0) == -3; /* ESRCH */
}

bool os_child_ended(uint32_t pid)
{
    siginfo_t info = {.si_pid = 0}; /* stays 0 while the child runs */
    if (os_sandboxed())
        return false;
    long err = CALL6(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL, 0);
    return err == 0 ? info.si_pid != 0 : CALL2(SYS_kill, pid, 0) == -3; /* ESRCH: already reaped */
}

_Noreturn void os_exit_now(int status)
{
    for (;;)
        CALL1(SYS_exit_group, status);
}

int os_open(const char *path, int flags, unsigned mode)
{
    return (int)CALL4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

int os_open_at(int folder, const char *path, int flags)
{
    return (int)CALL4(SYS_openat, folder, path, flags | O_CLOEXEC, 0);
}

/*
 * Opens the file: access(2) checks the real ids, and faccessat2 is newer than the oldest supported
 * kernel.
 */
bool os_can_read(const char *path)
{
    int fd = os_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd >= 0)
        os_close(fd);
    return fd >= 0;
}

int os_close(int fd)
{
    return (int)CALL1(SYS_close, fd);
}

int os_stat_fd(int fd, struct stat *st)
{
    return (int)CALL2(SYS_fstat, fd, st);
}

int os_stat(const char *path, struct stat *st)
{
    return (int)CALL4(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

uint64_t os_room_of(const char *path)
{
    struct statfs fs;
    if (CALL2(SYS_statfs, path, &fs) || !fs.f_blocks) /* memfds have no limit */
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

bool os_is_in_memory(int fd)
{
    struct statfs fs;
    return (int)CALL2(SYS_fstatfs, fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

int os_truncate(int fd, uint64_t bytes)
{
    return (int)CALL2(SYS_ftruncate, fd, bytes);
}

int os_allocate(int fd, uint64_t bytes)
{
    int err;
    do
        err = (int)CALL4(SYS_fallocate, fd, 0, 0, bytes);
    while (err == -EINTR);
    return err;
}

int os_memory_file(const char *name)
{
    return (int)CALL2(SYS_memfd_create, name, MFD_CLOEXEC);
}

long os_working_directory(char *buffer, size_t bytes)
{
    return CALL2(SYS_getcwd, buffer, bytes);
}

int os_unlink(const char *path)
{
    return (int)CALL3(SYS_unlinkat, AT_FDCWD, path, 0);
}

int os_rename(const char *from, const char *to)
{
    return (int)CALL6(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0, 0);
}

long os_read(int fd, void *buffer, size_t bytes)
{
    return CALL3(SYS_read, fd, buffer, bytes);
}

long os_write_at(int fd, const void *buffer, size_t bytes, uint64_t offset)
{
    return CALL4(SYS_pwrite64, fd, buffer, bytes, offset);
}

long os_read_at(int fd, void *buffer, size_t bytes, uint64_t at)
{
    return CALL4(SYS_pread64, fd, buffer, bytes, at);
}

long os_write(int fd, const void *buffer, size_t bytes)
{
    return CALL3(SYS_write, fd, buffer, bytes);
}

long os_read_link(const char *path, char *buffer, size_t bytes)
{
    return CALL4(SYS_readlinkat, AT_FDCWD, path, buffer, bytes);
}

uint64_t os_limit(int resource)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    CALL4(SYS_prlimit64, 0, resource, NULL, &limit);
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

uint64_t os_data_bytes(void)
{
    char line[128];
    int fd = os_open("/proc/self/statm", O_RDONLY, 0);
    long n = fd >= 0 ? os_read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0)
        os_close(fd);
    line[n > 0 ? n : 0] = '\0';
    const char *s = line;
    uint64_t pages = 0;
    for (int field = 0; field < 6; field++) { /* size resident shared text lib data */
        if (!text_parse_decimal(&s, &pages))
            return 0;
        s += *s == ' ';
    }
    return pages * PAGE_BYTES;
}

void os_host_name(char *buffer, size_t room)
{
    struct utsname u;
    struct text t = text_begin(buffer, room);
    if (CALL1(SYS_uname, &u) == 0)
        text_put(&t, u.nodename);
    text_end(&t);
}

void os_thread_name(char buffer[16])
{
    buffer[0] = '\0';
    if (!os_sandboxed())
        CALL2(SYS_prctl, 16 /* PR_GET_NAME */, buffer);
}

void os_signal_self(int signal)
{
    if (!os_sandboxed())
        CALL3(SYS_tgkill, os_pid(), os_tid(), signal);
}

/* The first digit of a field in /proc/self/status, after blanks; 0: not readable. */
static char status_digit(const char *field)
{
    char status[2048 + 1];
    int fd = os_sandboxed() ? -1 : os_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    long got = fd < 0 ? 0 : os_read(fd, status, sizeof status - 1), i = 0;
    if (fd >= 0)
        os_close(fd);
    status[got > 0 ? got : 0] = '\0';
    while (i < got && !text_starts(status + i, field))
        i++;
    for (const char *c = field; i < got && *c; c++)
        i++;
    while (i < got && (status[i] == ' ' || status[i] == '\t'))
        i++;
    return i < got ? status[i] : 0;
}

bool os_is_traced(void)
{
    char digit = status_digit("TracerPid:");
    return digit && digit != '0';
}

bool os_is_locked(void)
{
    return status_digit("VmLck:") != '0';
}

bool os_usage(struct rusage *usage)
{
    return !os_sandboxed() && CALL2(SYS_getrusage, RUSAGE_SELF, usage) == 0;
}
