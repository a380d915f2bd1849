/* rze.c - realloc of a block with size 0, which C23 forbids. */
#include <stdlib.h>

int main(void)
{
    volatile size_t left = 0;
    char *list = malloc(10);
    list = realloc(list, left);
    free(list);
    return 0;
}
