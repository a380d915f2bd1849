/*
 * string_length.h - how many bytes of a string are read.
 */
#ifndef STRING_LENGTH_H
#define STRING_LENGTH_H

#include "next_functions.h"

/* Bytes of a string of at most n bytes, with its end if that is among them. */
ALWAYS_INLINE size_t string_bytes(const char *s, size_t n)
{
    size_t length = NEXT_OF(strnlen)(s, n);
    return length < n ? length + 1 : n;
}

#endif
