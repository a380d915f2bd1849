/* Handlers that allocate: one inside another, one inside itself, and then the interrupted code. */
#include "deep.h"

#include <signal.h>

static volatile sig_atomic_t inner, outer, same;

static void on_inner(int number)
{
    (void)number;
    inner++;
    churn(1);
}

static void raise_inner(void *unused)
{
    (void)unused;
    churn(1);
    raise(SIGUSR2);
    churn(1);
}

static void on_outer(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    outer++;
    churn(1);
    dive((unsigned)outer % 5, raise_inner, NULL);
    churn(1);
}

static void on_same(int number)
{
    churn(1);
    if (++same % 4)
        raise(number);
    churn(1);
}

static void raise_both(void *unused)
{
    (void)unused;
    churn(2);
    raise(SIGUSR1);
    churn(2);
    raise(SIGTERM);
    churn(2);
}

int main(void)
{
    sigaction(SIGUSR1, &(struct sigaction){.sa_sigaction = on_outer, .sa_flags = SA_SIGINFO}, NULL);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_inner}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_same, .sa_flags = SA_NODEFER}, NULL);
    for (unsigned i = 0; i < 60; i++)
        dive(i % 9, raise_both, NULL);
    printf("signals: %d outer, %d inner, %d same\n", (int)outer, (int)inner, (int)same);
    return 0;
}
