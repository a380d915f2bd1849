/*
 * faults.c - touches 1000 new pages in each of: the first thread, a second one, a forked child, and what that
 * becomes by exec.  Ends with 5.
 *
 * rtc-build: -pthread
 */
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 1000, PAGE = 4096 };

static void *touch(void *unused)
{
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        _exit(100);
    madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++)
        p[i * PAGE] = 1;
    munmap(p, PAGES * PAGE);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    touch(NULL);
    if (argc > 1)
        return 0;
    if (pthread_create(&thread, NULL, touch, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 100;
    if (fork() == 0) {
        touch(NULL);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        _exit(100);
    }
    wait(NULL);
    return 5;
}
