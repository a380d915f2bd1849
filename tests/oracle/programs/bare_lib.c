/* The libraries of bare.c: ENTER names the function. */
#include "deep.h"

void ENTER(unsigned levels, work *f, void *argument);

void ENTER(unsigned levels, work *f, void *argument)
{
    volatile char room[40];
    room[0] = 1;
    if (levels)
        ENTER(levels - room[0], f, argument);
    else
        f(argument);
    room[1] = 2;
}
