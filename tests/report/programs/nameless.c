/*
 * nameless.c - frees of what is no block: symbols.py runs it without symbols.
 */
#include <stdlib.h>

int value[4] = {1, 2, 3, 4}; /* .data */
char zeros[9];               /* .bss */

int main(void)
{
    static const char *const strings[] = {"a constant", "a constant that is longer", "two\nlines"};
    const void *volatile p;

    free((void *)(p = strings[0]));
    free((void *)(p = strings[0] + 2));
    free((void *)(p = strings[1]));
    free((void *)(p = strings[2]));
    free((void *)(p = &value[2]));
    free((void *)(p = zeros));
    free((void *)(p = main));
    return 0;
}
