/*
 * surroundings.c - writes the environment of a program at its start into the file argv[1].
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Before anything is opened. */
static size_t list_descriptors(char *line, size_t room)
{
    size_t used = 0;
    struct stat st;
    for (int fd = 0; fd < 4096 && used + 64 < room; fd++)
        if (fstat(fd, &st) == 0)
            used += (size_t)snprintf(line + used, room - used, "descriptor %d %o %d\n", fd,
                                     st.st_mode & S_IFMT, fcntl(fd, F_GETFL) & O_ACCMODE);
    return used;
}

static void print_signals(FILE *out)
{
    sigset_t blocked, pending;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    for (int sig = 1; sig < 65; sig++) {
        struct sigaction sa;
        if (sigaction(sig, NULL, &sa) != 0)
            continue;
        fprintf(out, "signal %d%s%s%s\n", sig, sigismember(&blocked, sig) ? " blocked" : "",
                sigismember(&pending, sig) ? " pending" : "",
                sa.sa_handler == SIG_IGN   ? " ignored"
                : sa.sa_handler == SIG_DFL ? ""
                                           : " handled");
    }
}

static void print_process(FILE *out)
{
    char name[64] = "", cwd[4096] = "";
    int death = 0;
    mode_t mask = umask(0);
    prctl(PR_GET_NAME, name);
    prctl(PR_GET_PDEATHSIG, &death);
    if (!getcwd(cwd, sizeof cwd))
        strcpy(cwd, strerror(errno));
    fprintf(out,
            "group %d session %d name %s cwd %s umask %o dumpable %d death %d nnp %d nice %d\n",
            getpgrp(), getsid(0), name, cwd, mask, prctl(PR_GET_DUMPABLE), death,
            prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), getpriority(PRIO_PROCESS, 0));
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit(i, &limit);
        fprintf(out, "limit %d %ld %ld\n", i, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
}

int main(int argc, char **argv)
{
    static char descriptors[65536];
    list_descriptors(descriptors, sizeof descriptors);
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!out)
        return 1;
    fputs(descriptors, out);
    for (int i = 0; i < argc; i++)
        fprintf(out, "argument %s\n", argv[i]);
    for (char **e = environ; *e; e++)
        fprintf(out, "environment %s\n", *e);
    print_signals(out);
    print_process(out);
    return fclose(out) == 0 ? 0 : 1;
}
