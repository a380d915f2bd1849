/*
 * demo.c - the program that tools/run shows without arguments: it makes every error that is
 * detected, and continues.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct word {
    struct word *next;
    char *text;
};

static struct word *words; /* kept to the end: blocks in use */
static int table[8];
static char *volatile line, *volatile trimmed, *volatile cursor;

/* C23: frees a block of known size; today's libc has no such function, rtcheck has. */
extern void free_sized(void *block, size_t bytes) __attribute__((weak));

/* Hide a value from the compiler. */
static void *hidden(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static NOINLINE char *copy_of(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (!copy)
        exit(1);
    return hidden(memcpy(copy, text, bytes));
}

static NOINLINE void remember(const char *text)
{
    struct word *w = malloc(sizeof *w);
    if (!w)
        exit(1);
    w->text = copy_of(text);
    w->next = words;
    words = w;
}

/* ---- the mistakes --------------------------------------------------------------------------- */

static NOINLINE void free_twice(void)
{
    char *text = copy_of("freed twice");
    free(text);
    free(hidden(text));
}

static NOINLINE void free_inside(void)
{
    char *text = trimmed = copy_of("   not trimmed");
    while (*text == ' ')
        text++;
    free(hidden(text));
}

static NOINLINE void free_what_is_static(void)
{
    free(hidden(&table[3]));
}

static NOINLINE void free_with_a_wrong_size(void)
{
    char *text = copy_of("sixteen letters.");
    if (free_sized)
        free_sized(text, 16); /* and its end */
}

static NOINLINE void write_past_end(void)
{
    char *text = copy_of("01234567"), *end = text + 9;
    *(char *)hidden(end) = '!';
    free(text);
}

static NOINLINE void write_before(void)
{
    char *text = copy_of("a line"), *before = text - 1;
    *(char *)hidden(before) = '>';
    free(text);
}

static NOINLINE void write_after_free(void)
{
    char *text = copy_of("gone");
    free(text);
    *(char *)hidden(text) = 'G';
}

static NOINLINE void request_too_much(void)
{
    free(malloc((size_t)hidden((void *)((size_t)1 << 62))));
}

static NOINLINE void lose(void)
{
    line = copy_of("nobody will free this one");
    line = hidden(NULL);
}

static NOINLINE void advance(void)
{
    cursor = copy_of("key=value");
    while (*cursor != '=')
        cursor++;
}

int main(void)
{
    static const char *const kept[] = {"what", "is", "still", "in", "use"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        remember(kept[i]);
    free_twice();
    free_inside();
    free_what_is_static();
    free_with_a_wrong_size();
    write_past_end();
    write_before();
    write_after_free();
    request_too_much();
    advance();
    lose();
    printf("demo: ten mistakes, and here we are\n");
    return 0;
}
