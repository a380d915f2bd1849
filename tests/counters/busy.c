/*
 * busy.c - allocates and frees, in a way whose costs are to be told.
 *
 *     busy plain | threads | forks | killed | forbidden
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS 50000
#define MOST 4

static void *pairs(void *unused)
{
    for (int i = 0; i < PAIRS; i++)
        free(malloc(64));
    return unused;
}

static void threads(void)
{
    pthread_t t[MOST];
    for (int i = 0; i < MOST; i++)
        if (pthread_create(&t[i], NULL, pairs, NULL) != 0)
            abort();
    for (int i = 0; i < MOST; i++)
        pthread_join(t[i], NULL);
}

static void forks(void)
{
    for (int i = 0; i < MOST; i++)
        if (fork() == 0) {
            pairs(NULL);
            exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pairs(NULL);
    if (strcmp(how, "threads") == 0)
        threads();
    if (strcmp(how, "forks") == 0)
        forks();
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(how, "forbidden") == 0)
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    pairs(NULL);
    return 0;
}
