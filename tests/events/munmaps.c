/*
 * munmaps.c - a library that defines munmap.  It refuses ranges that contain munmaps_refused, as the kernel
 * does if a mapping would have to be split and there are too many.
 *
 * rtc-build: shared
 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

char *munmaps_refused;

int munmap(void *at, size_t bytes)
{
    if (munmaps_refused && (char *)at <= munmaps_refused &&
        munmaps_refused - (char *)at < (long)bytes) {
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_munmap, at, bytes);
}
