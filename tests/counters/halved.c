/*
 * halved.c - a preloaded library for the launcher: each counter that it reads was on the processor for half of the
 * time only, as if multiplexed.
 *
 * rtc-build: shared
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counts {
    uint64_t value, enabled, running;
};

static int is_counter(int fd)
{
    char path[32], what[32] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, what, sizeof what - 1) > 0 &&
           strcmp(what, "anon_inode:[perf_event]") == 0;
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    ssize_t got = syscall(SYS_read, fd, buffer, bytes);
    struct counts *c = buffer;
    if (got == sizeof *c && bytes == sizeof *c && is_counter(fd))
        c->running = c->enabled / 2;
    return got;
}
