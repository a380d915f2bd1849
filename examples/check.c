/*
 * check.c - a program that requests leak checks at run time, and marks blocks that are not leaks.
 *
 *     cc -I PREFIX/include check.c -o check && rtcheck ./check
 *
 * C and C++. Without the runtime every function does nothing, which its result shows.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rtcheck/check.h>

/* The only pointer to this block is lost. */
static void lose(size_t bytes)
{
    char *block = (char *)malloc(bytes);
    if (block)
        block[0] = 1;
}

/* A cache that is meant to live as long as the program, without a pointer to it. */
static void lose_on_purpose(size_t bytes)
{
    rtc_disable();
    lose(bytes);
    rtc_enable();
}

/* Pointers that calls have left on the stack below us keep nothing alive any more. */
static void wipe(void)
{
    volatile char below[4096];
    for (size_t i = 0; i < sizeof below; i++)
        below[i] = 0;
}

int main(void)
{
    struct rtc_leaks leaks;
    lose(100); /* before the mark: not new */
    wipe();
    rtc_mark();
    for (int i = 0; i < 3; i++)
        lose(10);
    lose_on_purpose(1000);
    wipe();
    long blocks = rtc_check_leaks(RTC_NEW | RTC_QUIET, &leaks);
    if (blocks == RTC_NOT_CHECKED)
        puts("no leak check here: start this program with rtcheck");
    else if (blocks < 0)
        puts("nothing is known");
    else
        printf("%ld new blocks lost\n", blocks);
    return 0;
}
