/*
 * Frames that align the stack for wide vectors.  With arguments on the stack, or alloca, gcc then
 * keeps the caller's stack pointer in a register and in memory: the CFA is *(rbp - 8) or so.
 */
#include "deep.h"

#include <alloca.h>
#include <stdarg.h>
#include <stdint.h>

static unsigned long sum;

static void use(volatile char *wide, unsigned align)
{
    sum += (uintptr_t)wide % align;
    wide[0] = 1;
}

static NOINLINE void plain(unsigned levels)
{
    _Alignas(64) volatile char wide[128];
    use(wide, 64);
    churn(1);
    if (levels)
        plain(levels - 1);
    churn(1);
}

static NOINLINE void on_stack(unsigned levels, int b, int c, int d, int e, int f, int g, int h)
{
    _Alignas(32) volatile char wide[64];
    use(wide, 32);
    churn(1);
    sum += (unsigned)(b + c + d + e + f + g + h);
    if (levels)
        on_stack(levels - 1, c, d, e, f, g, h, b);
    churn(1);
}

static NOINLINE void with_alloca(unsigned levels, unsigned bytes)
{
    _Alignas(64) volatile char wide[64];
    char *volatile room = alloca(bytes);
    use(wide, 64);
    room[0] = 1;
    churn(1);
    if (levels)
        with_alloca(levels - 1, bytes + 24);
    churn(1);
}

static NOINLINE void variadic(unsigned levels, ...)
{
    _Alignas(32) volatile char wide[96];
    va_list list;
    va_start(list, levels);
    use(wide, 32);
    sum += va_arg(list, unsigned);
    va_end(list);
    churn(1);
    if (levels)
        variadic(levels - 1, levels, 2, 3, 4, 5, 6, 7, 8);
    churn(1);
}

int main(void)
{
    for (unsigned i = 0; i < 12; i++) {
        plain(i);
        on_stack(i, 1, 2, 3, 4, 5, 6, 7);
        with_alloca(i, 40);
        variadic(i, 1u);
    }
    printf("realign: %lu\n", sum);
    return 0;
}
