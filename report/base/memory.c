/*
 * memory.c - allocation that does not fail: a report without memory ends the process.
 */
#include <stdlib.h>

#include "basics.h"

void *xalloc(void *p)
{
    if (!p) {
        fputs("rtcheck: out of memory\n", stderr);
        exit(125);
    }
    return p;
}

void *grow(void *array, uint32_t count, size_t item)
{
    if (count != 0 && !is_pow2(count))
        return array;
    return xalloc(reallocarray(array, count ? 2 * (size_t)count : 1, item));
}
