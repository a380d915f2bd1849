/*
 * pager.c - the user's $PAGER for the output of `report` and `show` on a terminal.
 *
 * While it runs, standard output is a pipe to it.  It inherits the terminal and must be waited for.
 * A user who quits it early closes the pipe, which is no error.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

static const char *pager_name(void)
{
    const char *name = getenv("PAGER");

    return name && *name && strcmp(name, "cat") != 0 && isatty(STDOUT_FILENO) ? name : NULL;
}

static void pager_run(const char *name, int input)
{
    dup2(input, STDIN_FILENO);
    signal(SIGPIPE, SIG_DFL);
    setenv("LESS", "FRX", 0); /* quit if one screen suffices, colours, no clearing */
    execl("/bin/sh", "sh", "-c", name, NULL);
    _exit(127);
}

bool pager_start(struct pager *p)
{
    const char *name = pager_name();
    int ends[2];

    *p = (struct pager){.terminal = -1};
    if (!name || pipe2(ends, O_CLOEXEC))
        return false;
    fflush(stdout);
    p->terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    p->pid = p->terminal < 0 ? -1 : fork();
    if (p->pid == 0)
        pager_run(name, ends[0]);
    if (p->pid > 0)
        dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (p->pid > 0) {
        p->pipe_action = signal(SIGPIPE, SIG_IGN);
        return true;
    }
    if (p->terminal >= 0)
        close(p->terminal);
    return false;
}

bool pager_end(struct pager *p)
{
    int status = 0;

    fflush(stdout);
    clearerr(stdout);
    dup2(p->terminal, STDOUT_FILENO); /* closes the pipe: the pager reads its end */
    close(p->terminal);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    signal(SIGPIPE, p->pipe_action);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}
