/* Ten thousand levels, with a block allocated on each on the way down and freed on the way up. */
#include "deep.h"

#define LEVELS 10000

static unsigned long down, up;

static NOINLINE void descend(unsigned level)
{
    unsigned char *volatile block = malloc(level % 100 + 1);
    block[0] = (unsigned char)level;
    down += block[0];
    if (level < LEVELS)
        descend(level + 1);
    if (level % 2)
        churn(1);
    up += block[0];
    free(block);
}

int main(void)
{
    churn(1);
    descend(0);
    printf("abyss: %s\n", down == up ? "back" : "lost");
    return 0;
}
