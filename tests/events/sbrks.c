/*
 * sbrks.c - a library whose sbrk lies between the runtime's and libc's, and calls libc's other name for it, as
 * tcmalloc's does; and a constructor that calls it.
 *
 * rtc-build: shared
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

void *__sbrk(intptr_t increment);

static unsigned times;

__attribute__((noinline)) void *sbrk(intptr_t increment)
{
    times++;
    return __sbrk(increment);
}

static void __attribute__((constructor)) begin(void)
{
    char *by_libc = __sbrk(0), *first = sbrk(4096), *next = sbrk(0);

    if (by_libc == first && next == first + 4096 && sbrk(-4096) == next && sbrk(0) == first &&
        times >= 4)
        puts("moved");
    fflush(stdout);
}
