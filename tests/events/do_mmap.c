/*
 * do_mmap.c - a library that maps; loaded by do_load.c.
 *
 * rtc-build: shared
 */
#include <sys/mman.h>

void *do_mmap(unsigned long bytes);
void *do_mmap(unsigned long bytes)
{
    return mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
