/*
 * twice.c - a double free in an inlined function: symbols.py compiles it by a relative path.
 */
#include <stdlib.h>

static inline __attribute__((always_inline)) void release(void *block)
{
    free(block); /* LINE release */
}

int main(void)
{
    void *volatile block = malloc(8);

    release(block); /* LINE first */
    release(block); /* LINE second */
    return 0;
}
