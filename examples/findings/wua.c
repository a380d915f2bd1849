/* wua.c - bad writes: strlen does not count the terminating NUL.  strcpy is seen at the call, a store afterwards. */
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text));
    return copy ? strcpy(copy, text) : NULL;
}

static char *filled(size_t bytes)
{
    char *block = malloc(bytes);
    for (size_t i = 0; block && i <= bytes; i++)
        block[i] = '-';
    return block;
}

int main(void)
{
    free(copy_of("0123456789abcdef"));
    free(filled(24));
    return 0;
}
