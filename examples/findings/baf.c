/* baf.c - invalid free: the default value was not allocated. */
#include <stdlib.h>
#include <string.h>

static char fallback[] = "C";

static char *language(const char *name)
{
    return name ? strdup(name) : fallback;
}

int main(void)
{
    char *l = language(NULL);
    free(l);
    return 0;
}
