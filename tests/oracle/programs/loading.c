/*
 * One thread loads and unloads two libraries in the same place, and calls them; others allocate
 * meanwhile, through libraries that stay and through libc.
 */
#include "deep.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef void enter(unsigned levels, work *f, void *argument);

static _Atomic bool done;
static _Atomic unsigned long compared;

static void bottom(void *unused)
{
    (void)unused;
    churn(1);
}

static int compare(const void *a, const void *b)
{
    compared++;
    churn(1);
    return *(const int *)a - *(const int *)b;
}

static void sort(void *unused)
{
    (void)unused;
    int value[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    qsort(value, 8, sizeof value[0], compare);
}

static void *allocate(void *unused)
{
    for (unsigned i = 0; !done; i++)
        dive(i % 9, sort, unused);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    churn(1);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, allocate, NULL);
    for (unsigned loads = 0; loads < 100 || compared < 1000; loads++) {
        void *library = dlopen(loads % 2 ? "./loading_large.so" : "./loading_small.so", RTLD_NOW);
        enter *in = (enter *)dlsym(library, "enter");
        for (unsigned i = 0; i < 6; i++)
            in(i, bottom, NULL);
        dlclose(library);
    }
    done = true;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    puts("loading: 100 times and more");
    return 0;
}
