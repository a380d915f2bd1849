/*
 * counter.c - prints the signals that it gets.
 *
 *     counter [wait]
 *
 * First line: "ready PID PARENT".  Then the name of each signal as it comes, until end of file on
 * standard input, which ends it with status 0.  `wait`: but not before at least one signal came.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t seen;

static void print_count(int sig)
{
    seen = 1;
    char line[32];
    int n = snprintf(line, sizeof line, "%s\n", sigabbrev_np(sig));
    (void)!write(1, line, (size_t)n);
}

int main(int argc, char **argv)
{
    static const int counted[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    struct sigaction sa = {.sa_handler = print_count};
    sigset_t none, all;
    char c;
    (void)argv;
    sigemptyset(&none);
    sigfillset(&all);
    sigfillset(&sa.sa_mask); /* lines do not interrupt each other */
    for (unsigned i = 0; i < sizeof counted / sizeof counted[0]; i++)
        sigaction(counted[i], &sa, NULL);
    printf("ready %d %d\n", getpid(), getppid());
    fflush(stdout);
    while (read(0, &c, 1) != 0)
        ;
    sigprocmask(SIG_SETMASK, &all, NULL);
    while (argc > 1 && !seen)
        sigsuspend(&none);
    return 0;
}
