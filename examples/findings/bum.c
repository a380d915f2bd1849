/* bum.c - bad unmapping: the same range twice. */
#include <sys/mman.h>

int main(void)
{
    void *p = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 8192);
    munmap(p, 8192);
    return 0;
}
