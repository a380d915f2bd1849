/* wua.c - bad write: strlen does not count the terminating NUL. */
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text));
    return copy ? strcpy(copy, text) : NULL;
}

int main(void)
{
    char *copy = copy_of("0123456789abcdef");
    free(copy);
    return 0;
}
