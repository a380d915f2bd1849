/*
 * Two coroutines that switch as fast as they can, allocating on either side, on stacks that are
 * unmapped at their ends: the next stacks lie at the same address, or at an unmapped one.
 */
#include "deep.h"

#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (64 * 1024)
#define ROUNDS 40

static ucontext_t home, place[2];
static void *stack[2];
static unsigned long turns;

static void turn(void *argument)
{
    int me = *(int *)argument;
    churn(1);
    turns++;
    swapcontext(&place[me], &place[!me]);
    churn(1);
}

static void coroutine(int me)
{
    for (unsigned i = 0; i < 12; i++)
        dive(i * 5 % (7 + (unsigned)me), turn, &me);
    setcontext(&home);
}

static void make(int me)
{
    /* The gap must never be read: a stale address may point into it. */
    char *at = mmap(NULL, 3 * STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(at + STACK_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE);
    stack[me] = at;
    getcontext(&place[me]);
    place[me].uc_stack = (stack_t){.ss_sp = at + STACK_BYTES, .ss_size = STACK_BYTES};
    makecontext(&place[me], (void (*)(void))coroutine, 1, me);
}

static void round_of(void *unused)
{
    (void)unused;
    make(0);
    make(1);
    swapcontext(&home, &place[0]);
    churn(1);
    munmap(stack[0], 3 * STACK_BYTES);
    munmap(stack[1], 3 * STACK_BYTES);
    churn(1);
}

int main(void)
{
    churn(1);
    for (unsigned i = 0; i < ROUNDS; i++)
        dive(i % 5, round_of, NULL);
    printf("switching: %lu turns\n", turns);
    return 0;
}
