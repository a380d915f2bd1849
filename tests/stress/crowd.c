/*
 * crowd.c - processes whose areas cannot be freed must not delay others.
 *
 *     crowd losing | read
 *
 * losing: children that lose a block: the launcher keeps the first of them for readers of the run file. read:
 * ended parents whose records are still read by their living children.
 *
 * Then prints the time of the fastest of some children, in microseconds.  A child that waits does so for 50 ms
 * at least, on any machine, so one child that took less proves that there was no wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CROWD 100u
#define TIMED 20u

static int never[2]; /* a pipe whose other end is closed when main ends */

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "crowd: %d: %s\n", getpid(), what);
    _exit(9);
}

static void child(void (*act)(void))
{
    pid_t pid = fork();
    int status;

    must(pid >= 0, "fork");
    if (pid == 0) {
        act();
        _exit(0);
    }
    must(waitpid(pid, &status, 0) == pid && status == 0, "a child");
}

__attribute__((noinline)) static void lose(void)
{
    char *volatile block = malloc(40);

    must(block != NULL, "malloc");
    block = NULL;
}

static void leave_a_child(void)
{
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid)
        return;
    close(never[1]);
    must(read(never[0], &pid, 1) == 0, "the end");
    _exit(0);
}

/* A child without memory operations needs no area. */
static void allocate(void)
{
    free(malloc(40));
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    double fastest = 1e9;

    must(argc == 2 && pipe(never) == 0, "pipe");
    for (unsigned i = 0; i < CROWD; i++)
        child(strcmp(argv[1], "read") == 0 ? leave_a_child : lose);
    for (unsigned i = 0; i < TIMED; i++) {
        double since = now_us();
        child(allocate);
        if (now_us() - since < fastest)
            fastest = now_us() - since;
    }
    printf("fastest %.0f\n", fastest);
    return 0;
}
