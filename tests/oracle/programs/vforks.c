/* Children that have their parent's memory, and its stack, and allocate before they exec or end. */
#include "deep.h"

#include <sys/wait.h>
#include <unistd.h>

static unsigned children;

static void in_child(void *unused)
{
    (void)unused;
    churn(3);
}

static void parent(void *argument)
{
    unsigned n = *(unsigned *)argument;
    int status;
    churn(2);
    pid_t child = vfork();
    if (!child) {
        dive(n % 8, in_child, NULL);
        if (n % 30 == 0)
            execl("/bin/true", "true", (char *)NULL);
        _exit(0);
    }
    churn(2);
    children += waitpid(child, &status, 0) == child && status == 0;
    churn(1);
}

int main(void)
{
    churn(1);
    for (unsigned i = 0; i < 60; i++)
        dive(2 + i % 6, parent, &i);
    printf("vforks: %u children\n", children);
    return 0;
}
