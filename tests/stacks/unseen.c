/*
 * A child by a raw clone, which the runtime does not intercept, allocates at the same site as its
 * parent: the stack cache of the parent's thread is invalid in the child.
 *
 * rtc-build: -g -Wl,--build-id
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[3];

static __attribute__((noinline)) void keeps(size_t i, size_t bytes)
{
    kept[i] = malloc(bytes);
}

int main(void)
{
    int status = 0;
    pid_t child = 0;
    for (size_t i = 0; i < 3; i++) {
        keeps(i, 4101 + i); /* twice by the parent, then by the child, all from here */
        if (i == 1)
            child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (i == 1 && child != 0)
            break;
    }
    if (child == 0)
        return 0;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
