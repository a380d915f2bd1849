/* Threads on stacks that the program made, one after the other on the same one, at other depths. */
#include "deep.h"

#include <pthread.h>
#include <sys/mman.h>

#define STACK_BYTES (256 * 1024)

static unsigned long visits;

static void at_the_end(void *unused)
{
    (void)unused;
    visits++;
    churn(2);
}

static void *shallow(void *argument)
{
    for (unsigned i = 0; i < 8; i++)
        dive((i + (unsigned)(unsigned long)argument) % 9, at_the_end, NULL);
    return NULL;
}

static void *deeper(void *argument)
{
    char volatile room[3000];
    room[0] = 1;
    for (unsigned i = 0; i < 8; i++)
        dive((i * 5 + (unsigned)(unsigned long)argument) % 40 + room[0], at_the_end, NULL);
    return NULL;
}

static void run_on(void *stack, void *(*body)(void *), unsigned long n)
{
    pthread_attr_t how;
    pthread_t thread;
    pthread_attr_init(&how);
    pthread_attr_setstack(&how, stack, STACK_BYTES);
    pthread_create(&thread, &how, body, (void *)n);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&how);
}

int main(void)
{
    void *mapped =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *block = aligned_alloc(4096, STACK_BYTES);
    for (unsigned i = 0; i < 24; i++)
        run_on(i % 3 ? mapped : block, i % 2 ? shallow : deeper, i);
    free(block);
    printf("stacks: %lu visits\n", visits);
    return 0;
}
