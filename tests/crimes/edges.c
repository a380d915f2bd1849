/*
 * edges.c - writes one byte at an offset of a block.  Only the runtime's own placement of blocks gives the
 * block neighbours.
 *
 *     edges HOW BYTES OFFSET [VALUE]
 *
 * HOW: a word of malloc, aligned (to a page), calloc; then "free" or "exit": is the block freed, or in use at
 * the end?  VALUE is written, 0 if it is missing; "none": nothing is.
 * The block is the first of its size class: its slab is new.
 *
 * rtc-build: -O0 -g -fno-builtin
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static char *volatile kept;

static char *make(const char *how, size_t bytes)
{
    if (!strncmp(how, "aligned", 7))
        return memalign(4096, bytes);
    return !strncmp(how, "calloc", 6) ? calloc(1, bytes) : malloc(bytes);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 125;
    const char *how = argv[1], *value = argc > 4 ? argv[4] : "0";
    volatile char *p = kept = make(how, strtoull(argv[2], NULL, 10));
    if (!p)
        return 1;
    if (strcmp(value, "none") != 0)
        p[strtol(argv[3], NULL, 10)] = (char)strtol(value, NULL, 0);
    if (strstr(how, "free"))
        free(kept);
    return 0;
}
