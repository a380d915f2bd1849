/*
 * lib.c - places to allocate in a library, for shop.cc.
 */
#include <stdlib.h>
#include <string.h>

/* A result that passes through memory is no tail call. */
void *lib_take(size_t bytes)
{
    void *volatile p = malloc(bytes);
    return p;
}

void *lib_take_deep(size_t bytes, int depth)
{
    void *volatile p = depth > 0 ? lib_take_deep(bytes, depth - 1) : lib_take(bytes);
    return p;
}

static void *hidden(size_t bytes)
{
    void *volatile p = calloc(1, bytes);
    return p;
}

void *lib_hidden(size_t bytes)
{
    void *volatile p = hidden(bytes);
    return p;
}

void *lib_call(void *(*take)(size_t), size_t bytes)
{
    void *volatile p = take(bytes);
    return p;
}

char *lib_copy(size_t bytes)
{
    char text[256];
    memset(text, 'x', sizeof text);
    text[bytes - 1] = '\0';
    char *volatile p = strdup(text);
    return p;
}
