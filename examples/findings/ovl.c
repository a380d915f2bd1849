/* ovl.c - overlap: memcpy closes a gap, where only memmove may. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_first(char *text, size_t bytes)
{
    memcpy(text, text + 1, bytes - 1);
}

int main(void)
{
    char *text = strdup("/a/path/to/a/file");
    if (!text)
        return 1;
    drop_first(text, strlen(text) + 1);
    puts(text);
    free(text);
    return 0;
}
