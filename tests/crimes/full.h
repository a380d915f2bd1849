/* full.h - what full.c and full_behave.c share. */
#ifndef FULL_H
#define FULL_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline, used))
#else
#define NOINLINE __attribute__((noipa, used))
#endif

static void must(bool holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        exit(9);
    }
}

static NOINLINE char *make(size_t n)
{
    char *p = malloc(n);
    must(p, "memory");
    memset(p, 'a', n);
    return p;
}

static NOINLINE void drop(char *p)
{
    free(p);
}

#endif
