/*
 * static_program.c - cannot be checked: linked statically, so nothing is preloaded into it.
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
