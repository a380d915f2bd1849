/*
 * accesses.c - bad reads, a bad write and an overlapping copy, by calls of libc's functions.
 *
 * rtc-build: -O1 -g -fno-optimize-sibling-calls
 */
#include <stdlib.h>
#include <string.h>

/* By pointers, which the compiler does not replace. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile fill)(void *, int, size_t) = memset;
static char *(*volatile find)(const char *, int) = strchr;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;

static __attribute__((noinline)) void reads(const char *block)
{
    char copied[64];
    copy(copied, block, 33);
}

static __attribute__((noinline)) void searches(const char *block)
{
    if (find(block, '!'))
        abort();
}

static __attribute__((noinline)) void compares(const char *block)
{
    char same[64];
    fill(same, 'a', sizeof same);
    if (compare(block, same, 40) == 0)
        abort();
}

static __attribute__((noinline)) void writes(char *block)
{
    fill(block, 'b', 33);
}

static __attribute__((noinline)) void overlaps(char *block)
{
    copy(block, block + 1, 20);
}

int main(void)
{
    char *block = malloc(32);
    if (!block)
        return 1;
    fill(block, 'a', 32);
    reads(block);
    searches(block);
    compares(block);
    overlaps(block);
    writes(block);
    free(block);
    return 0;
}
