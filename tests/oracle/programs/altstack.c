/*
 * Handlers on an alternate stack, handlers that interrupt those, one that leaves by a jump; the
 * interrupted code runs on the main stack and on a coroutine's.
 */
#include "deep.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#define STACK_BYTES (256 * 1024)

static volatile sig_atomic_t there, nested, left;
static sigjmp_buf back;

static void work_there(void *unused)
{
    (void)unused;
    churn(2);
    raise(SIGUSR2);
    churn(2);
}

static void on_alternate(int number)
{
    (void)number;
    there++;
    dive((unsigned)there % 7, work_there, NULL);
}

static void on_either(int number)
{
    (void)number;
    nested++;
    churn(1);
}

static void leave(void *unused)
{
    (void)unused;
    churn(1);
    left++;
    siglongjmp(back, 1);
}

static void on_leaving(int number)
{
    (void)number;
    dive(3, leave, NULL);
}

static void raise_all(void *unused)
{
    (void)unused;
    churn(1);
    raise(SIGUSR1);
    churn(1);
    if (!sigsetjmp(back, 1))
        raise(SIGTERM);
    churn(1);
    raise(SIGUSR2);
}

static ucontext_t home, coroutines;

static void coroutine(void)
{
    for (unsigned i = 0; i < 10; i++)
        dive(i % 4, raise_all, NULL);
}

static void in_coroutine(void)
{
    static char memory[STACK_BYTES];
    getcontext(&coroutines);
    coroutines.uc_stack = (stack_t){.ss_sp = memory, .ss_size = sizeof memory};
    coroutines.uc_link = &home;
    makecontext(&coroutines, coroutine, 0);
    swapcontext(&home, &coroutines);
}

int main(void)
{
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_alternate, .sa_flags = SA_ONSTACK},
              NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_leaving, .sa_flags = SA_ONSTACK}, NULL);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_either}, NULL);
    for (unsigned i = 0; i < 60; i++)
        dive(i % 11, raise_all, NULL);
    in_coroutine();
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(stack.ss_sp);
    printf("altstack: %d there, %d nested, %d left\n", (int)there, (int)nested, (int)left);
    return 0;
}
