/*
 * planted.c - a program with known errors, for machines without the space to record them.
 *
 *     planted lost COUNT BYTES    loses blocks from one site, then makes the errors
 *     planted first COUNT BYTES   the errors come first
 *     planted spread COUNT BYTES  each block is lost from a different site, then the errors
 *     planted clean COUNT BYTES   frees all it has allocated, and makes none
 *     planted forked COUNT BYTES  has COUNT blocks in use; a child makes the errors
 *
 * The errors: a double free, and a byte written past the end of a block.  Prints how much it got.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS 3

static void *volatile sink;
static unsigned long got;

static __attribute__((noinline)) void take(size_t bytes)
{
    sink = malloc(bytes);
    got += sink != NULL;
    sink = NULL;
}

static __attribute__((noinline)) void planted_overflow(void)
{
    char *p = malloc(20);
    if (!p)
        return;
    sink = p;
    ((volatile char *)sink)[20] = 1;
    free(sink);
}

static __attribute__((noinline)) void planted_double_free(void)
{
    void *other = malloc(40);
    sink = malloc(40);
    if (!sink || !other)
        return;
    free(sink);
    free(other); /* in between: glibc, without its thread caches, does not detect the double free */
    free(sink);
}

static void planted_errors(void)
{
    planted_overflow();
    planted_double_free();
}

static void by_bits(unsigned long number, unsigned bits, size_t bytes);

static __attribute__((noinline)) void by_bits_again(unsigned long number, unsigned bits,
                                                    size_t bytes)
{
    by_bits(number >> 1, bits - 1, bytes);
    __asm__ volatile("nop");
}

/* A place for each number: two functions, one of which is called for each of its bits. */
static __attribute__((noinline)) void by_bits(unsigned long number, unsigned bits, size_t bytes)
{
    if (bits == 0)
        take(bytes);
    else if (number & 1)
        by_bits(number >> 1, bits - 1, bytes);
    else
        by_bits_again(number, bits, bytes);
    __asm__ volatile("nop"); /* no call is the last thing: each has its frame */
}

static __attribute__((noinline)) void lose(unsigned long count, size_t bytes, unsigned bits)
{
    for (unsigned long i = 0; i < count; i++)
        by_bits(i, bits, bytes);
}

static void keep_and_free(unsigned long count, size_t bytes)
{
    void **kept = malloc(count * sizeof *kept);
    for (unsigned long i = 0; kept && i < count; i++)
        got += (kept[i] = malloc(bytes)) != NULL;
    for (unsigned long i = 0; kept && i < count; i++)
        free(kept[i]);
    free(kept);
}

static void in_child(unsigned long count, size_t bytes)
{
    void **kept = malloc(count * sizeof *kept);
    for (unsigned long i = 0; kept && i < count; i++)
        got += (kept[i] = malloc(bytes)) != NULL;
    pid_t pid = fork();
    if (pid == 0) {
        planted_errors();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    for (unsigned long i = 0; kept && i < count; i++)
        free(kept[i]);
    free(kept);
}

/* Leaves no pointer to a lost block in dead parts of the stack. */
static __attribute__((noinline)) void wipe(void)
{
    char room[8192];
    memset(room, 0, sizeof room);
    __asm__ volatile("" ::"r"(room) : "memory");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "lost";
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 24;
    if (strcmp(what, "first") == 0)
        planted_errors();
    if (strcmp(what, "clean") == 0)
        keep_and_free(count, bytes);
    else if (strcmp(what, "forked") == 0)
        in_child(count, bytes);
    else
        lose(count, bytes, strcmp(what, "spread") == 0 ? 14 : 0);
    if (strcmp(what, "lost") == 0 || strcmp(what, "spread") == 0)
        planted_errors();
    wipe();
    /* Without stdio, which would allocate: then glibc might detect the double free. */
    const char *printed = got == count ? "all\n" : got ? "some\n" : "none\n";
    return write(1, printed, strlen(printed)) > 0 ? STATUS : 1;
}
