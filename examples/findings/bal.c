/* bal.c - an alignment that is not a power of two. */
#include <malloc.h>
#include <stdlib.h>

int main(void)
{
    volatile size_t align = 24;
    free(memalign(align, 100));
    return 0;
}
