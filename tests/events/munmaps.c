/*
 * munmaps.c - a library that has a munmap of its own.  It refuses what has munmaps_refused in it, as the kernel
 * does where a mapping would have to become two and there are too many.
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
    if (munmaps_refused && (char *)at <= munmaps_refused && munmaps_refused - (char *)at < (long)bytes) {
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_munmap, at, bytes);
}
