/*
 * descriptors.c - descriptors opened by every function, and left open, closed, or closed twice.
 * rtc-build: -lpthread
 *
 *     descriptors leak|close|twice      the same with each function of the table, which it prints
 *     descriptors CASE                  one of the cases below
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct opened {
    int fd; /* < 0: this machine refuses it */
    FILE *file, *pipe;
    DIR *folder;
};

/* ---- the table ------------------------------------------------------------------------------- */

static char temporary[] = "rtcheck-XXXXXX.tmp";
static int ends[2];

static struct opened plain(int fd)
{
    return (struct opened){.fd = fd};
}

static struct opened stream(FILE *f)
{
    return (struct opened){.fd = f ? fileno(f) : -1, .file = f};
}

static struct opened piped(FILE *f)
{
    return (struct opened){.fd = f ? fileno(f) : -1, .pipe = f};
}

static struct opened folder(DIR *d)
{
    return (struct opened){.fd = d ? dirfd(d) : -1, .folder = d};
}

static struct opened first_of(int result)
{
    if (result == 0)
        close(ends[1]);
    return plain(result == 0 ? ends[0] : -1);
}

/* A temporary name for the mkstemp family, which writes into it. */
static char *name(size_t suffix)
{
    static char text[sizeof temporary];
    memcpy(text, temporary, sizeof temporary);
    text[sizeof temporary - 1 - 4 + suffix] = '\0';
    return text;
}

static struct opened unlinked(int fd)
{
    unlink(name(4));
    return plain(fd);
}

static int connected(int (*accepted)(int listener))
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t bytes = sizeof at;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), fd;
    if (bind(listener, (struct sockaddr *)&at, sizeof at.sun_family) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&at, &bytes) ||
        connect(client, (struct sockaddr *)&at, bytes))
        abort();
    fd = accepted(listener);
    close(listener);
    close(client);
    return fd;
}

static NOINLINE int accept_it(int listener)
{
    return accept(listener, NULL, NULL);
}

static NOINLINE int accept4_it(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

union rights {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

static void send_descriptor(int to, int fd)
{
    union rights rights = {.head = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec byte = {"x", 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.room};
    memcpy(CMSG_DATA(&rights.head), &fd, sizeof fd);
    if (sendmsg(to, &message, 0) != 1)
        abort();
}

static NOINLINE int receive_descriptor(int from)
{
    union rights rights;
    char byte;
    struct iovec into = {&byte, 1};
    struct msghdr message = {.msg_iov = &into,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.room};
    int fd;
    if (recvmsg(from, &message, 0) != 1)
        abort();
    memcpy(&fd, CMSG_DATA(&rights.head), sizeof fd);
    return fd;
}

static int received(void)
{
    int pair[2], fd;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        abort();
    send_descriptor(pair[0], 1);
    fd = receive_descriptor(pair[1]);
    close(pair[0]);
    close(pair[1]);
    return fd;
}

static int terminal(void)
{
    int result = openpty(&ends[0], &ends[1], NULL, NULL, NULL);
    return result;
}

static sigset_t no_signals;

#define NULL_FILE "/dev/null"

/* clang-format off */
#define TABLE(X) \
    X(open, plain(open(NULL_FILE, O_RDONLY))) \
    X(openat, plain(openat(AT_FDCWD, NULL_FILE, O_RDONLY))) \
    X(creat, plain(creat(NULL_FILE, 0600))) \
    X(dup, plain(dup(1))) \
    X(dup2, plain(dup2(1, 100))) \
    X(dup3, plain(dup3(1, 101, O_CLOEXEC))) \
    X(fcntl, plain(fcntl(1, F_DUPFD_CLOEXEC, 102))) \
    X(pipe, first_of(pipe(ends))) \
    X(pipe2, first_of(pipe2(ends, O_CLOEXEC))) \
    X(socket, plain(socket(AF_UNIX, SOCK_STREAM, 0))) \
    X(socketpair, first_of(socketpair(AF_UNIX, SOCK_STREAM, 0, ends))) \
    X(accept, plain(connected(accept_it))) \
    X(accept4, plain(connected(accept4_it))) \
    X(epoll_create, plain(epoll_create(1))) \
    X(epoll_create1, plain(epoll_create1(0))) \
    X(eventfd, plain(eventfd(0, 0))) \
    X(signalfd, plain(signalfd(-1, &no_signals, 0))) \
    X(timerfd_create, plain(timerfd_create(CLOCK_MONOTONIC, 0))) \
    X(inotify_init, plain(inotify_init())) \
    X(inotify_init1, plain(inotify_init1(0))) \
    X(memfd_create, plain(memfd_create("x", 0))) \
    X(shm_open, plain(shm_open("/rtcheck-test", O_RDWR | O_CREAT, 0600))) \
    X(mkstemp, unlinked(mkstemp(name(0)))) \
    X(mkostemp, unlinked(mkostemp(name(0), O_CLOEXEC))) \
    X(mkstemps, unlinked(mkstemps(name(4), 4))) \
    X(mkostemps, unlinked(mkostemps(name(4), 4, O_CLOEXEC))) \
    X(posix_openpt, plain(posix_openpt(O_RDWR | O_NOCTTY))) \
    X(openpty, first_of(terminal())) \
    X(mq_open, plain((int)mq_open("/rtcheck-test", O_RDWR | O_CREAT, 0600, NULL))) \
    X(recvmsg, plain(received())) \
    X(fopen, stream(fopen(NULL_FILE, "r"))) \
    X(freopen, stream(freopen(NULL_FILE, "r", fopen("/", "r")))) \
    X(tmpfile, stream(tmpfile())) \
    X(opendir, folder(opendir("/"))) \
    X(popen, piped(popen("exec true", "r"))) \
    X(syscall, plain((int)syscall(SYS_openat, AT_FDCWD, NULL_FILE, O_RDONLY)))
/* clang-format on */

#define OPEN_BY(function, expression)                      \
    static NOINLINE struct opened open_by_##function(void) \
    {                                                      \
        struct opened o = expression;                      \
        return o;                                          \
    }                                                      \
    static NOINLINE void close_again_##function(int fd)    \
    {                                                      \
        if (close(fd) != -1 || errno != EBADF)             \
            abort();                                       \
    }
TABLE(OPEN_BY)

static const struct {
    const char *name;
    struct opened (*open)(void);
    void (*close_again)(int fd);
} table[] = {
#define ROW(function, expression) {#function, open_by_##function, close_again_##function},
    TABLE(ROW)};

static void close_it(const struct opened *o)
{
    int bad = o->file     ? fclose(o->file)
              : o->pipe   ? pclose(o->pipe)
              : o->folder ? closedir(o->folder)
                          : close(o->fd);
    if (bad)
        abort();
}

static void each(bool closes, bool twice)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct opened o = table[i].open();
        if (o.fd >= 0)
            puts(table[i].name);
        if (o.fd >= 0 && closes)
            close_it(&o);
        if (o.fd >= 0 && twice)
            table[i].close_again(o.fd);
    }
    shm_unlink("/rtcheck-test");
    mq_unlink("/rtcheck-test");
}

/* ---- cases ----------------------------------------------------------------------------------- */

static NOINLINE int open_null(void)
{
    return open(NULL_FILE, O_RDONLY);
}

static void await(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
        abort();
}

/* The child ends with its parent's descriptor. */
static void in_fork(void)
{
    int fd = open_null();
    pid_t pid = fork();
    if (pid == 0) {
        close(open_null());
        _exit(0);
    }
    await(pid);
    close(fd);
}

/* The child leaves one open, and closes its parent's twice. */
static void child_errs(void)
{
    int fd = open_null();
    pid_t pid = fork();
    if (pid == 0) {
        open_null();
        close(fd);
        close(fd);
        exit(0);
    }
    await(pid);
    close(fd);
}

/* The child has the parent's memory, but not its descriptors.  The parent leaves it open. */
static void in_vfork(void)
{
    int fd = open_null();
    pid_t child = vfork();
    if (child == 0) {
        close(fd);
        close(100);
        _exit(0);
    }
    await(child);
}

static void in_exec(void)
{
    open_null();
    execl("/proc/self/exe", "descriptors", "nothing", (char *)NULL);
}

static void *close_in_thread(void *fd)
{
    close(*(int *)fd);
    return NULL;
}

static void in_threads(void)
{
    int fd = open_null();
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread, NULL, close_in_thread, &fd) || pthread_join(thread, NULL))
            abort();
}

/* Daemons close all that might be open. */
static void loops(void)
{
    int fd = open_null();
    (void)fd;
    for (int i = 3; i < 256; i++)
        close(i);
    if (close_range(3, 300, 0))
        abort();
    closefrom(3);
    open_null();
    closefrom(3);
}

static void reused(void)
{
    int fd = open_null();
    close(fd);
    if (open_null() != fd)
        abort();
    dup2(0, fd);
    close(fd);
    close(0);
    close(-1);
}

static volatile int handled = -1;
static DIR *volatile volatile_null;

static void close_in_handler(int signal)
{
    (void)signal;
    close(handled);
}

static void in_handler(void)
{
    signal(SIGUSR1, close_in_handler);
    handled = open_null();
    raise(SIGUSR1);
    raise(SIGUSR1);
}

/* Print errno of calls that fail, and that of calls that do not. */
static void errors(void)
{
    errno = 77;
    int fd = open_null(), after = errno;
    close(fd);
    printf("%d %d", after, errno);
    int again = close(fd);
    printf(" %d %d", again, errno);
    again = open("/nowhere/at/all", O_RDONLY);
    printf(" %d %d", again, errno);
    again = close(1000000);
    printf(" %d %d %d\n", again, errno, closedir(volatile_null));
}

/* Created by no function that is tracked. */
static void untracked(void)
{
    long fd;
    __asm__ volatile("syscall"
                     : "=a"(fd)
                     : "a"(SYS_openat), "D"(AT_FDCWD), "S"(NULL_FILE), "d"(O_RDONLY)
                     : "rcx", "r11", "memory");
    if (fd < 0)
        abort();
}

static void crashes(void)
{
    open_null();
    abort();
}

/* As a shell does for a child. */
static void standard(void)
{
    int fd = open_null();
    for (int to = 0; to < 3; to++)
        dup2(fd, to);
    close(fd);
}

static void same_place(void)
{
    for (volatile int i = 0; i < 3; i++)
        open_null();
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"in_fork", in_fork},       {"child_errs", child_errs}, {"in_vfork", in_vfork},
        {"in_exec", in_exec},       {"in_threads", in_threads}, {"loops", loops},
        {"reused", reused},         {"in_handler", in_handler}, {"errors", errors},
        {"untracked", untracked},   {"crashes", crashes},       {"nothing", nothing},
        {"same_place", same_place}, {"standard", standard},
    };
    const char *wanted = argc == 2 ? argv[1] : "";
    sigemptyset(&no_signals);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, wanted) == 0) {
            cases[i].run();
            return 0;
        }
    if (strcmp(wanted, "leak") && strcmp(wanted, "close") && strcmp(wanted, "twice"))
        return 125;
    each(strcmp(wanted, "leak") != 0, strcmp(wanted, "twice") == 0);
    return 0;
}
