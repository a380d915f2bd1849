/*
 * atfork_allocates.c - a library whose fork handlers allocate and free.
 *
 * rtc-build: shared
 *
 * Preloaded behind the runtime, so that its constructor runs, and registers, before the runtime's:
 * its prepare handler runs after the runtime's, the two others before.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t one_fork = PTHREAD_MUTEX_INITIALIZER; /* held across a fork */
static char *kept;                                           /* from one handler to the next one */

static void swap(size_t bytes)
{
    char *fresh = malloc(bytes);
    if (!fresh)
        abort();
    memset(fresh, 1, bytes);
    free(kept);
    kept = fresh;
}

static void before(void)
{
    pthread_mutex_lock(&one_fork);
    swap(300);
}

static void in_parent(void)
{
    swap(3000);
    pthread_mutex_unlock(&one_fork);
}

static void in_child(void)
{
    swap(70000);
    pthread_mutex_unlock(&one_fork);
}

__attribute__((constructor)) static void enrol(void)
{
    pthread_atfork(before, in_parent, in_child);
}
