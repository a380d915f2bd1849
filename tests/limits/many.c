/*
 * many.c - as many blocks as it gets.
 *
 *     many COUNT BYTES
 *
 * Out of memory is no surprise here: it must be NULL and ENOMEM, and what it has must be whole.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t count = strtoul(argv[1], NULL, 10), bytes = strtoul(argv[2], NULL, 10), got = 0;
    uint8_t **block = calloc(count, sizeof *block);
    if (!block)
        return 4;
    for (; got < count; got++) {
        errno = 0;
        block[got] = malloc(bytes);
        if (!block[got])
            break;
        memset(block[got], (int)(got % 255), bytes);
    }
    if (got < count && errno != ENOMEM)
        return 5;
    for (size_t i = 0; i < got; i++) {
        for (size_t j = 0; j < bytes; j++)
            if (block[i][j] != i % 255)
                return 6;
        free(block[i]);
    }
    fprintf(stderr, "got %zu\n", got);
    puts(got == count ? "all" : "some");
    return 0;
}
