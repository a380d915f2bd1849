/*
 * static.c - what steps.c becomes by y: nothing is preloaded into it.  Says "done" and waits for the end of its input.
 *
 * rtc-build: -static
 */
#include <unistd.h>

int main(void)
{
    char byte;
    (void)!write(1, "done\n", 5);
    while (read(0, &byte, 1) == 1)
        ;
    return 3;
}
