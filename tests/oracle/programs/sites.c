/*
 * The same inner frames at the same addresses, called from elsewhere further out: only a word far
 * out on the stack distinguishes the stacks, and no allocation lies between them.
 */
#include "deep.h"

#include <alloca.h>

static unsigned visits;

static void at_the_end(void *unused)
{
    (void)unused;
    visits++;
    churn(1);
}

#define SITE(n)                         \
    case n:                             \
        dive(levels, at_the_end, NULL); \
        __asm__ volatile("nop # " #n);  \
        break

/* One function, eight return addresses. */
static NOINLINE void from_some_site(unsigned site, unsigned levels)
{
    switch (site % 8) {
        SITE(0);
        SITE(1);
        SITE(2);
        SITE(3);
        SITE(4);
        SITE(5);
        SITE(6);
        SITE(7);
    }
}

/* Two frames that only rbp locates; one moves while all frames inside of them stay. */
static NOINLINE void inner_part(unsigned bytes, unsigned levels)
{
    char volatile *room = alloca(bytes);
    room[0] = 1;
    dive(levels, at_the_end, NULL);
    room[0] = 2;
}

static NOINLINE void outer_part(unsigned bytes, unsigned levels)
{
    char volatile *room = alloca(bytes);
    room[0] = 1;
    inner_part(640 - bytes, levels);
    room[0] = 2;
}

/* The same; gcc reaches the caller's frame by a separate word. */
static NOINLINE void inner_aligned(unsigned bytes, unsigned levels)
{
    char volatile *room = alloca(bytes);
    char volatile _Alignas(64) line[64];
    room[0] = line[0] = 1;
    dive(levels, at_the_end, NULL);
    room[0] = line[0];
}

static NOINLINE void outer_aligned(unsigned bytes, unsigned levels)
{
    char volatile *room = alloca(bytes);
    char volatile _Alignas(64) line[64];
    room[0] = line[0] = 1;
    inner_aligned(640 - bytes, levels);
    room[0] = line[0];
}

int main(void)
{
    churn(1);
    for (unsigned levels = 0; levels < 40; levels++)
        for (unsigned i = 0; i < 8; i++) {
            from_some_site(i, levels);
            outer_part(16 + 64 * i, levels);
            outer_aligned(64 + 64 * i, levels);
            from_some_site(i, levels);
        }
    printf("sites: %u visits\n", visits);
    return 0;
}
