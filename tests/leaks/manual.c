/*
 * manual.c - small leaks from a debugger's manual; manual.py has the expected reports.
 */
/* rtc-build: -fno-optimize-sibling-calls */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static char *volatile string;

/* The only pointer is moved on. */
static NOINLINE void advance(void)
{
    string = malloc(5);
    strcpy(string, "abcd");
    string++;
}

/* The only pointer is set to another value. */
static NOINLINE void forget(void)
{
    char *volatile only = malloc(7);
    only = NULL;
    (void)only;
}

/* The block that libc allocated for the caller is not freed. */
static NOINLINE void where(void)
{
    char *volatile folder = getcwd(NULL, 0);
    folder = NULL;
    (void)folder;
}

/*
 * The scope of the only pointer is left; its register may still hold it.  The assembler code ensures
 * that the pointer is in a register, and not in memory.
 */
static NOINLINE void leave_scope(int is_freed)
{
    {
        char *pointer = malloc(9);
        if (is_freed)
            free(pointer);
        __asm__ volatile("mov %0, %%r14; movq $0, %0" : "+m"(pointer)::"r14");
    }
    __asm__ volatile("xor %%edi, %%edi; call *%0" ::"r"(exit) : "rdi", "memory");
}

/* Three blocks: the first two stacks have equal inner frames, two of them. */
static NOINLINE void *get(size_t bytes)
{
    void *volatile p = malloc(bytes);
    return p;
}

static NOINLINE void get_some(void)
{
    char *volatile lost = get(16);
    lost = NULL;
    (void)lost;
}

static NOINLINE void first(void)
{
    get_some();
}

static NOINLINE void second(void)
{
    get_some();
    string = NULL; /* or it would be one function with first */
}

static NOINLINE void third(void)
{
    char *volatile lost = get(32);
    lost = NULL;
    (void)lost;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "match")) {
        first();
        second();
        third();
    } else if (argc == 2 && !strcmp(argv[1], "scope")) {
        leave_scope(0);
    } else if (argc == 2 && !strcmp(argv[1], "freed")) {
        leave_scope(1);
    } else {
        advance();
        forget();
        where();
    }
    return 0;
}
