/* Threads that start, allocate, and allocate still when their keys are destroyed. */
#include "deep.h"

#include <pthread.h>

static pthread_key_t key;

static void in_destructor(void *unused)
{
    (void)unused;
    churn(3);
}

static void destroy(void *levels)
{
    dive((unsigned)(unsigned long)levels, in_destructor, NULL);
}

static void leave(void *unused)
{
    (void)unused;
    churn(2);
    pthread_exit(NULL);
}

static void *body(void *argument)
{
    unsigned n = (unsigned)(unsigned long)argument;
    pthread_setspecific(key, (void *)(unsigned long)(n % 5 + 1));
    for (unsigned i = 0; i < 10; i++)
        dive((i + n) % 16, in_destructor, NULL);
    if (n % 2)
        dive(n % 7, leave, NULL);
    return NULL;
}

int main(void)
{
    churn(1);
    pthread_key_create(&key, destroy);
    for (unsigned i = 0; i < 10; i++) {
        pthread_t thread[4];
        for (unsigned k = 0; k < 4; k++)
            pthread_create(&thread[k], NULL, body, (void *)(unsigned long)(i * 4 + k));
        for (unsigned k = 0; k < 4; k++)
            pthread_join(thread[k], NULL);
    }
    puts("threads: 40 threads");
    return 0;
}
