/*
 * demo.c - what tools/run shows without arguments: some blocks freed, some left in use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    struct word *next;
    char *text;
};

static struct word *words; /* kept to the end: blocks in use */

static void remember(const char *text)
{
    struct word *w = malloc(sizeof *w);
    if (!w)
        exit(1);
    w->text = strdup(text);
    w->next = words;
    words = w;
}

/* Reads into a buffer that grows: every step gives back the one before. */
static size_t measure(void)
{
    char *line = NULL;
    size_t used = 0;
    for (size_t room = 16; room <= 65536; room *= 2) {
        char *longer = realloc(line, room);
        if (!longer)
            exit(1);
        memset(longer + used, '.', room - used);
        line = longer;
        used = room;
    }
    free(line);
    return used;
}

int main(void)
{
    static const char *const kept[] = {"what", "is", "still", "in", "use"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        remember(kept[i]);

    size_t n = 0;
    for (struct word *w = words; w; w = w->next)
        n++;
    printf("demo: %zu words kept, %zu bytes used and given back\n", n, measure());
    return 0;
}
