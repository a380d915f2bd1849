/* The libraries of reload.c: FRAME_BYTES differs, and nothing else. */
#include "deep.h"

void enter(unsigned levels, work *f, void *argument);

void enter(unsigned levels, work *f, void *argument)
{
    volatile char room[FRAME_BYTES];
    room[0] = 1;
    if (levels)
        enter(levels - room[0], f, argument);
    else
        f(argument);
    room[FRAME_BYTES - 1] = 2;
}
