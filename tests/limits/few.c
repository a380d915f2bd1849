/*
 * few.c - writes past the end of a block and loses another; needs no descriptor but stdout.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void few_faults(void)
{
    char *volatile block = malloc(9), *volatile lost = malloc(77);
    memset(block + 9, 1, 1);
    free(block);
    lost = NULL;
    (void)lost;
}

int main(void)
{
    few_faults();
    return write(1, "some\n", 5) == 5 ? 3 : 4;
}
