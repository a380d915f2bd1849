/* The library of lazy.c. */
#include "deep.h"

#define TEN(define, n)                                                                         \
    define(n##0) define(n##1) define(n##2) define(n##3) define(n##4) define(n##5) define(n##6) \
        define(n##7) define(n##8) define(n##9)
#define ALL(define) TEN(define, 1) TEN(define, 2) TEN(define, 3) TEN(define, 4) TEN(define, 5)

static void some(void *unused)
{
    (void)unused;
    churn(5);
}

#define DEFINE(n)                                              \
    int function_##n(int);                                     \
    static int chosen_##n(int x)                               \
    {                                                          \
        churn(1);                                              \
        return x + n;                                          \
    }                                                          \
    static __attribute__((used)) int (*resolve_##n(void))(int) \
    {                                                          \
        dive(n % 5, some, NULL);                               \
        return chosen_##n;                                     \
    }                                                          \
    int function_##n(int) __attribute__((ifunc("resolve_" #n)));

ALL(DEFINE)
