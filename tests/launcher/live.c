/*
 * live.c - makes as many errors as its argument states, each at a different place, and ends after a
 * byte on its standard input.
 */
/* rtc-build: */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void twice(char *volatile block)
{
    free(block);
    free(block);
}

/* A place is a whole stack: another depth is another one. */
static void deeper(unsigned depth)
{
    if (depth > 0)
        deeper(depth - 1);
    else
        twice(malloc(40));
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
    char go;
    int mistakes = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < mistakes; i++)
        deeper((unsigned)i);
    printf("made\n");
    fflush(stdout);
    return read(0, &go, 1) == 1 ? 7 : 8;
}
