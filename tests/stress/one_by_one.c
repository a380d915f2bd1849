/*
 * one_by_one.c - threads one after the other, as a server has them that starts one for each connection.
 *
 *     one_by_one THREADS
 *
 * Thread OF_BLOCK ("writer") writes behind a block that stays, which is found at exit; thread OF_ERROR
 * ("freer") frees a block twice.  Prints by how many KiB the process grew after the first quarter.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OF_BLOCK 7u
#define OF_ERROR 9u

static char *volatile damaged;
static void *volatile passed;

static void name_this(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

static void *serve(void *arg)
{
    unsigned long number = (unsigned long)arg;
    if (number == OF_BLOCK)
        name_this("writer");
    if (number == OF_ERROR)
        name_this("freer");
    passed = malloc(40); /* the runtime sees the thread here */
    if (number == OF_BLOCK) {
        damaged = malloc(9);
        damaged[9] = 1;
    }
    free(passed);
    if (number == OF_ERROR)
        free(passed);
    return NULL;
}

static long resident_kib(void)
{
    char text[64] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!f || !fgets(text, sizeof text, f))
        exit(3);
    fclose(f);
    sscanf(text, "%*d %ld", &pages);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    unsigned long threads = strtoul(argv[1], NULL, 10);
    long before = 0;
    for (unsigned long i = 2; i < threads + 2; i++) {
        pthread_t id;
        if (i == threads / 4)
            before = resident_kib();
        if (pthread_create(&id, NULL, serve, (void *)i) != 0)
            return 4;
        pthread_join(id, NULL);
    }
    printf("grew %ld\n", resident_kib() - before);
    return 0;
}
