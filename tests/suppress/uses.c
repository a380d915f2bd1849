/*
 * uses.c - has blocks in use at its end: 3 of 100 bytes from one function, 2 of 200 from another.
 */
#include <stdlib.h>

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

int main(void)
{
    for (int i = 0; i < 5; i++)
        i < 3 ? uses_hidden(i) : uses_shown(i);
    return kept[0] == NULL;
}
