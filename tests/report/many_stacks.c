/*
 * many_stacks.c - many_stacks BLOCKS STACKS: so many blocks of 16 bytes, from so many stacks.
 *
 * A stack is a number, written as the calls of two functions for its bits.
 */
/* rtc-build: -O0 -fno-optimize-sibling-calls */
#include <stdlib.h>

void left(unsigned path, unsigned bits);
void right(unsigned path, unsigned bits);

static void step(unsigned path, unsigned bits)
{
    if (bits == 0)
        abort();
    if (bits == 1) {
        if (malloc(16) == NULL)
            abort();
    } else if (path & 1) {
        right(path >> 1, bits - 1);
    } else {
        left(path >> 1, bits - 1);
    }
}

void left(unsigned path, unsigned bits)
{
    step(path, bits);
}

void right(unsigned path, unsigned bits)
{
    step(path, bits);
}

int main(int argc, char **argv)
{
    unsigned blocks = argc > 2 ? (unsigned)atoi(argv[1]) : 1000, bits = 2;
    unsigned stacks = argc > 2 ? (unsigned)atoi(argv[2]) : 100;

    while (1u << (bits - 1) < stacks)
        bits++;
    for (unsigned i = 0; i < blocks; i++)
        step(i % stacks, bits);
    return 0;
}
