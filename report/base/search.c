/*
 * search.c - binary search in an array whose items begin with their start address, in ascending
 * order.
 */
#include <string.h>

#include "basics.h"

size_t begun_before(const void *items, size_t count, size_t stride, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t start;
        memcpy(&start, (const char *)items + middle * stride, sizeof start);
        if (start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
