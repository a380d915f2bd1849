/*
 * descriptors.c - does the runtime leave the program's descriptors alone?
 *
 *     descriptors first FILE         started without 0, 1 and 2: its first files get these numbers
 *     descriptors close SELF         closes every descriptor, allocates, forks, runs SELF again
 *
 * `first` writes into FILE, by descriptor 0, the list of its descriptors after many allocations.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 30000u

static void *block[BLOCKS];

static void churn(void)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        block[i] = malloc(16 + i % 700);
        if (!block[i])
            _exit(20);
        memset(block[i], 1, 16);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(block[i]);
}

__attribute__((noinline)) static void descriptors_leave(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *volatile p = malloc(91);
        if (!p)
            _exit(21);
    }
}

/* List open descriptors by one call per number, which opens none. */
static void list_open(char *line, size_t room)
{
    size_t used = 0;
    for (int fd = 0; fd < 4096 && used + 16 < room; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            used += (size_t)snprintf(line + used, room - used, "%d ", fd);
}

static int first(const char *name)
{
    char line[1000] = "";
    int a = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    int b = open("/dev/null", O_RDWR), c = open("/dev/null", O_RDWR);
    struct stat before, after;
    if (a != 0 || b != 1 || c != 2 || fstat(0, &before) != 0)
        return 30 + a + b + c;
    churn();
    pid_t pid = fork();
    if (pid == 0) {
        churn();
        _exit(0);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 31;
    if (fstat(0, &after) != 0 || after.st_ino != before.st_ino || after.st_size != 0)
        return 32;
    list_open(line, sizeof line);
    return write(0, line, strlen(line)) == (ssize_t)strlen(line) ? 0 : 33;
}

static int close_all(const char *program)
{
    int status;
    if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
        return 40;
    churn();
    int null = open("/dev/null", O_RDWR);
    if (null != 0)
        return 41;
    descriptors_leave(5);
    pid_t pid = fork();
    if (pid == 0) {
        churn();
        descriptors_leave(7);
        execl(program, program, "leave", (char *)NULL);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid)
        return 42;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 43;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "first") == 0)
        return first(argv[2]);
    if (argc == 3 && strcmp(argv[1], "close") == 0)
        return close_all(argv[2]);
    churn();
    descriptors_leave(11);
    return 0;
}
