/*
 * static.c - the program that steps.c execs by y, without the runtime.  Prints "done", reads until the end of input.
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
