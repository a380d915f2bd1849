/*
 * faults.c - touches 1000 new pages in each of: the first thread, a second one, a forked child, and the
 * program that this child execs.  Ends with 5.
 *
 * rtc-build: -pthread
 */
#include "pages.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void *touch(void *unused)
{
    touch_pages();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    touch_pages();
    if (argc > 1)
        return 0;
    if (pthread_create(&thread, NULL, touch, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 100;
    if (fork() == 0) {
        touch_pages();
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        _exit(100);
    }
    wait(NULL);
    return 5;
}
