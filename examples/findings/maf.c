/* maf.c - free inside a block: the pointer was advanced while the text was read. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *word = malloc(8);
    strcpy(word, "  word");
    while (*word == ' ')
        word++;
    free(word);
    return 0;
}
