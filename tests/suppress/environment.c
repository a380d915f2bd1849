/*
 * environment.c - libc's tree of what setenv has copied, whose nodes know their colour by their
 * pointers, and a block that somebody else has a pointer into.
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
