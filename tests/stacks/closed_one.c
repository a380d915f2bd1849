/*
 * A library that is closed before its blocks are reported. closed_two.c is the same except for its
 * names and the size of its frames, so that both have the same return addresses.
 *
 * rtc-build: shared -g -fomit-frame-pointer -Wl,--build-id
 */
#include <stdlib.h>

#define ROOM 600

void *one_keeps(size_t bytes);
void one_drops(size_t bytes);

static __attribute__((noinline)) void one_frees(void *p)
{
    free(p);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

void *one_keeps(size_t bytes)
{
    char volatile room[ROOM];
    room[bytes & 511] = 1;
    void *volatile p = malloc(bytes);
    return room[bytes & 511] ? p : NULL;
}

void one_drops(size_t bytes)
{
    one_frees(one_keeps(bytes));
    __asm__ volatile("" ::: "memory");
}
