/*
 * uses.c - has blocks in use at its end: 3 of 100 bytes from one function, 2 of 200 from another.
 *
 * `uses checks`: before its end it and a child each check for leaks three times.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcheck/check.h"

static void *kept[5];

static __attribute__((noinline)) void uses_hidden(int i)
{
    kept[i] = malloc(100);
    __asm__ volatile("");
}

static __attribute__((noinline)) void uses_shown(int i)
{
    kept[i] = malloc(200);
    __asm__ volatile("");
}

static int check_with_child(void)
{
    int status = 0;
    pid_t child = fork();
    for (int i = 0; i < 3; i++)
        rtc_check_leaks(0, NULL);
    if (child == 0)
        _exit(0);
    return waitpid(child, &status, 0) == child ? status : -1;
}

int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 5; i++)
        i < 3 ? uses_hidden(i) : uses_shown(i);
    return kept[0] == NULL || (argc > 1 && check_with_child() != 0);
}
