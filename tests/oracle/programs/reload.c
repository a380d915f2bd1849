/*
 * Two libraries, loaded by turns at the same address, with the same code except for the size of its
 * frames: a cached rule for a return address there is no longer valid.
 */
#include "deep.h"

#include <dlfcn.h>

typedef void enter(unsigned levels, work *f, void *argument);

static void bottom(void *unused)
{
    (void)unused;
    churn(2);
}

static void load_and_call(void *argument)
{
    static void *first_place;
    static unsigned same;
    unsigned n = *(unsigned *)argument;
    void *library = dlopen(n % 2 ? "./reload_large.so" : "./reload_small.so", RTLD_NOW);
    enter *in = (enter *)dlsym(library, "enter");
    if (!first_place)
        first_place = (void *)in;
    same += first_place == (void *)in;
    for (unsigned i = 0; i < 4; i++)
        in(i, bottom, NULL);
    dlclose(library);
    churn(1);
    if (n == 59)
        printf("reload: %s\n", same > 10 ? "same place" : "never in the same place");
}

int main(void)
{
    churn(1);
    for (unsigned i = 0; i < 60; i++)
        dive(4 + i % 3, load_and_call, &i);
    return 0;
}
