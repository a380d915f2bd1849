/*
 * threads_locks.c - the programs of threads.c whose threads pass blocks to each other: by queues and under
 * locks.
 */
#include "threads.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct job {
    struct job *next;
    char *text;
};

static struct job *queue;
static int queue_closed;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;

static void *pool_body(void *unused)
{
    pthread_mutex_lock(&lock);
    while (queue || !queue_closed) {
        struct job *job = queue;
        if (!job) {
            pthread_cond_wait(&queue_changed, &lock);
            continue;
        }
        queue = job->next;
        pthread_mutex_unlock(&lock);
        plant();
        free(job->text);
        free(job);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static void pool(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        thread[i] = start(pool_body, NULL);
    for (int i = 0; i <= 500; i++) {
        struct job *job = i < 500 ? block(sizeof *job) : NULL;
        pthread_mutex_lock(&lock);
        if (job) {
            *job = (struct job){queue, strdup("a job")};
            queue = job;
        }
        queue_closed = !job;
        pthread_cond_broadcast(&queue_changed);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < THREADS; i++)
        join(thread[i]);
}

static sem_t full, empty;
static void *passed;

static void *consume(void *unused)
{
    for (int i = 0; i < 200; i++) {
        sem_wait(&full);
        free(passed);
        passed = NULL;
        sem_post(&empty);
    }
    plant();
    return unused;
}

static void semaphores(void)
{
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 1);
    pthread_t thread = start(consume, NULL);
    for (int i = 0; i < 200; i++) {
        sem_wait(&empty);
        passed = block(40 + (size_t)i);
        sem_post(&full);
    }
    join(thread);
}

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static char *table[64];

static void *rwlock_body(void *unused)
{
    for (int i = 0; i < 400; i++) {
        pthread_rwlock_wrlock(&table_lock);
        free(table[i % 64]);
        table[i % 64] = block(30);
        pthread_rwlock_unlock(&table_lock);
        pthread_rwlock_rdlock(&table_lock);
        char *copy = strdup(table[i % 64] ? "there" : "gone");
        pthread_rwlock_unlock(&table_lock);
        free(copy);
    }
    plant();
    return unused;
}
static void rwlock(void)
{
    crowd(rwlock_body);
} /* the table is held at the end */

static void *robust_body(void *mutex)
{
    plant();
    pthread_mutex_lock(mutex);
    return NULL; /* and it never unlocks it */
}

static void robust(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex = block(sizeof *mutex);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    join(start(robust_body, mutex));
    if (pthread_mutex_lock(mutex) != EOWNERDEAD)
        abort();
    pthread_mutex_consistent(mutex);
    pthread_mutex_unlock(mutex);
    pthread_mutex_destroy(mutex);
    free(mutex);
}

static pthread_barrier_t phase;

static void *barrier_body(void *unused)
{
    static char *slot[THREADS];
    static _Atomic int next;
    int own = next++;
    for (int i = 0; i < 20; i++) {
        slot[own] = block(100);
        pthread_barrier_wait(&phase);
        free(slot[(own + 1) % THREADS]); /* another's */
        pthread_barrier_wait(&phase);
    }
    plant();
    memset(&slot[own], 0, sizeof slot[own]);
    return unused;
}

static void barrier(void)
{
    pthread_barrier_init(&phase, NULL, THREADS);
    crowd(barrier_body);
}

static char **once_table;
static void make_table(void)
{
    once_table = calloc(20, sizeof *once_table);
}

static void drop_table(void)
{
    for (int i = 0; i < 20; i++)
        free(once_table[i]);
    free(once_table);
    once_table = NULL;
}

static void *once_body(void *unused)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        once_table[i] = realloc(once_table[i], 16 + (size_t)i);
        pthread_mutex_unlock(&lock);
    }
    plant();
    return unused;
}

static void once(void)
{
    crowd(once_body);
    atexit(drop_table); /* with _exit the table is still held */
}

const struct program lock_programs[] = {
    {"pool", pool},     {"semaphores", semaphores}, {"rwlock", rwlock},
    {"robust", robust}, {"barrier", barrier},       {"once", once},
    {NULL, NULL},
};
