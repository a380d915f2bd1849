/* deep.h - shared code of these programs: deep recursion with malloc at its end. */
#ifndef DEEP_H
#define DEEP_H

#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline, unused))
#else
#define NOINLINE __attribute__((noinline, noclone, unused))
#endif
/* Prevents the preceding call from becoming a tail call. */
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

/* Call f with `levels` frames in between. */
static NOINLINE void dive(unsigned levels, work *f, void *argument)
{
    if (levels)
        dive(levels - 1, f, argument);
    else
        f(argument);
    NO_TAIL_CALL;
}

#endif
