/*
 * string_reads.h - check strings that are read, as strings.c does, for functions that compute where
 * the string ends. `at` is the program's call, `entry` its function.
 */
#ifndef STRING_READS_H
#define STRING_READS_H

#include "check.h"
#include "next_functions.h"

/* `bytes` of a string were read, with its end if that is among them. */
ALWAYS_INLINE void string_read(const char *s, uint64_t bytes, uint32_t entry,
                               const struct entry *at)
{
    if (is_in_heap(s) && unlikely(!is_allowed(s, bytes)))
        access_refused_search(s, bytes, entry, at);
    if (unlikely(fill_is_sought))
        uninitialised_search(s, bytes, entry, at);
}

/* A string is read up to and including its end. */
ALWAYS_INLINE void string_read_whole(const char *s, uint32_t entry, const struct entry *at)
{
    if (is_of_interest(s))
        string_read(s, NEXT_OF(strlen)(s) + 1, entry, at);
}

#endif
