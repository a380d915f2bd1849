/*
 * environment.c - getenv, setenv and their like: names and values are strings that they read.
 */
#include "string_reads.h"

EXPORT char *getenv(const char *name)
{
    if (access_is_on)
        string_read_whole(name, ENTRY_GETENV, CALLER);
    return NEXT_OF(getenv)(name);
}

EXPORT char *secure_getenv(const char *name)
{
    if (access_is_on)
        string_read_whole(name, ENTRY_SECURE_GETENV, CALLER);
    return NEXT_OF(secure_getenv)(name);
}

EXPORT int setenv(const char *name, const char *value, int overwrite)
{
    if (access_is_on) {
        string_read_whole(name, ENTRY_SETENV, CALLER);
        string_read_whole(value, ENTRY_SETENV, CALLER);
    }
    return NEXT_OF(setenv)(name, value, overwrite);
}

EXPORT int unsetenv(const char *name)
{
    if (access_is_on)
        string_read_whole(name, ENTRY_UNSETENV, CALLER);
    return NEXT_OF(unsetenv)(name);
}

/* The value is not read: the string becomes part of the environment. */
EXPORT int putenv(char *string)
{
    if (access_is_on && is_in_heap(string)) {
        const char *sign = NEXT_OF(strchrnul)(string, '=');
        string_read(string, (uint64_t)(sign - string) + 1, ENTRY_PUTENV, CALLER);
    }
    return NEXT_OF(putenv)(string);
}
