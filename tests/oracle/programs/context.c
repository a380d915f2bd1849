/* Coroutines on separate stacks that run in turn, at different depths, allocating in between. */
#include "deep.h"

#include <ucontext.h>

#define COROUTINES 4
#define STACK_BYTES (64 * 1024)

static ucontext_t home, place[COROUTINES];
static unsigned turns;

static void turn(void *argument)
{
    unsigned me = *(unsigned *)argument;
    churn(1);
    turns++;
    swapcontext(&place[me], &place[(me + 1) % COROUTINES]);
    churn(1);
}

static void coroutine(int me)
{
    unsigned self = (unsigned)me;
    for (unsigned i = 0; i < 40; i++)
        dive((i * 3 + self) % 13, turn, &self);
    churn(1);
    if (self + 1 < COROUTINES)
        setcontext(&place[self + 1]);
}

int main(void)
{
    char *stack[COROUTINES];
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&place[i]);
        stack[i] = malloc(STACK_BYTES);
        place[i].uc_stack = (stack_t){.ss_sp = stack[i], .ss_size = STACK_BYTES};
        place[i].uc_link = &home;
        makecontext(&place[i], (void (*)(void))coroutine, 1, i);
    }
    swapcontext(&home, &place[0]);
    for (int i = 0; i < COROUTINES; i++)
        free(stack[i]);
    printf("context: %u turns\n", turns);
    return 0;
}
