/*
 * jail.c - enters an empty root directory and drops its user id; allocates and forks there.
 *
 *     jail DIRECTORY
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void churn(void)
{
    static void *block[20000];
    for (unsigned i = 0; i < 20000; i++) {
        block[i] = malloc(16 + i % 900);
        if (!block[i])
            _exit(20);
        memset(block[i], 1, 16);
    }
    for (unsigned i = 0; i < 20000; i++)
        free(block[i]);
}

__attribute__((noinline)) static void jail_leave(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *volatile p = malloc(91);
        if (!p)
            _exit(21);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    if (chroot(argv[1]) != 0 || chdir("/") != 0)
        return 10;
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        return 11;
    churn();
    jail_leave(4);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        churn();
        jail_leave(6);
        exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 12;
    puts("left 10");
    return 0;
}
