/*
 * descriptors.c - functions that open and close descriptors, for --track-fds.
 *
 * Without that option each is a jump to the next definition (descriptor_jump.h), and nothing below
 * runs.  What a function calls inside libc is not seen: so fopen, opendir and the like are here,
 * too.  Those that access memory are exported by src/boundary (system_calls.def), and continue here.
 * Functions that are not here (pidfd_open, forkpty) leave a descriptor whose opener is not
 * known; see track/descriptors.c.
 */
#include "intercept.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/socket.h>

#include "calls.h"
#include "descriptor_jump.h"

/* Streams are void * here: this library uses no stdio, and this function only reads a field. */
int fileno_unlocked(void *stream);

#define FROM_ASSEMBLY __attribute__((used)) HIDDEN

struct next_function {
    void *at; /* NULL: not looked up yet */
    const char *name;
};

DESCRIPTOR_JUMP_RESOLVE;

static int missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* Two threads may look it up at once, with the same result. */
FROM_ASSEMBLY void *resolve_descriptor_function(struct next_function *next_one);
FROM_ASSEMBLY void *resolve_descriptor_function(struct next_function *next_one)
{
    int saved = errno;
    void *found = dlsym(RTLD_NEXT, next_one->name);
    int (*none)(void) = missing;
    if (!found)
        memcpy(&found, &none, sizeof found); /* ISO C has no cast from function to object pointer */
    next_one->at = found;
    errno = saved;
    return found;
}

extern HIDDEN struct next_function __start_next_descriptors[], __stop_next_descriptors[];

/* Later no function is looked up: dlsym frees the text that dlerror has returned. */
void descriptors_look_up(void)
{
    for (struct next_function *f = __start_next_descriptors; f < __stop_next_descriptors; f++)
        resolve_descriptor_function(f);
}

#define NEXT_OF(name)                                        \
    __extension__({                                          \
        __typeof__(checked_##name) *f_;                      \
        void *at_ = next_##name.at;                          \
        if (!at_)                                            \
            at_ = resolve_descriptor_function(&next_##name); \
        memcpy(&f_, &at_, sizeof f_);                        \
        f_;                                                  \
    })

#define LISTED __attribute__((section("next_descriptors"))) /* for descriptors_look_up */

/* The function `symbol`, its next definition, and the declaration of the one that checks. */
#define CHECKED_AS(symbol, result, name, ...)                              \
    DESCRIPTOR_JUMP(symbol, name);                                         \
    FROM_ASSEMBLY LISTED struct next_function next_##name = {NULL, #name}; \
    FROM_ASSEMBLY result checked_##name(__VA_ARGS__);                      \
    result checked_##name(__VA_ARGS__)

/* An exported function. */
#define CHECKED(result, name, ...) CHECKED_AS(name, result, name, __VA_ARGS__)

/* A function that src/boundary exports: it checks the memory, and jumps to intercepted_<name>. */
#define AFTER_ACCESS(result, name, ...) CHECKED_AS(intercepted_##name, result, name, __VA_ARGS__)

/* ---- functions that return a descriptor ------------------------------------------------------ */

static int opened(int fd, enum error_entry opener, const struct entry *at)
{
    descriptor_opened(fd, opener, at);
    return fd;
}

/* All their arguments are integers and pointers, in registers; variadic ones need not be given. */
#define OPENS_BY(KIND, name, opener)                                         \
    KIND(int, name, long a, long b, long c, long d, long e)                  \
    {                                                                        \
        return opened(NEXT_OF(name)(a, b, c, d, e), ENTRY_##opener, CALLER); \
    }                                                                        \
    static_assert(ENTRY_##opener != ENTRY_NONE, "known to the reporter")
#define OPENS(name, opener) OPENS_BY(CHECKED, name, opener)
#define OPENS_AFTER_ACCESS(name, opener) OPENS_BY(AFTER_ACCESS, name, opener)

OPENS_AFTER_ACCESS(open, OPEN);
OPENS_AFTER_ACCESS(open64, OPEN);
OPENS_AFTER_ACCESS(__open_2, OPEN);
OPENS_AFTER_ACCESS(__open64_2, OPEN);
OPENS_AFTER_ACCESS(openat, OPENAT);
OPENS_AFTER_ACCESS(openat64, OPENAT);
OPENS_AFTER_ACCESS(__openat_2, OPENAT);
OPENS_AFTER_ACCESS(__openat64_2, OPENAT);
OPENS_AFTER_ACCESS(creat, CREAT);
OPENS_AFTER_ACCESS(creat64, CREAT);
OPENS(open_by_handle_at, OPEN_BY_HANDLE_AT);
OPENS(dup, DUP);
OPENS(socket, SOCKET);
OPENS_AFTER_ACCESS(accept, ACCEPT);
OPENS_AFTER_ACCESS(accept4, ACCEPT4);
OPENS(epoll_create, EPOLL_CREATE);
OPENS(epoll_create1, EPOLL_CREATE1);
OPENS(eventfd, EVENTFD);
OPENS(signalfd, SIGNALFD);
OPENS(timerfd_create, TIMERFD_CREATE);
OPENS(inotify_init, INOTIFY_INIT);
OPENS(inotify_init1, INOTIFY_INIT1);
OPENS(fanotify_init, FANOTIFY_INIT);
OPENS(memfd_create, MEMFD_CREATE);
OPENS(shm_open, SHM_OPEN);
OPENS(mq_open, MQ_OPEN);
OPENS(posix_openpt, POSIX_OPENPT);
OPENS_AFTER_ACCESS(mkstemp, MKSTEMP);
OPENS_AFTER_ACCESS(mkstemp64, MKSTEMP);
OPENS_AFTER_ACCESS(mkostemp, MKOSTEMP);
OPENS_AFTER_ACCESS(mkostemp64, MKOSTEMP);
OPENS_AFTER_ACCESS(mkstemps, MKSTEMPS);
OPENS_AFTER_ACCESS(mkstemps64, MKSTEMPS);
OPENS_AFTER_ACCESS(mkostemps, MKOSTEMPS);
OPENS_AFTER_ACCESS(mkostemps64, MKOSTEMPS);

/* What dup2 closes was not left open. */
CHECKED(int, dup2, int from, int to)
{
    int fd = NEXT_OF(dup2)(from, to);
    return from == to ? fd : opened(fd, ENTRY_DUP2, CALLER);
}

CHECKED(int, dup3, int from, int to, int flags)
{
    return opened(NEXT_OF(dup3)(from, to, flags), ENTRY_DUP3, CALLER);
}

static int controlled(int result, int command, const struct entry *at)
{
    bool is_copy = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return is_copy ? opened(result, ENTRY_FCNTL, at) : result;
}

CHECKED(int, fcntl, int fd, int command, long argument)
{
    return controlled(NEXT_OF(fcntl)(fd, command, argument), command, CALLER);
}

CHECKED(int, fcntl64, int fd, int command, long argument)
{
    return controlled(NEXT_OF(fcntl64)(fd, command, argument), command, CALLER);
}

/* ---- functions that open several ------------------------------------------------------------- */

static int opened_pair(int result, int first, int second, enum error_entry opener,
                       const struct entry *at)
{
    descriptor_opened(first, opener, at);
    descriptor_opened(second, opener, at);
    return result;
}

AFTER_ACCESS(int, pipe, int ends[2])
{
    int result = NEXT_OF(pipe)(ends);
    return result ? result : opened_pair(result, ends[0], ends[1], ENTRY_PIPE, CALLER);
}

AFTER_ACCESS(int, pipe2, int ends[2], int flags)
{
    int result = NEXT_OF(pipe2)(ends, flags);
    return result ? result : opened_pair(result, ends[0], ends[1], ENTRY_PIPE2, CALLER);
}

AFTER_ACCESS(int, socketpair, int domain, int type, int protocol, int ends[2])
{
    int result = NEXT_OF(socketpair)(domain, type, protocol, ends);
    return result ? result : opened_pair(result, ends[0], ends[1], ENTRY_SOCKETPAIR, CALLER);
}

CHECKED(int, openpty, int *controller, int *terminal, char *name, const void *modes,
        const void *size)
{
    int result = NEXT_OF(openpty)(controller, terminal, name, modes, size);
    return result ? result : opened_pair(result, *controller, *terminal, ENTRY_OPENPTY, CALLER);
}

static void opened_by_message(const struct cmsghdr *part, const struct entry *at)
{
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
        return;
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
        descriptor_opened(fd, ENTRY_RECVMSG, at);
    }
}

AFTER_ACCESS(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
    ssize_t n = NEXT_OF(recvmsg)(fd, message, flags);
    if (n < 0 || !message->msg_controllen)
        return n;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
        opened_by_message(part, CALLER);
    return n;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void *opened_stream(void *f, enum error_entry opener, const struct entry *at)
{
    if (f)
        descriptor_opened(fileno_unlocked(f), opener, at);
    return f;
}

AFTER_ACCESS(void *, fopen, const char *path, const char *mode)
{
    return opened_stream(NEXT_OF(fopen)(path, mode), ENTRY_FOPEN, CALLER);
}

AFTER_ACCESS(void *, fopen64, const char *path, const char *mode)
{
    return opened_stream(NEXT_OF(fopen64)(path, mode), ENTRY_FOPEN, CALLER);
}

CHECKED(void *, tmpfile, void)
{
    return opened_stream(NEXT_OF(tmpfile)(), ENTRY_TMPFILE, CALLER);
}

CHECKED(void *, tmpfile64, void)
{
    return opened_stream(NEXT_OF(tmpfile64)(), ENTRY_TMPFILE, CALLER);
}

AFTER_ACCESS(DIR *, opendir, const char *path)
{
    DIR *folder = NEXT_OF(opendir)(path);
    if (folder)
        descriptor_opened(dirfd(folder), ENTRY_OPENDIR, CALLER);
    return folder;
}

/* The old descriptor is closed in any case, and the new one mostly has its number. */
static void *reopened(void *(*reopen)(const char *, const char *, void *), const char *path,
                      const char *mode, void *f, const struct entry *at)
{
    (void)descriptor_close(fileno_unlocked(f), ENTRY_FREOPEN, at);
    return opened_stream(reopen(path, mode, f), ENTRY_FREOPEN, at);
}

AFTER_ACCESS(void *, freopen, const char *path, const char *mode, void *f)
{
    return reopened(NEXT_OF(freopen), path, mode, f, CALLER);
}

AFTER_ACCESS(void *, freopen64, const char *path, const char *mode, void *f)
{
    return reopened(NEXT_OF(freopen64), path, mode, f, CALLER);
}

/* ---- functions that close -------------------------------------------------------------------- */

static int closed(int result, const struct closing *c, enum error_entry closer)
{
    int saved = errno;
    if (result < 0 && saved == EBADF)
        descriptor_close_failed(c, closer);
    errno = saved;
    return result;
}

CHECKED(int, close, int fd)
{
    struct closing c = descriptor_close(fd, ENTRY_CLOSE, CALLER);
    return closed(NEXT_OF(close)(fd), &c, ENTRY_CLOSE);
}

CHECKED(int, fclose, void *f)
{
    struct closing c = descriptor_close(fileno_unlocked(f), ENTRY_FCLOSE, CALLER);
    return closed(NEXT_OF(fclose)(f), &c, ENTRY_FCLOSE);
}

CHECKED(int, pclose, void *f)
{
    struct closing c = descriptor_close(fileno_unlocked(f), ENTRY_PCLOSE, CALLER);
    return closed(NEXT_OF(pclose)(f), &c, ENTRY_PCLOSE);
}

CHECKED(int, closedir, DIR *folder)
{
    struct closing c = descriptor_close(folder ? dirfd(folder) : -1, ENTRY_CLOSEDIR, CALLER);
    return closed(NEXT_OF(closedir)(folder), &c, ENTRY_CLOSEDIR);
}

/* These are called for descriptors that may be closed: none of them is an error. */
CHECKED(int, close_range, unsigned first, unsigned last, int flags)
{
    int result = NEXT_OF(close_range)(first, last, flags);
    if (result == 0 && !(flags & (int)CLOSE_RANGE_CLOEXEC))
        descriptors_closed(first, last, ENTRY_CLOSE_RANGE, CALLER);
    return result;
}

CHECKED(void, closefrom, int first)
{
    NEXT_OF(closefrom)(first);
    descriptors_closed(first < 0 ? 0 : (unsigned)first, UINT32_MAX, ENTRY_CLOSEFROM, CALLER);
}

/* ---- syscall --------------------------------------------------------------------------------- */

bool descriptor_is_call(long nr)
{
    switch (nr) {
    case SYS_open:
    case SYS_openat:
    case SYS_openat2:
    case SYS_creat:
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3:
    case SYS_socket:
    case SYS_accept:
    case SYS_accept4:
    case SYS_epoll_create1:
    case SYS_eventfd2:
    case SYS_memfd_create:
    case SYS_userfaultfd:
    case SYS_perf_event_open:
    case SYS_io_uring_setup:
    case SYS_pidfd_open:
    case SYS_pidfd_getfd:
    case SYS_close:
        return true;
    default:
        return false;
    }
}

long descriptor_call(long nr, const long a[6], const struct entry *at)
{
    long (*real)(long, ...) = NEXT(syscall);
    struct closing c = {.fd = -1};
    if (nr == SYS_close)
        c = descriptor_close((int)a[0], ENTRY_SYSCALL, at);
    int result = (int)real(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    return nr == SYS_close ? closed(result, &c, ENTRY_SYSCALL) : opened(result, ENTRY_SYSCALL, at);
}
