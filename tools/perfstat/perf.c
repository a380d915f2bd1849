/*
 * perf.c - the system calls of performance counters; unit tests replace them by simulated machines.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfstat_priv.h"

int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

bool perf_read(int fd, struct counts *counts)
{
    return read(fd, counts, sizeof *counts) == (ssize_t)sizeof *counts;
}

void perf_close(int fd)
{
    close(fd);
}
