/*
 * bytes.c - blocks whose contents are known, for tests/report/heap_bytes.py.  Each is printed with its
 * address.  rtc-build: -g -O1
 *
 *   bytes HOW      HOW: kill (SIGKILL), exit, wait (for the end of standard input)
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_BYTES 1000
#define LARGE_BYTES 100000

struct node {
    struct node *next;
    char text[40];
};

static char *volatile kept[8];
static unsigned count;

static void *show(const char *name, void *block)
{
    printf("%s 0x%llx\n", name, (unsigned long long)(uintptr_t)block);
    kept[count++] = block;
    return block;
}

static struct node *node_make(const char *name, struct node *next)
{
    struct node *n = malloc(sizeof *n);

    n->next = next;
    memset(n->text, 0, sizeof n->text);
    snprintf(n->text, sizeof n->text, "the node %s", name);
    return show(name, n);
}

/* Byte i is i modulo 251. */
static char *numbers_make(const char *name, size_t bytes)
{
    unsigned char *p = malloc(bytes);

    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)(i % 251);
    return show(name, p);
}

static void damage_make(void)
{
    volatile char *after = show("after", malloc(21)), *before = show("before", malloc(500));
    volatile char *freed = show("freed", malloc(64));

    memset((char *)after, 'a', 21);
    for (int i = 21; i < 24; i++)
        after[i] = 'X';
    memset((char *)before, 'b', 500);
    before[-1] = 'Y';
    free((char *)freed);
    freed[8] = 'Z';
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "exit";

    node_make("first", node_make("second", NULL));
    numbers_make("long", LONG_BYTES);
    numbers_make("large", LARGE_BYTES);
    damage_make();
    fflush(stdout);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "wait") == 0)
        while (getchar() != EOF)
            ;
    return 0;
}
