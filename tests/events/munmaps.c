/*
 * munmaps.c - a library that has a munmap of its own.
 *
 * rtc-build: shared
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int munmap(void *at, size_t bytes)
{
    return (int)syscall(SYS_munmap, at, bytes);
}
