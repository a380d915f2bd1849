/*
 * control.c - what a program may do to its memory, as the Solaris guide's chapter on memory control has it, while we
 * are in the same memory.
 *
 *     control truncate FOLDER     makes the run file in FOLDER shorter, and allocates
 *     control untouched           a block of 512 MiB of which a page is touched
 *     control protected           pages of the heap that may not be read or written, at the end, too
 *     control locked              what comes is locked, and hardly anything may be
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE 4096ul

static void *block[20000];

static void allocate(void)
{
    for (unsigned i = 0; i < sizeof block / sizeof *block; i++)
        block[i] = malloc(100 + i % 1000);
}

static void cut(const char *folder)
{
    DIR *d = opendir(folder);
    assert(d && chdir(folder) == 0);
    allocate();
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".pool"))
            assert(truncate(e->d_name, 0) == 0);
    allocate();
    puts("it went on");
}

static void untouched(void)
{
    char *at = malloc(512ul << 20);
    assert(at);
    at[300ul << 20] = 1;
    block[0] = at;
    puts("touched a page");
}

/* Its first and last page also hold other blocks; the pages between hold only this one. */
static void protect(void)
{
    static const int prot[] = {PROT_NONE, PROT_READ, PROT_WRITE};
    allocate();
    for (unsigned i = 0; i < 3; i++) {
        char *at = malloc(64 * PAGE), *page = at + PAGE + (-(size_t)at & (PAGE - 1));
        assert(at && mprotect(page, 8 * PAGE, prot[i]) == 0);
        block[i] = at;
    }
    allocate();
    puts("protected");
}

/* As without the runtime: malloc reports an exceeded lock limit, and continues with the memory it has. */
static void lock(void)
{
    unsigned failed = 0;
    struct rlimit few = {8ul << 20, 8ul << 20};
    assert(setrlimit(RLIMIT_MEMLOCK, &few) == 0);
    if (mlockall(MCL_FUTURE) != 0) {
        puts("may not lock");
        return;
    }
    for (unsigned i = 0; i < 64; i++) {
        char *at = malloc(1ul << 20);
        failed += !at;
        assert(at || errno == ENOMEM);
        if (at)
            memset(at, 1, 1ul << 20);
        block[i] = at;
    }
    for (unsigned i = 0; i < 64; i++)
        free(block[i]);
    free(malloc(1000));
    printf("locked, %s\n", failed ? "and was refused" : "all");
}

int main(int argc, char **argv)
{
    assert(argc > 1);
    if (argc == 3 && strcmp(argv[1], "truncate") == 0)
        cut(argv[2]);
    else if (strcmp(argv[1], "untouched") == 0)
        untouched();
    else if (strcmp(argv[1], "protected") == 0)
        protect();
    else
        lock();
    return 0;
}
