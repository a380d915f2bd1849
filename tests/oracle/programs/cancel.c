/* Threads that are cancelled: libgcc unwinds them, and their cleanup handlers allocate. */
#include "deep.h"

#include <pthread.h>
#include <unistd.h>

static int ready[2];

static void clean(void *levels)
{
    (void)levels;
    churn(4);
}

static void wait_here(void *unused)
{
    (void)unused;
    pthread_cleanup_push(clean, NULL);
    churn(1);
    if (write(ready[1], "x", 1) == 1)
        for (;;)
            pause();
    pthread_cleanup_pop(1);
}

static NOINLINE void keep_cleaning(unsigned levels)
{
    pthread_cleanup_push(clean, NULL);
    if (levels)
        keep_cleaning(levels - 1);
    else
        dive(4, wait_here, NULL);
    NO_TAIL_CALL;
    pthread_cleanup_pop(1);
}

static void *body(void *argument)
{
    keep_cleaning((unsigned)(unsigned long)argument % 8);
    return NULL;
}

int main(void)
{
    unsigned cancelled = 0;
    churn(1);
    if (pipe(ready))
        return 1;
    for (unsigned long i = 0; i < 24; i++) {
        pthread_t thread;
        void *result;
        char byte;
        pthread_create(&thread, NULL, body, (void *)i);
        if (read(ready[0], &byte, 1) != 1)
            return 1;
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("cancel: %u cancelled\n", cancelled);
    return 0;
}
