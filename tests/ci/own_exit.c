/*
 * own_exit.c - a program with an exit of its own, as harnesses of tests have, which libraries find: it must
 * not be called by anybody but the program.
 *
 * rtc-build: -rdynamic
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void exit(int status)
{
    printf("own exit");
    fflush(stdout);
    _exit(status);
}

static void *volatile lost;

int main(void)
{
    lost = malloc(4711);
    lost = NULL;
    printf("said");
    return 7;
}
