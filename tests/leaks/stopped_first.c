/*
 * stopped_first.c - a library whose constructor runs before the runtime's, and registers an exit handler: it is
 * called after all of the program's, needs a thread, and frees the thread's block.
 */
/* rtc-build: shared -pthread */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_t thread;
static sem_t asked;
static void *volatile block;

static void *wait_for_end(void *unused)
{
    while (sem_wait(&asked))
        ;
    (void)!write(1, "at the end\n", 11);
    block = malloc(1201);
    return unused;
}

static void at_end(int status, void *unused)
{
    (void)status, (void)unused;
    sem_post(&asked);
    pthread_join(thread, NULL);
    free(block);
    block = NULL;
    (void)!write(1, "joined\n", 7);
}

__attribute__((constructor)) static void begin(void)
{
    if (strcmp(program_invocation_short_name, "stopped")) /* the launcher loads us, too */
        return;
    sem_init(&asked, 0, 0);
    if (pthread_create(&thread, NULL, wait_for_end, NULL))
        abort();
    on_exit(at_end, NULL);
}
