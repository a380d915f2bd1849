/*
 * static_program.c - cannot be checked: it is linked statically, so no library can be preloaded.
 *
 * rtc-build: -static
 */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char *volatile p = malloc(1000);
    puts(p ? "static program ran" : "static program failed");
    free(p);
    return 0;
}
