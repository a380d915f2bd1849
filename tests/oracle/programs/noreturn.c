/* Calls that never return, at the end of a function: the return address is in the next one. */
#include "deep.h"

#include <setjmp.h>

static jmp_buf back;

static NOINLINE __attribute__((noreturn)) void last(unsigned n)
{
    churn(2);
    longjmp(back, (int)n + 1);
}

static NOINLINE __attribute__((noreturn)) void third(unsigned n)
{
    churn(1);
    last(n);
}

static NOINLINE __attribute__((noreturn)) void second(unsigned n)
{
    volatile char room[320];
    room[n] = 1;
    churn(1);
    third(n + room[n]);
}

static NOINLINE __attribute__((noreturn)) void first(void *n)
{
    second(*(unsigned *)n % 100);
}

int main(void)
{
    unsigned volatile sum = 0;
    for (unsigned i = 0; i < 150; i++) {
        int returned = setjmp(back);
        if (!returned)
            dive(i % 7 + 2, first, &i);
        sum += (unsigned)returned;
        churn(1);
    }
    printf("noreturn: %u\n", sum);
    return 0;
}
