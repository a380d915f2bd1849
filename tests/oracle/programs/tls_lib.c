/* The libraries of tls.c: MEMORY_BYTES differs. */
#include "deep.h"

unsigned touch(void);

static __thread char memory[MEMORY_BYTES];

unsigned touch(void)
{
    memory[MEMORY_BYTES / 2]++;
    churn(1);
    return (unsigned)memory[MEMORY_BYTES / 2];
}
