/* Jumps out of many frames, and calls of the same depth with other frames afterwards. */
#include "deep.h"

#include <setjmp.h>

static jmp_buf back;
static unsigned jumps;

static void leave(void *unused)
{
    (void)unused;
    churn(1);
    jumps++;
    longjmp(back, 1);
}

static NOINLINE void other(unsigned levels)
{
    char volatile room[200];
    room[levels] = 1;
    if (levels)
        other(levels - 1);
    churn(2);
    room[0] = room[levels];
}

static void round_of(void *argument)
{
    unsigned levels = *(unsigned *)argument;
    churn(1);
    if (!setjmp(back))
        dive(levels % 40, leave, NULL);
    churn(1);
    other(levels % 6);
}

int main(void)
{
    for (unsigned i = 0; i < 80; i++)
        dive(i % 5, round_of, &i);
    printf("jump: %u jumps\n", jumps);
    return 0;
}
