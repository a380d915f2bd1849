/*
 * own_exit.c - a program with its own exit, as test harnesses have, visible to libraries: only the program
 * may call it.
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
