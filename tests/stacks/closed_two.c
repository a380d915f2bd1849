/*
 * Another library, loaded at the address of closed_one.c: its twin.
 *
 * rtc-build: shared -g -fomit-frame-pointer -Wl,--build-id
 */
#include <stdlib.h>

#define ROOM 6000

void *two_keeps(size_t bytes);
void two_drops(size_t bytes);

static __attribute__((noinline)) void two_frees(void *p)
{
    free(p);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

void *two_keeps(size_t bytes)
{
    char volatile room[ROOM];
    room[bytes & 511] = 1;
    void *volatile p = malloc(bytes);
    return room[bytes & 511] ? p : NULL;
}

void two_drops(size_t bytes)
{
    two_frees(two_keeps(bytes));
    __asm__ volatile("" ::: "memory");
}
