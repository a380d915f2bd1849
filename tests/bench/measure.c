/*
 * measure.c - the cost of a command, as accounted by the kernel (wait4).
 *
 *     measure RESULT TIMES [NAME=VALUE...] COMMAND [ARG...]
 *
 * Runs the command TIMES times with the variables added to its environment and writes to RESULT:
 * CPU time (user and system, of all that it waited for) of one run in microseconds, the largest
 * resident set of its processes in KiB, the minor page faults of all runs.  Small, so that what a child inherits of it does not show
 * in either.  Ends with the status of the first run that failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double microseconds(struct timeval t)
{
    return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

static int run(char **words, struct rusage *usage)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        while (*words && strchr(*words, '=') && **words != '/')
            putenv(*words++);
        execvp(*words, words);
        perror(*words);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, usage) != pid)
        return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 125;
    double cpu = 0;
    long resident = 0, faults = 0, times = strtol(argv[2], NULL, 10);
    for (long i = 0; i < times; i++) {
        struct rusage usage;
        int status = run(argv + 3, &usage);
        if (status != 0)
            return status;
        cpu += microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
        resident = usage.ru_maxrss > resident ? usage.ru_maxrss : resident;
        faults += usage.ru_minflt;
    }
    FILE *f = fopen(argv[1], "w");
    if (!f || fprintf(f, "%.0f %ld %ld\n", cpu / (double)times, resident, faults) < 0 ||
        fclose(f) != 0)
        return 125;
    return 0;
}
