/* duf.c - double free: an error path frees what its caller frees as well. */
#include <stdlib.h>

static int parse(char *text)
{
    if (text[0] != '{') {
        free(text);
        return -1;
    }
    return 0;
}

int main(void)
{
    char *text = calloc(1, 16);
    if (parse(text) < 0)
        free(text);
    return 0;
}
