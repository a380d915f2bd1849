/*
 * accesses_calls.h - what the rows of accesses_system.def call: streams, argument lists, and functions
 * that libc exports without declaring them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t n, FILE *stream);
char *__fgets_chk(char *to, size_t room, int n, FILE *stream);
char *__fgets_unlocked_chk(char *to, size_t room, int n, FILE *stream);
int __printf_chk(int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list list);
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list list);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
int __vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list list);
int __snprintf_chk(char *to, size_t n, int flag, size_t room, const char *format, ...);
int __vsnprintf_chk(char *to, size_t n, int flag, size_t room, const char *format, va_list list);
int __asprintf_chk(char **to, int flag, const char *format, ...);
int __vasprintf_chk(char **to, int flag, const char *format, va_list list);
int __isoc99_scanf(const char *format, ...);
int __isoc99_vscanf(const char *format, va_list list);
int __isoc99_fscanf(FILE *stream, const char *format, ...);
int __isoc99_vfscanf(FILE *stream, const char *format, va_list list);
int __isoc99_sscanf(const char *from, const char *format, ...);
int __isoc99_vsscanf(const char *from, const char *format, va_list list);
/* libc's headers name another function for C99; this is what programs from before C99 call. */
int old_scanf(const char *format, ...) __asm__("scanf");
int old_vscanf(const char *format, va_list list) __asm__("vscanf");
int old_fscanf(FILE *stream, const char *format, ...) __asm__("fscanf");
int old_vfscanf(FILE *stream, const char *format, va_list list) __asm__("vfscanf");
int old_sscanf(const char *from, const char *format, ...) __asm__("sscanf");
int old_vsscanf(const char *from, const char *format, va_list list) __asm__("vsscanf");
/* The header has this one inline. */
int plain_vprintf(const char *format, va_list list) __asm__("vprintf");
#define vprintf(...) plain_vprintf(__VA_ARGS__)
#define scanf(...) old_scanf(__VA_ARGS__)
#define vscanf(...) old_vscanf(__VA_ARGS__)
#define fscanf(...) old_fscanf(__VA_ARGS__)
#define vfscanf(...) old_vfscanf(__VA_ARGS__)
#define sscanf(...) old_sscanf(__VA_ARGS__)
#define vsscanf(...) old_vsscanf(__VA_ARGS__)
ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t __recvfrom_chk(int fd, void *to, size_t n, size_t room, int flags, struct sockaddr *from,
                       socklen_t *length);
ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                size_t room);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int fd, const char *path, int flags);
int __openat64_2(int fd, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *to);
int __xstat64(int version, const char *path, struct stat64 *to);
int __lxstat(int version, const char *path, struct stat *to);
int __lxstat64(int version, const char *path, struct stat64 *to);
int __fxstat(int version, int fd, struct stat *to);
int __fxstat64(int version, int fd, struct stat64 *to);
int __fxstatat(int version, int fd, const char *path, struct stat *to, int flags);
int __fxstatat64(int version, int fd, const char *path, struct stat64 *to, int flags);
char *__getcwd_chk(char *to, size_t n, size_t room);
ssize_t __readlink_chk(const char *path, char *to, size_t n, size_t room);
ssize_t __readlinkat_chk(int fd, const char *path, char *to, size_t n, size_t room);
int __getgroups_chk(int n, gid_t *to, size_t room);

static FILE *results; /* standard output; stdout is /dev/null for the calls of printf */
static FILE *zero_stream, *null_stream, *end_stream, *letter_file;
static int zero_fd, null_fd;
static struct timespec no_time;
static struct timeval no_time_at_all;
static char *printed;
static int unused_int;
static short unused_short;

static void open_streams(void)
{
    results = fdopen(dup(1), "w");
    setvbuf(results, NULL, _IOLBF, 0);
    zero_stream = fopen("/dev/zero", "r");
    null_stream = fopen("/dev/null", "w");
    end_stream = fopen("/dev/null", "r");
    letter_file = fmemopen(letters, SPACE, "r");
    fgetc(letter_file);
    zero_fd = fileno(zero_stream);
    null_fd = fileno(null_stream);
    if (!results || chdir("/proc") != 0 || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "w", stderr))
        exit(1);
}

/* A stream with this text. */
static FILE *line_stream(const char *text)
{
    return fmemopen((void *)(uintptr_t)text, strlen(text), "r");
}

/* Made once: its own blocks would be neighbours of the blocks here. */
static FILE *letter_stream(void)
{
    rewind(letter_file);
    return letter_file;
}

/* For scanf. */
static int stdin_is(const char *text)
{
    stdin = line_stream(text);
    return 0;
}

static struct iovec *two_parts(char *p, size_t n)
{
    static struct iovec parts[2];
    parts[0] = (struct iovec){other, 1};
    parts[1] = (struct iovec){p, n};
    return parts;
}

/* The second has the parts. */
static struct mmsghdr *two_messages(char *p, size_t n)
{
    static struct mmsghdr messages[2];
    messages[1].msg_hdr = (struct msghdr){.msg_iov = two_parts(p, n), .msg_iovlen = 2};
    return messages;
}

/* ---- functions that take a list of arguments --------------------------------------------------- */

#define LIST(...) __VA_ARGS__
#define LISTS(name, PARAMETERS, ARGUMENTS)                     \
    static NOINLINE int with_list_##name(LIST PARAMETERS, ...) \
    {                                                          \
        va_list list;                                          \
        va_start(list, format);                                \
        int result = name(LIST ARGUMENTS, list);               \
        va_end(list);                                          \
        return result;                                         \
    }
#define WITH_LIST(name, ARGUMENTS, ...) WITH_LIST_(name, LIST ARGUMENTS, __VA_ARGS__)
#define WITH_LIST_(name, ...) with_list_##name(__VA_ARGS__)

/* clang-format off */
LISTS(vprintf, (const char *format), (format))
LISTS(__vprintf_chk, (int flag, const char *format), (flag, format))
LISTS(vfprintf, (FILE *stream, const char *format), (stream, format))
LISTS(__vfprintf_chk, (FILE *stream, int flag, const char *format), (stream, flag, format))
LISTS(vdprintf, (int fd, const char *format), (fd, format))
LISTS(__vdprintf_chk, (int fd, int flag, const char *format), (fd, flag, format))
LISTS(vsprintf, (char *to, const char *format), (to, format))
LISTS(__vsprintf_chk, (char *to, int flag, size_t room, const char *format), (to, flag, room, format))
LISTS(vsnprintf, (char *to, size_t n, const char *format), (to, n, format))
LISTS(__vsnprintf_chk, (char *to, size_t n, int flag, size_t room, const char *format), (to, n, flag, room, format))
LISTS(vasprintf, (char **to, const char *format), (to, format))
LISTS(__vasprintf_chk, (char **to, int flag, const char *format), (to, flag, format))
LISTS(vscanf, (const char *format), (format))
LISTS(vfscanf, (FILE *stream, const char *format), (stream, format))
LISTS(vsscanf, (const char *from, const char *format), (from, format))
LISTS(__isoc99_vscanf, (const char *format), (format))
LISTS(__isoc99_vfscanf, (FILE *stream, const char *format), (stream, format))
LISTS(__isoc99_vsscanf, (const char *from, const char *format), (from, format))
/* clang-format on */
