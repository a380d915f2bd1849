/*
 * keeper.c - a second process in the launcher's process group, idle nearly all the time.
 *
 * Why it is needed: kill(launcher) must be forwarded to the program.  kill(-group) and kill(0) have
 * already reached the program, and forwarding them would deliver the signal twice.  siginfo is the
 * same in both cases.  The keeper is in the same group and blocks all signals.  If a signal is
 * pending in the keeper too, it was sent to the group.
 *
 * The keeper has two more tasks.  If the launcher has stopped together with its program and only
 * the program is continued, the keeper continues the launcher.  If the launcher is killed, the
 * keeper waits for the program and saves the run file.
 *
 * Rejected alternatives: pending masks of the program (/proc/PID/status) contain a signal only
 * until it is delivered.  Two equal signals in short succession merge, so counting the launcher's
 * own signals is unreliable.
 *
 * Its name and arguments differ from the launcher's.  `pkill rtcheck` and `pkill -f` with the
 * program's name are not meant for the keeper; if the keeper received that signal too, the signal
 * would look like one sent to the group.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

#define ANSWER_MS 500     /* a stopped keeper does not answer */
#define WAKE_CHECK_MS 100 /* while the launcher is stopped */

enum op { OP_WATCH, OP_QUERY, OP_STOPPING, OP_AWAKE };

struct message {
    uint32_t op;
    uint32_t value; /* pid, or the number of the query */
};

struct answer {
    uint32_t number;
    uint64_t signals; /* bit n-1 = signal n */
};

/* ---- the keeper's side ----------------------------------------------------------------------- */

struct keeping {
    int fd;
    const struct run_file *file;
    const char *name; /* of the program */
    pid_t launcher;
    pid_t program;
    int program_fd; /* pidfd, -1: the kernel does not support it */
    bool launcher_stops;
};

static uint64_t take_pending(void)
{
    sigset_t all;
    uint64_t taken = 0;
    int sig;
    sigfillset(&all);
    while ((sig = sigtimedwait(&all, NULL, &(struct timespec){0})) > 0 || errno == EINTR)
        if (sig > 0)
            taken |= 1ull << (sig - 1);
    return taken;
}

/* The state letter of /proc/PID/stat; 0: the process is gone, or there is no /proc. */
static char process_state(pid_t pid)
{
    char name[32], text[256];
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *paren = strrchr(text, ')');
    if (!paren || paren[1] != ' ')
        return '\0';
    return paren[2];
}

/* The launcher stopped together with its program, and only the program was continued or killed. */
static void wake_launcher(struct keeping *k)
{
    char state = process_state(k->launcher);
    if ((state == 'T' || state == 't') && process_state(k->program) != 'T')
        kill(k->launcher, SIGCONT);
}

static void wait_for_program(const struct keeping *k)
{
    if (k->program_fd >= 0) {
        while (poll(&(struct pollfd){.fd = k->program_fd, .events = POLLIN}, 1, -1) < 0)
            ;
        return;
    }
    while (kill(k->program, 0) == 0 || errno == EPERM)
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

/* The connection is closed without keeper_end: the launcher was killed.  Save its run file. */
static void save_and_exit(const struct keeping *k)
{
    char pool[4096], err[TOOLS_ERROR_BYTES];
    if (k->program > 0 && k->file->fd >= 0) {
        wait_for_program(k);
        if (state_run_path(pool, sizeof pool, k->name, k->program, err) == 0)
            state_keep(k->file->fd, pool, sizeof pool, err);
    }
    if (k->file->is_named)
        unlink(k->file->path);
    _exit(0);
}

static void handle_message(struct keeping *k, const struct message *m)
{
    struct answer answer = {.number = m->value};
    switch (m->op) {
    case OP_WATCH:
        k->program = (pid_t)m->value;
        k->program_fd = (int)syscall(SYS_pidfd_open, k->program, 0);
        break;
    case OP_QUERY:
        answer.signals = take_pending();
        send(k->fd, &answer, sizeof answer, MSG_NOSIGNAL);
        break;
    default:
        k->launcher_stops = m->op == OP_STOPPING;
    }
}

static void close_between(unsigned first, unsigned end)
{
    if (first < end)
        syscall(SYS_close_range, first, end - 1, 0u);
}

/* Keep two descriptors only, so that the keeper keeps no pipe open; 0-2 become O_PATH. */
static void drop_descriptors(const struct keeping *k)
{
    int other = k->file->fd >= 0 ? k->file->fd : k->fd;
    unsigned low = (unsigned)(k->fd < other ? k->fd : other);
    unsigned high = (unsigned)(k->fd < other ? other : k->fd);
    int nowhere = open("/", O_PATH | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        if (nowhere < 0 || dup2(nowhere, fd) < 0)
            close(fd);
    close_between(3, low);
    close_between(low + 1, high);
    close_between(high + 1, ~0u);
}

/* Overwrite the arguments, which ps shows.  They are contiguous; `last` is the last one. */
static void disguise(char *last)
{
    static const char name[] = "rtc-keeper";
    char *first = program_invocation_name;
    size_t room = (size_t)(last + strlen(last) + 1 - first);
    prctl(PR_SET_NAME, name);
    memset(first, 0, room);
    memcpy(first, name, room < sizeof name ? room - 1 : sizeof name);
    (void)!chdir("/");
}

static void keep(int fd, const struct run_file *file, const char *name, char *last)
{
    struct keeping k = {
        .fd = fd, .file = file, .name = name, .launcher = getppid(), .program_fd = -1};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    drop_descriptors(&k);
    disguise(last);
    for (;;) {
        struct message m;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, k.launcher_stops ? WAKE_CHECK_MS : -1) == 0) {
            wake_launcher(&k);
            continue;
        }
        ssize_t n = recv(fd, &m, sizeof m, MSG_DONTWAIT);
        if (n == (ssize_t)sizeof m)
            handle_message(&k, &m);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            save_and_exit(&k);
    }
}

/* ---- the launcher's side --------------------------------------------------------------------- */

void keeper_start(struct keeper *k, const struct run_file *f, const char *name, char *last,
                  struct warnings *warnings)
{
    int pair[2];
    *k = (struct keeper){.fd = -1};
    if (test_without("keeper") ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        warnings_add(warnings, "no second process: a signal to the process group may arrive twice");
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        keep(pair[1], f, name, last);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        warnings_add(warnings,
                     "no second process (%s): a signal to the process group may arrive twice",
                     strerror(errno));
        return;
    }
    *k = (struct keeper){.pid = pid, .fd = pair[0]};
}

static void send_message(struct keeper *k, enum op op, uint32_t value)
{
    struct message m = {op, value};
    if (k->pid)
        (void)!send(k->fd, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void keeper_watch(struct keeper *k, pid_t program)
{
    send_message(k, OP_WATCH, (uint32_t)program);
}

void keeper_stopping(struct keeper *k, bool stopping)
{
    send_message(k, stopping ? OP_STOPPING : OP_AWAKE, 0);
}

void keeper_query(struct keeper *k, uint64_t *signals)
{
    struct answer answer = {0};
    if (!k->pid)
        return;
    send_message(k, OP_QUERY, ++k->questions);
    while (answer.number != k->questions) { /* skips a late answer to an earlier query */
        struct pollfd p = {.fd = k->fd, .events = POLLIN};
        if (poll(&p, 1, ANSWER_MS) <= 0 ||
            recv(k->fd, &answer, sizeof answer, MSG_DONTWAIT) != (ssize_t)sizeof answer)
            return;
        *signals |= answer.signals;
    }
}

void keeper_end(struct keeper *k)
{
    if (!k->pid)
        return;
    kill(k->pid, SIGKILL);
    waitpid(k->pid, NULL, 0);
    close(k->fd);
    *k = (struct keeper){.fd = -1};
}
