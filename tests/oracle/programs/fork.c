/* Children that continue on their parent's stack, children of those, and vfork. */
#include "deep.h"

#include <sys/wait.h>
#include <unistd.h>

static int failed;

static void wait_for(pid_t child)
{
    int status = 1;
    waitpid(child, &status, 0);
    failed |= status;
}

static void spread(void *argument)
{
    unsigned generation = *(unsigned *)argument;
    churn(5);
    pid_t child = fork();
    if (!child) {
        unsigned next = generation + 1;
        churn(5);
        if (generation < 2)
            dive(4, spread, &next);
        churn(5);
        _exit(failed);
    }
    churn(5);
    wait_for(child);
    pid_t quick = vfork();
    if (!quick)
        _exit(0);
    churn(5);
    wait_for(quick);
}

int main(void)
{
    for (unsigned i = 0; i < 8; i++) {
        unsigned generation = 0;
        dive(i + 3, spread, &generation);
    }
    printf("fork: %s\n", failed ? "a child failed" : "done");
    return failed;
}
