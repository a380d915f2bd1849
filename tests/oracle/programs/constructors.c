/* Constructors and destructors of the program and of a library, and atexit handlers. */
#include "deep.h"

void library_use(void);

static void some(void *unused)
{
    (void)unused;
    churn(10);
}

static __attribute__((constructor)) void begin(void)
{
    for (unsigned i = 0; i < 10; i++)
        dive(i, some, NULL);
}

static __attribute__((destructor)) void end(void)
{
    for (unsigned i = 0; i < 10; i++)
        dive(i, some, NULL);
}

static void last_but_one(void)
{
    dive(6, some, NULL);
}

int main(void)
{
    atexit(last_but_one);
    library_use();
    puts("constructors: main");
    return 0;
}
