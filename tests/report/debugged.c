/*
 * debugged.c - a program for sessions of gdb: errors in main and in a thread, and lost blocks.
 *
 *   free      a double free
 *   thread    in a thread: free of memory that is no block
 *   leak      three blocks are lost; then stop_here is called
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))

static void *volatile block;
static char no_block[64];

KEEP static void first_free(void)
{
    free(block);
    __asm__ volatile("");
}

KEEP static void second_free(void)
{
    free(block);
    __asm__ volatile("nop"); /* else the compiler merges it with first_free */
}

KEEP static void *in_thread(void *unused)
{
    void *volatile p = no_block + 16;
    free(p);
    return unused;
}

KEEP void stop_here(void);
KEEP void stop_here(void)
{
    __asm__ volatile("");
}

KEEP static void lose(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        block = malloc(40);
    block = NULL;
}

KEEP static void clear_stack(void)
{
    volatile char dead[4096];
    memset((char *)dead, 0, sizeof dead);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        pthread_t thread;
        if (strcmp(argv[i], "free") == 0) {
            block = malloc(7);
            first_free();
            second_free();
        } else if (strcmp(argv[i], "thread") == 0) {
            if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
                return 1;
        } else {
            lose(3);
            clear_stack();
            stop_here();
        }
    }
    return 0;
}
