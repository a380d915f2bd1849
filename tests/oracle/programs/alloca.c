/* Frames whose size is only known at run time. */
#include "deep.h"

#include <alloca.h>
#include <string.h>

static unsigned sum;

static NOINLINE void by_alloca(unsigned levels, unsigned bytes)
{
    for (unsigned i = 0; i < 3; i++) {
        char *room = alloca(bytes + i * 40);
        memset(room, (int)levels, bytes);
        churn(1);
        sum += (unsigned char)room[bytes / 2];
    }
    if (levels)
        by_alloca(levels - 1, bytes * 3 % 777 + 1);
    churn(1);
}

static NOINLINE void by_array(unsigned levels, unsigned bytes, int a, int b, int c, int d, int e)
{
    char room[bytes];
    memset(room, a + b + c + d + e, bytes);
    churn(1);
    if (levels)
        by_array(levels - 1, bytes * 5 % 999 + 1, b, c, d, e, (int)levels);
    churn(1);
    sum += (unsigned char)room[bytes - 1];
}

int main(void)
{
    for (unsigned i = 0; i < 20; i++) {
        by_alloca(i % 12, i * 31 + 1);
        by_array(i % 14, i * 17 + 1, 1, 2, 3, 4, 5);
    }
    printf("alloca: %u\n", sum);
    return 0;
}
