/*
 * A program whose segments lie far apart: libc lists each as a separate object.
 *
 * rtc-build: -g -fomit-frame-pointer -Wl,-z,max-page-size=0x200000 -Wl,--build-id
 */
#include <stdlib.h>

static void *volatile kept;

static __attribute__((noinline)) void far_segments_keeps(size_t bytes)
{
    kept = malloc(bytes);
}

int main(void)
{
    far_segments_keeps(4001);
    return kept ? 0 : 1;
}
