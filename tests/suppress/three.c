/*
 * three.c - two leaks that differ in the third frame only, one that libc allocated, one held only
 * by an interior pointer, and a double free.
 *
 * rtc-build: -O1 -g -fno-optimize-sibling-calls
 *
 * An argument is a file to create: tests use it to check whether the program was started.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define KEPT __attribute__((noinline, optnone))
#else
#define KEPT __attribute__((noinline, noipa))
#endif

void *volatile lost;
char *volatile inside;

KEPT static void take(size_t bytes)
{
    lost = malloc(bytes);
    memset(lost, 1, bytes);
    lost = NULL;
}

KEPT static void middle(size_t bytes)
{
    take(bytes);
}

KEPT static void left(void)
{
    middle(10);
}

KEPT static void right(void)
{
    for (volatile int i = 0; i < 2; i++)
        middle(20);
}

KEPT static void copy(void)
{
    lost = strdup("hello");
    lost = NULL;
}

KEPT static void advance(void)
{
    inside = (char *)malloc(30) + 3;
}

KEPT static void free_twice(void)
{
    char *volatile p = malloc(40), *volatile again = p;

    free(p);
    free(again);
}

KEPT static void overwrite(void *block)
{
    memset(block, 0, 256);
}

int main(int argc, char **argv)
{
    char stack[256];

    if (argc > 1)
        close(open(argv[1], O_CREAT | O_WRONLY, 0666));
    left();
    right();
    copy();
    advance();
    free_twice();
    overwrite(stack);
    return 7;
}
