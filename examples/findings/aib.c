/* aib.c - possible leak: only a pointer to the inside of the block is left. */
#include <stdlib.h>

static char *cursor;

int main(void)
{
    cursor = malloc(100);
    cursor += 10;
    return 0;
}
