/* rtc-build: shared */
/*
 * early.c - a library whose constructor, run before most others, execs another program or ends, in
 * the way that EARLY names.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *kept;
static char *const argv[] = {"sh", "-c", "echo early; exit 5", NULL};

static void __attribute__((constructor)) begin(void)
{
    const char *way = getenv("EARLY");
    char *const envp[] = {"PATH=/bin:/usr/bin", NULL};
    if (!way)
        return;
    if (strcmp(way, "fexecve") == 0)
        fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), argv, envp);
    if (strcmp(way, "execve") == 0)
        execve("/bin/sh", argv, envp);
    if (strncmp(way, "malloc", 6) == 0)
        kept = malloc(1);
    unsetenv("EARLY");
    if (strcmp(way, "malloc, _exit") == 0)
        _exit(write(1, "early\n", 6) == 6 ? 5 : 8);
    execlp(argv[0], argv[0], argv[1], argv[2], (char *)NULL);
    _exit(9);
}
