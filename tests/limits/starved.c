/*
 * starved.c - a signal handler that interrupts malloc allocates until it gets NULL.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../unit/step.h"

static volatile sig_atomic_t starved;

/* After each instruction: blocks from outside of the allocator are freed again. */
static void on_step(int signal)
{
    void *got[64];
    int n = 0;
    (void)signal;
    while (!starved && n < 64 && (got[n] = malloc(1000)))
        n++;
    starved |= n < 64;
    while (n > 0)
        free(got[--n]);
}

int main(void)
{
    signal(SIGTRAP, on_step);
    free(malloc(100));
    steps_begin();
    void *p = malloc(100);
    steps_end();
    free(p);
    p = malloc(1000); /* outside there is some */
    free(p);
    printf("%d %d\n", starved != 0, p != NULL);
    return 0;
}
