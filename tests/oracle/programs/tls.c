/* Thread-local memory of libraries that are loaded late: the loader allocates it at the first use. */
#include "deep.h"

#include <dlfcn.h>
#include <pthread.h>

static void *library[2];

static void touch(void *sum)
{
    churn(2);
    for (int i = 0; i < 2; i++)
        *(unsigned *)sum += ((unsigned (*)(void))dlsym(library[i], "touch"))();
    churn(2);
}

static void *body(void *argument)
{
    unsigned sum = 0;
    dive((unsigned)(unsigned long)argument % 20, touch, &sum);
    return (void *)(unsigned long)sum;
}

int main(void)
{
    unsigned long sum = 0;
    churn(1);
    for (unsigned long i = 0; i < 20; i++) {
        library[0] = dlopen("./tls_one.so", RTLD_NOW);
        library[1] = dlopen("./tls_two.so", RTLD_LAZY);
        for (unsigned long k = 0; k < 3; k++) {
            pthread_t thread;
            void *result;
            pthread_create(&thread, NULL, body, (void *)(i + k));
            pthread_join(thread, &result);
            sum += (unsigned long)result;
        }
        dlclose(library[i % 2]);
        dlclose(library[1 - i % 2]);
    }
    printf("tls: %lu\n", sum);
    return 0;
}
