/* The library of constructors.c. */
#include "deep.h"

void library_use(void);

static void some(void *unused)
{
    (void)unused;
    churn(10);
}

static __attribute__((constructor)) void begin(void)
{
    for (unsigned i = 0; i < 12; i++)
        dive(i, some, NULL);
}

static __attribute__((destructor)) void end(void)
{
    for (unsigned i = 0; i < 12; i++)
        dive(i, some, NULL);
}

void library_use(void)
{
    dive(5, some, NULL);
}
