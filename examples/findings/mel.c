/* mel.c - memory leak: the only pointer is overwritten. */
#include <stdlib.h>

static char *name;

static void set_name(size_t bytes)
{
    name = malloc(bytes);
}

int main(void)
{
    set_name(20);
    set_name(30);
    free(name);
    name = NULL;
    return 0;
}
