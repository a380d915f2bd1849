/*
 * copy_killed.c - with heap=file a forked child copies the heap; here it is killed during the copy.
 *
 *     copy_killed MIB [sandbox]
 *
 * The killer is another process: it sees the child's pid in shared memory before the child's first
 * instruction.  Prints "killed 1 forked in N ms": the parent must continue soon.
 */
#include "../conform/sandbox.h"

#include <linux/sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void killer(const _Atomic int *pid)
{
    while (!*pid)
        ;
    _exit(kill(*pid, SIGKILL) != 0);
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    _Atomic int *pid = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fork() == 0)
        killer(pid);
    size_t bytes = (size_t)atoi(argv[1]) << 20;
    memset(malloc(bytes), 1, bytes);
    if (argc > 2 && sandbox_enter())
        return 124;
    long begin = now_ms();
    long child = syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, 0, pid, 0, 0);
    if (child == 0)
        _exit(0);
    int status;
    long took = now_ms() - begin;
    if (waitpid((pid_t)child, &status, 0) != child)
        return 1;
    printf("killed %d forked in %ld ms\n", WIFSIGNALED(status), took);
    free(malloc(100));
    return 0;
}
