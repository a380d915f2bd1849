/*
 * A stack that grows and shrinks, allocating at every level: around the 64 frames that are kept,
 * and around 96 and 128, where a trace that was cut has to find on.
 */
#include "deep.h"

static unsigned state = 1, calls;

static unsigned chance(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

static NOINLINE void two(unsigned levels, unsigned every);

static NOINLINE void one(unsigned levels, unsigned every)
{
    calls++;
    if (levels % every == 0)
        churn(1);
    if (levels)
        two(levels - 1, every);
    if (levels % every == 1)
        churn(1);
}

static NOINLINE void two(unsigned levels, unsigned every)
{
    volatile char room[72];
    room[levels % 72] = 1;
    if (levels)
        one(levels - 1, every);
    churn(room[levels % 72]);
}

/* Down to `bottom`, then up and down by a few frames, never quite to the top. */
static NOINLINE void wander(unsigned levels, unsigned bottom)
{
    calls++;
    churn(1);
    if (levels < bottom)
        for (unsigned i = chance(8) ? 1 : 2; i; i--)
            wander(levels + 1, bottom - (i == 2));
    churn(1);
}

int main(void)
{
    static const unsigned around[] = {58, 90, 122};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned n = 0; n < 14; n++)
            one(around[i] + n, 7 + n);
    for (unsigned i = 0; i < 3; i++)
        wander(0, around[i] / 8);
    for (unsigned i = 0; i < 40; i++)
        one(chance(140), 9);
    printf("depth: %u calls\n", calls);
    return 0;
}
