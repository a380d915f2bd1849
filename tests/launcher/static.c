/*
 * static.c - nothing can be preloaded into it.
 *
 * rtc-build: -static
 */
#include <stdio.h>

int main(int argc, char **argv)
{
    printf("static %s\n", argc > 1 ? argv[1] : "");
    return 9;
}
