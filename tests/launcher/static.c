/*
 * static.c - a program into which no library can be preloaded.
 *
 * rtc-build: -static
 */
#include <signal.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc > 2)
        raise(SIGRTMIN + 1);
    printf("static %s\n", argc > 1 ? argv[1] : "");
    return 9;
}
