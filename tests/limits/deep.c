/*
 * deep.c - a signal finds the main thread where its stack has never been deeper.
 *
 *     deep NUMBER    it sends itself the signal
 *     deep exit      another thread ends the program, by status 3
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE 4096u
#define DEPTH (64u * PAGE)
#define LEFT 700u /* bytes of the page */

static int waiting[2];

static void *end(void *unused)
{
    char c;
    if (read(waiting[0], &c, 1) != 1)
        abort();
    exit(3);
    return unused;
}

static __attribute__((noinline)) void act(int number)
{
    char c = 1;
    if (number) {
        kill(getpid(), number);
        return;
    }
    if (write(waiting[1], &c, 1) != 1)
        abort();
    for (;;)
        pause();
}

/* Deeper than libc and the loader have been, and almost down to the end of a page: the next frame begins another. */
static __attribute__((noinline)) int descend(int number)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = (here - DEPTH) / PAGE * PAGE;
    volatile char *room = alloca(here - end - LEFT);
    for (uintptr_t at = here - (uintptr_t)room; at >= PAGE; at -= PAGE)
        room[at - PAGE] = (char)number;
    room[0] = (char)number;
    act(number);
    return room[0];
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char *volatile block = malloc(10);
    int number = argc > 1 ? atoi(argv[1]) : 0;
    if (pipe(waiting) || !block || (!number && pthread_create(&thread, NULL, end, NULL)))
        return 1;
    kill(getpid(), 0); /* bound early, as binding uses a deep stack */
    getpid();
    if (write(waiting[1], "", 0))
        return 1;
    return descend(number) ? 4 : 5;
}
