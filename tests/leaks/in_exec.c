/*
 * in_exec.c - behind the runtime: an exec that is interrupted by a signal, and fails.
 */
/* rtc-build: shared */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    (void)file, (void)argv, (void)envp;
    raise(SIGALRM);
    errno = EACCES;
    return -1;
}
