/* deep.h - what the programs here have in common: some depth, and malloc at the end of it. */
#ifndef DEEP_H
#define DEEP_H

#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline, unused))
#else
#define NOINLINE __attribute__((noinline, noclone, unused))
#endif
/* Keeps the call before it from becoming a jump. */
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

static NOINLINE void churn(unsigned blocks)
{
    for (unsigned i = 0; i < blocks; i++) {
        char *volatile p = (char *)malloc(16 + i % 7 * 24);
        p[0] = 1;
        free(p);
    }
}

typedef void work(void *argument);

/* Calls f with `levels` frames between. */
static NOINLINE void dive(unsigned levels, work *f, void *argument)
{
    if (levels)
        dive(levels - 1, f, argument);
    else
        f(argument);
    NO_TAIL_CALL;
}

#endif
