/*
 * early_thread.c - a library whose constructor begins a thread, before that of the runtime runs.
 *
 * rtc-build: shared -pthread
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void early_thread_raw_pair(void);

static sem_t asked, answered;

static void *serve(void *unused)
{
    for (;;) {
        while (sem_wait(&asked))
            ;
        long at = syscall(SYS_mmap, NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == -1 || syscall(SYS_munmap, at, 8192))
            abort();
        sem_post(&answered);
    }
    return unused;
}

static void __attribute__((constructor)) begin(void)
{
    pthread_t thread;
    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
    if (pthread_create(&thread, NULL, serve, NULL))
        abort();
}

void early_thread_raw_pair(void)
{
    sem_post(&asked);
    while (sem_wait(&answered))
        ;
}
