/*
 * reclaim.c - many processes start many short-lived ones at the same time, so that all of them free
 * areas of ended processes; none may free one of a living process.
 *
 *     reclaim WORKERS CHILDREN
 *
 * A process checks that its records still exist by the sizes of its blocks.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD 200u

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "reclaim: %d: %s\n", getpid(), what);
    _exit(9);
}

__attribute__((noinline)) static void hold(void *held[HELD])
{
    for (unsigned i = 0; i < HELD; i++)
        held[i] = malloc(10 + i * 7);
}

static void check(void *held[HELD])
{
    for (unsigned i = 0; i < HELD; i++)
        must(held[i] && malloc_usable_size(held[i]) == 10 + i * 7, "records are lost");
}

static void child(void)
{
    void *held[HELD];
    hold(held);
    check(held);
    _exit(0);
}

static void work(unsigned long children)
{
    void *held[HELD];
    int status;
    hold(held);
    for (unsigned long i = 0; i < children; i++) {
        pid_t pid = fork();
        must(pid >= 0, "no process");
        if (pid == 0)
            child();
        must(waitpid(pid, &status, 0) == pid && status == 0, "a child failed");
        check(held);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    unsigned long workers = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
    unsigned long children = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    int status, failed = 0;
    for (unsigned long i = 0; i < workers; i++)
        if (fork() == 0)
            work(children);
    while (wait(&status) > 0)
        failed |= status;
    puts(failed ? "failed" : "all records kept");
    return failed != 0;
}
