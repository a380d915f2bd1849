/* memory.c - allocation that does not fail: without memory there is no translation. */
#include <stdio.h>
#include <stdlib.h>

#include "format/bits.h"
#include "translate_priv.h"

static void *present(void *p)
{
    if (p)
        return p;
    print_failure("no memory for the translation");
    exit(STATUS_SETUP);
}

void *zeroed(size_t count, size_t item)
{
    return present(calloc(count ? count : 1, item));
}

void *grown(void *array, uint32_t count, size_t item)
{
    if (count && !is_pow2(count))
        return array;
    return present(reallocarray(array, count ? (size_t)count * 2 : 1, item));
}
