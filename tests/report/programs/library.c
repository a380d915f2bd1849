/*
 * library.c - loaded by relative.c: it allocates 1001 bytes.
 */
#include <stdlib.h>

void *volatile kept_by_library;

void from_library(void)
{
    kept_by_library = malloc(1001); /* LINE from_library */
}
