/*
 * exits.c - a program without errors that ends while its threads allocate, write and free.
 *
 *     exits [THREADS]: so many, which only free blocks
 */
/* rtc-build: -pthread */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 64

static void *work(void *seed_)
{
    uint32_t seed = (uint32_t)(uintptr_t)seed_;
    char *block[SLOTS] = {0};
    for (;;) {
        seed = seed * 1103515245u + 12345;
        char **slot = &block[seed >> 16 & (SLOTS - 1)];
        size_t bytes = 1 + (seed >> 8) % 3000 * (seed % 37 ? 1 : 100);
        switch (seed >> 22 & 3) {
        case 0:
            free(*slot);
            *slot = NULL;
            continue;
        case 1:
            *slot = realloc(*slot, bytes);
            break;
        default:
            free(*slot);
            *slot = seed & 1u << 24 ? calloc(1, bytes) : malloc(bytes);
        }
        if (!*slot)
            abort();
        memset(*slot, 1, bytes);
    }
    return NULL;
}

static void *free_only(void *unused)
{
    for (;;) {
        char *volatile block = malloc(100);
        free(block);
    }
    return unused;
}

int main(int argc, char **argv)
{
    uintptr_t threads = argc > 1 ? (uintptr_t)atoi(argv[1]) : 4;
    const struct timespec a_while = {.tv_nsec = 20000000}; /* any moment is as good */
    pthread_t thread;
    for (uintptr_t i = 1; i <= threads; i++)
        if (pthread_create(&thread, NULL, argc > 1 ? free_only : work, (void *)i))
            abort();
    nanosleep(&a_while, NULL);
    return 0;
}
