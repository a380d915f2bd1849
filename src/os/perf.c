/*
 * perf.c - performance counters, and the clocks that replace some of them.
 */
#include "os.h"
#include "os_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>

int os_perf_open(const struct perf_event_attr *attr, int pid, int cpu, int group)
{
    return (int)CALL6(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC, 0);
}

int os_perf_control(int fd, unsigned long request, const void *argument)
{
    long err = CALL3(SYS_ioctl, fd, request, argument);
    return err < 0 ? (int)err : 0;
}

int os_perf_notify(int fd, uint32_t tid, int signal)
{
    struct {
        int type, pid;
    } owner = {0 /* F_OWNER_TID */, (int)tid};
    long err = CALL3(SYS_fcntl, fd, 10 /* F_SETSIG */, signal);
    if (!err)
        err = CALL3(SYS_fcntl, fd, 15 /* F_SETOWN_EX */, &owner);
    if (!err)
        err = CALL3(SYS_fcntl, fd, F_SETFL, O_RDWR | O_ASYNC);
    return (int)err;
}

int os_perf_id(int fd, uint64_t *id)
{
    return os_perf_control(fd, PERF_EVENT_IOC_ID, id);
}

long os_perf_read(int fd, uint64_t *words, size_t bytes)
{
    return os_read(fd, words, bytes);
}

void os_perf_close(int fd)
{
    os_close(fd);
}

long os_read_text(const char *path, char *buffer, size_t room)
{
    int fd = os_open(path, O_RDONLY, 0);
    long got = fd < 0 ? fd : os_read(fd, buffer, room - 1);
    if (fd >= 0)
        os_close(fd);
    buffer[got > 0 ? got : 0] = '\0';
    return got;
}

bool os_perf_paranoid(int64_t *level)
{
    char line[16];
    uint64_t n;
    if (os_read_text("/proc/sys/kernel/perf_event_paranoid", line, sizeof line) <= 0)
        return false;
    const char *digits = line + (line[0] == '-');
    if (!text_parse_decimal(&digits, &n))
        return false;
    *level = line[0] == '-' ? -(int64_t)n : (int64_t)n;
    return true;
}

/* ---- messages to another process ------------------------------------------------------------- */

int os_pair(int ends[2])
{
    return (int)CALL4(SYS_socketpair, 1 /* AF_UNIX */,
                      5 /* SOCK_SEQPACKET: no SIGPIPE */ | O_CLOEXEC, 0, ends);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* The kernel has no clock of a thread of another process. */
static bool served_cpu_ns(uint32_t process, uint32_t tid, uint64_t *ns)
{
    char path[64], line[96];
    struct text t = text_begin(path, sizeof path);
    text_put(&t, "/proc/");
    text_decimal(&t, process);
    text_put(&t, "/task/");
    text_decimal(&t, tid);
    text_put(&t, "/schedstat");
    text_end(&t);
    const char *s = line; /* format: time on cpu, time waiting, timeslices */
    return os_read_text(path, line, sizeof line) > 0 && text_parse_decimal(&s, ns);
}

bool os_thread_cpu_ns(uint32_t tid, uint64_t *ns)
{
    struct timespec ts;
    uint32_t served = os_served();
    if (served)
        return served_cpu_ns(served, tid, ns);
    int clock = (int)(~tid << 3) | 6; /* encoded as in pthread_getcpuclockid */
    if (CALL2(SYS_clock_gettime, clock, &ts) < 0)
        return false;
    *ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    return true;
}

bool os_thread_usage(struct rusage *usage)
{
    return CALL2(SYS_getrusage, RUSAGE_THREAD, usage) == 0;
}

int os_thread_wait_ns(uint32_t tid, uint64_t *ns)
{
    char path[64], line[96];
    uint64_t ran;
    struct text t = text_begin(path, sizeof path);
    text_put(&t, "/proc/self/task/");
    text_decimal(&t, tid);
    text_put(&t, "/schedstat");
    text_end(&t);
    long got = os_read_text(path, line, sizeof line);
    const char *s = line; /* format: time on cpu, time waiting, timeslices */
    if (got < 0)
        return (int)got;
    return text_parse_decimal(&s, &ran) && *s++ == ' ' && text_parse_decimal(&s, ns) ? 0 : -EINVAL;
}

/* ---- the processor --------------------------------------------------------------------------- */

bool os_processor_name(char *buffer, size_t room)
{
    static const char field[] = "model name\t: ";
    char text[4096];
    if (os_read_text("/proc/cpuinfo", text, sizeof text) <= 0)
        return false;
    for (const char *s = text; *s; s++)
        if (text_starts(s, field)) {
            struct text t = text_begin(buffer, room);
            for (s += sizeof field - 1; *s && *s != '\n'; s++)
                text_put_n(&t, s, 1);
            text_end(&t);
            return true;
        }
    return false;
}
