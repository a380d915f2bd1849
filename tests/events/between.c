/*
 * between.c - a library between the runtime and libc: its mmap and munmap first call a hook, where a signal may
 * arrive, and make the system call with a changed amount of free stack.
 *
 * rtc-build: shared
 */
#include <alloca.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void (*between_us)(void);
size_t between_bytes;

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    volatile char *room = alloca(between_bytes + 1);
    room[0] = 0;
    if (between_us)
        between_us();
    return syscall(number, a, b, c, d, e, f) + room[0];
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    return (void *)call(SYS_mmap, (long)at, (long)size, prot, flags, fd, offset);
}

int munmap(void *at, size_t size)
{
    return (int)call(SYS_munmap, (long)at, (long)size, 0, 0, 0, 0);
}
