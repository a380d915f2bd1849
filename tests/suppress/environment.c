/*
 * environment.c - libc's tree of setenv's copies, whose nodes store their colour in pointers to
 * them, and a block with an interior pointer in another variable.
 */
#include <stdlib.h>

char *volatile inside;

int main(void)
{
    setenv("ONE", "which is longer than nothing", 1);
    setenv("TWO", "which is longer than nothing", 1);
    setenv("THREE", "x", 1);
    setenv("FOUR", "y", 1);
    inside = (char *)malloc(25) + 1;
    return 0;
}
