/*
 * Functions that are bound at their first call, by a resolver that allocates: between it and the
 * program lies the loader's trampoline, whose CFA is in rbx.
 */
#include "deep.h"

#define TEN(call, n)                                                                        \
    call(n##0) call(n##1) call(n##2) call(n##3) call(n##4) call(n##5) call(n##6) call(n##7) \
        call(n##8) call(n##9)
#define ALL(call) TEN(call, 1) TEN(call, 2) TEN(call, 3) TEN(call, 4) TEN(call, 5)
#define DECLARE(n) int function_##n(int);
#define CALL(n) sum += function_##n(sum);

ALL(DECLARE)

static void call_all(void *result)
{
    int sum = 0;
    ALL(CALL)
    *(int *)result += sum;
}

int main(void)
{
    int sum = 0;
    churn(1);
    dive(4, call_all, &sum);
    printf("lazy: %d\n", sum & 0xffff);
    return 0;
}
