/*
 * detached.c - a helper process that shares only the program's memory.
 *
 * The program must not notice it.  It keeps no descriptor of the program open and no folder busy.
 * It receives no signal sent to the program's process group or terminal.  Exception: a process that
 * will print keeps stderr and the working directory.
 */
#include "calls.h"
#include "os.h"
#include "os_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

int os_process_fd(uint32_t pid)
{
    return (int)CALL2(SYS_pidfd_open, pid, 0);
}

bool os_is_reaper(void)
{
    int is = 0;
    return CALL2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is) < 0 || is || os_pid() == 1;
}

bool os_same_pid_namespace(void)
{
    char own[64], for_children[64];
    long n = os_read_link("/proc/self/ns/pid", own, sizeof own - 1);
    long m = os_read_link("/proc/self/ns/pid_for_children", for_children, sizeof for_children - 1);
    own[n > 0 ? n : 0] = for_children[m > 0 ? m : 0] = '\0';
    return n > 0 && text_equal(own, for_children);
}

void os_reap_silent(uint32_t pid)
{
    while (CALL4(SYS_wait4, pid, NULL, __WCLONE, NULL) == -EINTR)
        ;
}

void os_signal_process(uint32_t pid, int signal)
{
    CALL2(SYS_kill, pid, signal);
}

/* Descriptor 0: `keep`; 1: the signalfd that is returned; 2: the program's stderr, or closed. */
int os_detach(const char *name, int keep, bool will_print, int signal)
{
    static const struct rlimit no_core;
    uint64_t mask = 1ull << (signal - 1);
    if (keep != 0 && CALL3(SYS_dup3, keep, 0, O_CLOEXEC) < 0)
        return -EBADF;
    if (CALL3(SYS_close_range, will_print ? 3 : 1, ~0u, 0) < 0)
        return -ENOSYS;
    os_close(1);
    CALL0(SYS_setsid);
    if (!will_print) /* else a relative log file name must stay valid */
        CALL1(SYS_chdir, "/");
    CALL2(SYS_prctl, PR_SET_NAME, name);
    CALL4(SYS_prlimit64, 0, RLIMIT_CORE, &no_core,
          NULL); /* a core dump would contain the program's memory */
    return (int)CALL4(SYS_signalfd4, -1, &mask, sizeof mask, O_CLOEXEC | O_NONBLOCK);
}

enum os_watch os_watch_program(int signals, unsigned ms)
{
    struct pollfd p[] = {{.fd = 0, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    char signal_info[128]; /* large enough for a struct signalfd_siginfo */
    if (CALL3(SYS_poll, p, 2, ms) <= 0)
        return OS_WATCH_TIMEOUT;
    if (p[1].revents)
        os_read(signals, signal_info, sizeof signal_info);
    return p[0].revents ? OS_WATCH_PROGRAM_ENDED : OS_WATCH_SIGNALLED;
}

#define STAT_FLAGS \
    7 /* position after the name: state, parent, group, session, terminal, its group, flags */
#define FLAG_EXITING 4u /* PF_EXITING of the kernel */

/*
 * /proc/PID/stat is "pid (name) state number ..".  The kernel reports no memory for a main thread
 * that has ended or is exiting.  Exiting may take long: the kernel closes all files after it has
 * detached the memory.
 */
static bool main_is_over(uint32_t pid)
{
    char path[32], line[192];
    struct text t = text_begin(path, sizeof path);
    text_put(&t, "/proc/");
    text_decimal(&t, pid);
    text_put(&t, "/stat");
    text_end(&t);
    int fd = os_open(path, O_RDONLY, 0);
    long got = fd < 0 ? 0 : os_read(fd, line, sizeof line - 1);
    if (fd >= 0)
        os_close(fd);
    line[got > 0 ? got : 0] = '\0';
    while (got > 0 && line[got - 1] != ')')
        got--;
    const char *at = line + got;
    if (got <= 0 || at[0] != ' ' || at[1] == 'Z' || at[1] == 'X')
        return true;
    for (unsigned word = 0; *at && word < STAT_FLAGS; at++)
        word += *at == ' ';
    uint64_t flags;
    return text_parse_decimal(&at, &flags) && flags & FLAG_EXITING;
}

void os_keep_stderr_of(uint32_t pid)
{
    long differs =
        CALL6(SYS_kcmp, os_pid(), pid, KCMP_FILE, 2, 2, 0); /* -EBADF: one of the two is closed */
    if (differs > 0 || (differs == -EBADF && !main_is_over(pid)))
        os_close(2);
}

/* If the kernel cannot compare, assume that the process still has that memory. */
bool os_has_memory_of(uint32_t pid)
{
    return CALL6(SYS_kcmp, os_pid(), pid, KCMP_VM, 0, 0, 0) <= 0 || main_is_over(pid);
}

/* ---- serving the program while it runs ------------------------------------------------------- */

/*
 * One process at a time serves a program.  A fork of the program inherits both words, but no thread of the
 * child has that number while the server lives.
 */
static struct {
    _Atomic uint32_t tid; /* of the serving process */
    _Atomic uint32_t program;
} served;

void os_serve(uint32_t pid)
{
    atomic_store(&served.program, pid);
    atomic_store(&served.tid, os_tid());
}

uint32_t os_served(void)
{
    uint32_t tid = atomic_load_explicit(&served.tid, memory_order_relaxed);
    return tid && tid == os_tid() ? atomic_load(&served.program) : 0;
}

/* In the child: descriptors 0 to 2 are the caller's (os_detach). */
static void become_snapshot(void)
{
    os_exit_sandbox(); /* in this copy of the memory */
    CALL3(SYS_close_range, 0, ~0u, 0);
    CALL2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
}

int os_fork_snapshot(uint32_t *number)
{
    int child = -1;
    long pid = os_call(SYS_clone, CLONE_PIDFD | CLONE_UNTRACED, 0, (long)&child, 0, 0, 0);
    if (pid == 0)
        become_snapshot();
    *number = pid > 0 ? (uint32_t)pid : 0;
    return pid == 0 ? 0 : pid < 0 ? (int)pid : child;
}

static void reap(int child)
{
    CALL6(SYS_waitid, P_PIDFD, child, NULL, WEXITED | __WALL, NULL, 0);
    os_close(child);
}

void os_end_snapshot(int child)
{
    CALL4(SYS_pidfd_send_signal, child, SIGKILL, NULL, 0);
    reap(child);
}

bool os_wait_snapshot(int child)
{
    struct pollfd p[] = {{.fd = 0, .events = POLLIN}, {.fd = child, .events = POLLIN}};
    while (CALL3(SYS_poll, p, 2, -1) < 0)
        ;
    if (!p[1].revents) {
        os_end_snapshot(child);
        return false;
    }
    reap(child);
    return true;
}

void *os_map_shared(size_t bytes)
{
    void *p = (void *)CALL6(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!os_failed(p))
        os_note_own(p, bytes);
    return p;
}
