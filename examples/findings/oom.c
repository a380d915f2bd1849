/* oom.c - allocation failed: a negative length became a large size. */
#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argv;
    long length = argc - 2;
    char *p = malloc((size_t)length);
    return p != NULL;
}
