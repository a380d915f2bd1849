/*
 * vmmalloc_library.c - a library whose function allocates, to be opened by vmmalloc.c.
 *
 * rtc-build: shared
 */
#include <stdlib.h>

void *library_allocate(size_t bytes);
void *library_allocate(size_t bytes)
{
    return malloc(bytes);
}
