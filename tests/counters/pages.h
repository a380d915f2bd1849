/*
 * pages.h - for tests: cause a thousand page faults.
 */
#ifndef PAGES_H
#define PAGES_H

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 1000, PAGE = 4096 };

/* PAGES faults, at new pages that are unmapped again. */
static inline void touch_pages(void)
{
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        _exit(100);
    madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++)
        p[i * PAGE] = 1;
    munmap(p, PAGES * PAGE);
}

#endif
