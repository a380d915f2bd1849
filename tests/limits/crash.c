/*
 * crash.c - leaves a core dump in which its heap is to be found.
 *
 *     crash [wait]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 300000u

struct object {
    int number;
    char text[40];
    struct object *next;
};

struct object *known; /* looked up by the debugger */
static void *block[BLOCKS];
static const size_t usual[] = {24, 40, 56, 100, 120, 200, 500, 1000}; /* sizes that structs have */

static struct object *object_new(int number, const char *text, struct object *next)
{
    struct object *o = malloc(sizeof *o);
    if (!o)
        exit(1);
    o->number = number;
    strcpy(o->text, text);
    o->next = next;
    return o;
}

int main(int argc, char **argv)
{
    (void)argv;
    for (unsigned i = 0; i < BLOCKS; i++) {
        size_t bytes = usual[i % 8];
        block[i] = malloc(bytes);
        if (!block[i])
            return 1;
        memset(block[i], (int)i, bytes);
    }
    known = object_new(4711, "first in the core", object_new(4712, "second in the core", NULL));
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        pause();
    }
    abort();
}
