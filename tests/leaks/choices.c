/*
 * choices.c - one block held as C++ holds an array, one lost: options choose which are reported.
 */
#include <stdint.h>
#include <stdlib.h>

static void *volatile kept;

static __attribute__((noinline)) void hold(void)
{
    uint64_t *p = malloc(sizeof *p + 3 * 100);
    *p = 3; /* elements of 100 bytes each */
    kept = p + 1;
}

static __attribute__((noinline)) void lose(void)
{
    void *volatile p = malloc(77);
    p = NULL;
    (void)p;
}

int main(void)
{
    hold();
    lose();
    return 0;
}
