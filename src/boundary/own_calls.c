/*
 * own_calls.c - what the runtime itself calls, by the linker's --wrap: libc's functions without our
 * checks, and until they are known, loops.
 */
#include "next_functions.h"

/* The linker gives the runtime's own calls these names. */
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
void *__wrap_memchr(const void *in, int c, size_t n);
size_t __wrap_strlen(const char *s);
char *__wrap_strrchr(const char *s, int c);

void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    if (likely(next_functions.memcpy))
        return next_functions.memcpy(to, from, n);
    for (size_t i = 0; i < n; i++)
        ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *__wrap_memmove(void *to, const void *from, size_t n)
{
    if (likely(next_functions.memmove))
        return next_functions.memmove(to, from, n);
    if ((uintptr_t)to <= (uintptr_t)from)
        return __wrap_memcpy(to, from, n);
    for (size_t i = n; i > 0; i--)
        ((volatile char *)to)[i - 1] = ((const char *)from)[i - 1];
    return to;
}

void *__wrap_memset(void *to, int c, size_t n)
{
    if (likely(next_functions.memset))
        return next_functions.memset(to, c, n);
    for (size_t i = 0; i < n; i++)
        ((volatile char *)to)[i] = (char)c;
    return to;
}

int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    if (likely(next_functions.memcmp))
        return next_functions.memcmp(a, b, n);
    for (size_t i = 0; i < n; i++)
        if (((const uint8_t *)a)[i] != ((const uint8_t *)b)[i])
            return ((const uint8_t *)a)[i] - ((const uint8_t *)b)[i];
    return 0;
}

void *__wrap_memchr(const void *in, int c, size_t n)
{
    if (likely(next_functions.memchr))
        return next_functions.memchr(in, c, n);
    for (size_t i = 0; i < n; i++)
        if (((const uint8_t *)in)[i] == (uint8_t)c)
            return (char *)(uintptr_t)in + i;
    return NULL;
}

size_t __wrap_strlen(const char *s)
{
    if (likely(next_functions.strlen))
        return next_functions.strlen(s);
    size_t n = 0;
    while (((const volatile char *)s)[n])
        n++;
    return n;
}

char *__wrap_strrchr(const char *s, int c)
{
    char *last = NULL;
    for (;; s++) {
        if (*s == (char)c)
            last = (char *)(uintptr_t)s;
        if (!*s)
            return last;
    }
}
