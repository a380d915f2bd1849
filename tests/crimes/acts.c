/*
 * acts.c - N double frees, each with its own stack: ACTS N [TWICE].  ACTS 0 has one warning instead.
 *
 * rtc-build: -fno-builtin -fno-optimize-sibling-calls
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS = 7, STATUS_DAMAGED = 99, BITS = 14 };

static char *kept;

static __attribute__((noinline)) void twice(void *p)
{
    __asm__ volatile("" : "+r"(p));
    free(p);
    __asm__ volatile("" : "+r"(p));
    free(p);
    __asm__ volatile("");
}

/* A stack for each number: by one line where a bit is 0, by another where it is 1. */
static __attribute__((noinline)) void descend(unsigned number, unsigned bit)
{
    if (bit == BITS)
        twice(malloc(24));
    else if (number >> bit & 1)
        descend(number, bit + 1);
    else {
        descend(number, bit + 1);
        __asm__ volatile("nop"); /* or the two would be made one */
    }
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    if (n == 0 && malloc(SIZE_MAX / 4 + (size_t)argc))
        return STATUS_DAMAGED;
    kept = malloc(1000);
    memset(kept, 'k', 1000);
    for (unsigned i = 0; i < n; i++)
        for (volatile int times = argc > 2 ? 2 : 1; times > 0; times--)
            descend(i, 0);
    for (int i = 0; i < 1000; i++)
        if (kept[i] != 'k')
            return STATUS_DAMAGED;
    return STATUS;
}
