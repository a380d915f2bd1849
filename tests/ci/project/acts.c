/*
 * acts.c - a program with planted mistakes: one for each letter of its argument, or of ACTS.
 *
 * l leaks a block, h one with an indirectly lost block, p keeps only an interior pointer, k keeps
 * one; d frees twice, m frees an address inside a block, x frees foreign memory, w writes past the
 * end, f leaks in a child.  Each is a function of its own, to have its own stack.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef ACTS
#define ACTS ""
#endif

static char *volatile kept, *volatile pointer_into;
static char own[16];

__attribute__((noinline)) static void leak(void)
{
    memset(malloc(26), 1, 26);
}

__attribute__((noinline)) static void leak_with_indirect(void)
{
    void *volatile *owner = malloc(32);
    *owner = malloc(48);
    memset(*owner, 2, 48);
}

__attribute__((noinline)) static void keep_inside(void)
{
    pointer_into = (char *)malloc(40) + 8;
}

__attribute__((noinline)) static void keep(void)
{
    kept = malloc(50);
}

__attribute__((noinline)) static void free_twice(void)
{
    void *block = malloc(12);
    free(block);
    free(block);
}

__attribute__((noinline)) static void free_inside(void)
{
    char *block = malloc(15);
    free(block + 3);
    free(block);
}

__attribute__((noinline)) static void free_what_is_static(void)
{
    free(own + (kept != NULL));
}

__attribute__((noinline)) static void write_past_end(void)
{
    volatile char *block = malloc(9);
    block[9] = '!';
    free((void *)block);
}

__attribute__((noinline)) static void in_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        leak();
        exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Arguments passed on the stack before must not be found as pointers. */
__attribute__((noinline)) static void wipe_stack(void)
{
    volatile char bytes[4096];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = 0;
}

int main(int argc, char **argv)
{
    static const struct {
        char letter;
        void (*act)(void);
        /* clang-format off */
    } acts[] = {{'l', leak}, {'h', leak_with_indirect}, {'p', keep_inside}, {'k', keep}, {'d', free_twice},
                {'m', free_inside}, {'x', free_what_is_static}, {'w', write_past_end}, {'f', in_child}};
    /* clang-format on */

    for (const char *letter = argc > 1 ? argv[1] : ACTS; *letter; letter++)
        for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++)
            if (acts[i].letter == *letter)
                acts[i].act();
    wipe_stack();
    return 0;
}
