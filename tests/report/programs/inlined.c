/*
 * inlined.c - allocations whose callers are inlined into one another: symbols.py checks the lines.
 */
#include <stdlib.h>

void *volatile kept[4];

static inline __attribute__((always_inline)) void *innermost(size_t bytes)
{
    return malloc(bytes); /* LINE innermost */
}

static inline __attribute__((always_inline)) void *middle(size_t bytes)
{
    return innermost(bytes + 1); /* LINE middle */
}

__attribute__((noinline)) void *physical(size_t bytes)
{
    void *block = middle(bytes); /* LINE physical */
    kept[0] = block;
    if (bytes > 100) {
        kept[1] = innermost(bytes + 2); /* LINE block */
        kept[2] = block;
    }
    return block;
}

__attribute__((noinline)) void *plain(size_t bytes)
{
    kept[3] = malloc(bytes); /* LINE plain */
    return kept[3];
}

int main(void)
{
    physical(1000);
    plain(2000);
    return 0;
}
