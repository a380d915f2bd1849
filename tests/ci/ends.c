/*
 * ends.c - `ends HOW [leak]`: r returns, e exits, _ and q end at once, a aborts; with 7, after its output.
 *
 * rtc-build: -O1
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile lost;

__attribute__((noinline)) static void lose(void)
{
    lost = malloc(10);
    lost = NULL;
}

__attribute__((noinline)) static void overwrite_stack(void)
{
    volatile char bytes[4096];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = 0;
}

static void at_exit(void)
{
    printf(" at_exit");
}

int main(int argc, char **argv)
{
    atexit(at_exit);
    if (argc > 2)
        lose();
    overwrite_stack();
    printf("said");
    switch (argv[1][0]) {
    case 'e':
        exit(7);
    case '_':
        fflush(stdout);
        _exit(7);
    case 'q':
        fflush(stdout);
        quick_exit(7);
    case 'a':
        fflush(stdout);
        abort();
    }
    return 7;
}
