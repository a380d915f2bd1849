/*
 * pointers.c - every function of libc that the runtime wraps, given pointers that cannot be read.
 *
 *     pointers [--sandbox]   a line for each call: what it returned, or the signal that ended it
 *     pointers --list        the names of the functions
 *
 * Each call is made in a process of its own, exec also in a vfork child.  The script compares the lines with those of
 * the same program without the runtime.
 *
 * rtc-build: -pthread
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <mqueue.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

extern char **environ;

#define PAGE 4096ul

/* ---- the pointers ---------------------------------------------------------------------------- */

enum kind {
    NOTHING, /* NULL */
    LOW,     /* an address in the first page */
    UNMAPPED,
    NO_ACCESS,            /* PROT_NONE */
    BEYOND_FILE,          /* of a mapped file: SIGBUS */
    WILD,                 /* an address that no process has */
    LAST_BYTE,            /* the last of a page, and no memory behind */
    LISTS,                /* from here on: for arguments that are lists of strings */
    UNTERMINATED = LISTS, /* a list of good strings that runs into a page that cannot be read */
    BAD_ELEMENT,          /* a list with an entry that cannot be read */
    BAD_TAIL,     /* a list with an entry that begins readable: "LD_PRELO", and no memory behind */
    BAD_RUN_FILE, /* the same with "RTCHECK_RUN_F" */
    BAD_PRELOAD,  /* the same with a complete "LD_PRELOAD=", whose value is not terminated */
    KIND_COUNT
};

static const char *const kind_name[] = {
    "NULL",      "low",          "unmapped",    "no access", "beyond its file", "wild",
    "last byte", "unterminated", "bad element", "bad tail",  "bad run file",    "bad preload"};

static void *bad[KIND_COUNT];

/* The end of a page, with no memory behind; far below where the kernel places mappings itself. */
static char *end_of_page(bool is_mapped)
{
    static uintptr_t place = 0x100000000000;
    char *pages = mmap((void *)(place += 16 * PAGE), 2 * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (is_mapped)
        mprotect(pages + PAGE, PAGE, PROT_NONE);
    else
        munmap(pages + PAGE, PAGE);
    return pages + PAGE;
}

static char *text_at_end(const char *text)
{
    return memcpy(end_of_page(true) - strlen(text), text, strlen(text));
}

static void *list_with(char *entry)
{
    static char *lists[KIND_COUNT][4];
    static int used;
    char **list = lists[used++];
    list[0] = (char[]){"A=1"};
    list[1] = entry;
    return list;
}

static void make_pointers(void)
{
    int fd = memfd_create("short", 0);
    bad[BEYOND_FILE] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    bad[LOW] = (void *)24;
    bad[UNMAPPED] = end_of_page(false) + 64;
    bad[NO_ACCESS] = end_of_page(true) + 64;
    bad[WILD] = (void *)0x5a5a5a5a5a5a5a50;
    bad[LAST_BYTE] = text_at_end("x");
    char **list = (char **)(void *)end_of_page(true) - 2;
    list[0] = list[1] = strdup("A=1");
    bad[UNTERMINATED] = list;
    bad[BAD_ELEMENT] = list_with(bad[NO_ACCESS]);
    bad[BAD_TAIL] = list_with(text_at_end("LD_PRELO"));
    bad[BAD_RUN_FILE] = list_with(text_at_end("RTCHECK_RUN_F"));
    bad[BAD_PRELOAD] = list_with(text_at_end("LD_PRELOAD=x"));
}

static void *whole(void *p)
{
    return (void *)((uintptr_t)p & -PAGE);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static char *const good_list[] = {(char[]){"true"}, NULL};
static const char program[] = "/bin/true", missing[] = "/nonexistent/program";

sighandler_t bsd_signal(int number, sighandler_t handler); /* which this C's header hides */
/* The following are declared only where sources are fortified. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

/* A listening socket with a connection to accept. */
static int with_connection(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address.sun_family; /* no name given: the kernel chooses one */
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), other = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, length);
    listen(listener, 1);
    length = sizeof address;
    getsockname(listener, (struct sockaddr *)&address, &length);
    connect(other, (struct sockaddr *)&address, length);
    return listener;
}

/* A socket with a message that carries a descriptor. */
static int with_message(void)
{
    int ends[2], sent = 1;
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof sent)] = {0};
    struct iovec text = {(char[]){"x"}, 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    *part = (struct cmsghdr){CMSG_LEN(sizeof sent), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(part), &sent, sizeof sent);
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    sendmsg(ends[0], &message, 0);
    return ends[1];
}

static long receive_descriptor(void *control)
{
    struct iovec text = {(char[]){"x"}, 1};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = control, .msg_controllen = 64};
    return recvmsg(with_message(), &message, 0);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Return the result of the function; errno is printed with it. */
struct call {
    const char *function, *what;
    long (*make)(void *p);
    bool is_list;
};

#define LIST CALL
#define CALL(function, what, expression)          \
    static long call_##function##_##what(void *p) \
    {                                             \
        return (long)(expression);                \
    }
#include "pointers.def"
#undef CALL
#undef LIST

static const struct call calls[] = {
#define CALL(function, what, expression) {#function, #what, call_##function##_##what, false},
#define LIST(function, what, expression) {#function, #what, call_##function##_##what, true},
#include "pointers.def"
#undef CALL
#undef LIST
};

#define CALLS (sizeof calls / sizeof calls[0])

static bool is_exec(const char *function)
{
    return strncmp(function, "exec", 4) == 0 || strcmp(function, "fexecve") == 0;
}

/* ---- a call ---------------------------------------------------------------------------------- */

struct outcome {
    volatile bool came_back;
    volatile long result;
    volatile int error;
};

static struct outcome *outcome;

static void make(const struct call *call, void *p)
{
    errno = 0;
    long result = call->make(p);
    outcome->error = errno;
    outcome->result = result;
    outcome->came_back = true;
}

static int make_in_child(const struct call *call, void *p, bool by_vfork)
{
    int status = -1;
    pid_t pid = by_vfork ? vfork() : fork();
    if (pid == 0) {
        make(call, p);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

/*
 * Addresses and descriptors vary: only whether there is one is printed.  Which signal an address that no process has
 * raises depends on the register it is in: by rsp and rbp it is SIGBUS.
 */
static void print(const struct call *call, const char *how, const char *kind, int status)
{
    printf("%s %s%s, %s: ", call->function, call->what, how, kind);
    if (WIFSIGNALED(status))
        printf("signal %d\n",
               kind == kind_name[WILD] && WTERMSIG(status) == SIGBUS ? SIGSEGV : WTERMSIG(status));
    else if (outcome->came_back)
        printf("%s, errno %d\n",
               outcome->result < 0 ? "negative"
               : outcome->result   ? "positive"
                                   : "0",
               outcome->error);
    else
        printf("gone, status %d\n", WEXITSTATUS(status));
}

static void try(const struct call *call, enum kind kind, bool by_vfork)
{
    memset(outcome, 0, sizeof *outcome);
    fflush(stdout);
    print(call, by_vfork ? " in a vfork child" : "", kind_name[kind],
          make_in_child(call, bad[kind], by_vfork));
}

/* As of a program that opens no file any more: opening one, or reading memory by a system call, is the end. */
static void enter_sandbox(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program_of = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program_of))
        _exit(124);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < CALLS; i++)
            puts(calls[i].function);
        return 0;
    }
    puts("begin"); /* stdio calls fstat on it: not allowed in the sandbox */
    fflush(stdout);
    signal(SIGUSR1, SIG_IGN);
    make_pointers();
    outcome = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc > 1)
        enter_sandbox();
    for (size_t i = 0; i < CALLS; i++)
        for (int kind = 0; kind < (calls[i].is_list ? KIND_COUNT : LISTS); kind++) {
            try(&calls[i], (enum kind)kind, false);
            if (is_exec(calls[i].function))
                try(&calls[i], (enum kind)kind, true);
        }
    return 0;
}
