/*
 * pool.c - a program with its heap in the run file (pool.py).
 *
 *     pool hold            prints the address of a block, waits for the end of its input
 *     pool fill [kill]     allocates until malloc fails, frees, and continues; then kills itself
 *     pool scattered COUNT as many blocks, 512 MiB from each to the next; prints, waits
 *     pool cold MIB        writes so much, reads it again
 *     pool children COUNT  forks so many short-lived children, one after the other
 *     pool family          a forked and an exec'd child hold blocks, too; each prints an address
 *     pool calls           mlock, msync, mincore, mprotect and madvise of heap pages, also across forks
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ul << 20)
#define PAGE 4096ul
#define TEXT "what the heap holds"

static void wait_for_end(void)
{
    char byte;
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
}

static char *held; /* reachable at the end */

static int hold(const char *name)
{
    held = malloc(100);
    snprintf(held, 100, "%s of %s", TEXT, name);
    printf("%s %p\n", name, (void *)held);
    wait_for_end();
    held[0] = 'W';
    return 0;
}

/* ---- a full file system ---------------------------------------------------------------------- */

#define FILL_BYTES 3000ul
#define FILL_MAX 100000u

static int fill(int kills)
{
    static unsigned char *block[FILL_MAX];
    unsigned got = 0;
    errno = 0;
    for (; got < FILL_MAX && (block[got] = malloc(FILL_BYTES)) != NULL; got++)
        memset(block[got], (int)(got % 251), FILL_BYTES);
    if (got == FILL_MAX || errno != ENOMEM)
        return 2;
    for (unsigned i = 0; i < got; i++)
        for (unsigned k = 0; k < FILL_BYTES; k++)
            if (block[i][k] != i % 251)
                return 3;
    for (unsigned i = 0; i < got; i += 2)
        free(block[i]);
    for (unsigned i = 0; i < got / 4; i++) {
        unsigned char *more = malloc(FILL_BYTES);
        if (!more)
            return 4;
        memset(more, 1, FILL_BYTES);
        free(more);
    }
    fprintf(stderr, "got %lu KiB\n", got * FILL_BYTES >> 10);
    puts("full, and continues");
    fflush(stdout);
    if (kills)
        raise(SIGKILL);
    for (unsigned i = 1; i < got; i += 2)
        free(block[i]);
    return 0;
}

/* ---- large heaps ----------------------------------------------------------------------------- */

static int scattered(unsigned count)
{
    char **block = calloc(count, sizeof *block);
    for (unsigned i = 0; i < count; i++) {
        if (!(block[i] = aligned_alloc(512 * MIB, MIB / 8)))
            return 2;
        memset(block[i], (int)i, MIB / 8);
    }
    for (unsigned i = 0; i < count; i++)
        if (block[i][1000] != (char)i)
            return 3;
    printf("touched %lu GiB\n", (unsigned long)(block[count - 1] - block[0]) >> 30);
    wait_for_end();
    for (unsigned i = 0; i < count; i++)
        free(block[i]);
    free(block);
    return 0;
}

static int cold(unsigned mib)
{
    static char *block[4096];
    for (unsigned i = 0; i < mib; i++) {
        if (!(block[i] = malloc(MIB)))
            return 2;
        memset(block[i], (int)(i % 127 + 1), MIB);
    }
    for (unsigned i = 0; i < mib; i++)
        for (unsigned long k = 0; k < MIB; k += 512)
            if (block[i][k] != (char)(i % 127 + 1))
                return 3;
    puts("had all of it");
    return 0;
}

/* Of the blocks' memory, in a mapping of shared memory: the part on huge pages. */
static int huge(unsigned mib)
{
    for (unsigned i = 0; i < mib << 10; i++) {
        char *p = malloc(1000);
        if (!p)
            return 2;
        memset(p, 1, 1000);
    }
    char line[512];
    unsigned long sum = 0, kib;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f))
        sum += sscanf(line, "ShmemPmdMapped: %lu", &kib) == 1 ? kib : 0;
    printf("%lu\n", sum >> 10);
    return f ? fclose(f) : 3;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int children(unsigned count)
{
    char *own = malloc(MIB);
    int bad = 0;
    memset(own, 1, MIB);
    for (unsigned i = 0; i < count; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            char *block = malloc(4 * MIB);
            memset(block, 2, 4 * MIB);
            _exit(own[i] != 1 || block[i] != 2);
        }
        bad |= waitpid(pid, &status, 0) != pid || status != 0;
    }
    puts(bad ? "a child failed" : "all ended");
    wait_for_end();
    for (unsigned long i = 0; i < MIB; i++)
        bad |= own[i] != 1;
    free(own);
    return bad;
}

static int forked(char *inherited, int ready)
{
    char *block = NULL;
    for (int i = 0; i < 3; i++) /* where the parent has no block */
        block = malloc(100);
    strcpy(inherited, "after the fork");
    snprintf(block, 100, "%s of forked", TEXT);
    printf("inherited %p\nforked %p\n", (void *)inherited, (void *)block);
    fflush(stdout);
    if (write(ready, "", 1) == 1)
        wait_for_end();
    return 0;
}

static int family(const char *self)
{
    char *inherited = strdup("before the fork"), byte;
    int ready[2];
    if (pipe(ready) != 0)
        return 2;
    if (fork() == 0)
        _exit(forked(inherited, ready[1]));
    if (read(ready[0], &byte, 1) != 1)
        return 3;
    if (fork() == 0) {
        execl(self, self, "hold", "executed", NULL);
        _exit(127);
    }
    hold("parent");
    free(inherited);
    return 0;
}

/* ---- calls on pages of the heap -------------------------------------------------------------- */

static int probe[2];

static int is_readable(const void *p)
{
    char byte;
    return write(probe[1], p, 1) == 1 && read(probe[0], &byte, 1) == 1;
}

/* Keeps the byte, if it can be read. */
static int is_writable(char *p)
{
    char byte = is_readable(p) ? *p : 7;
    return write(probe[1], &byte, 1) == 1 &&
           (read(probe[0], p, 1) == 1 || read(probe[0], &byte, 1) != 1);
}

static void row(const char *when, const char *what, int result)
{
    printf("%s %s: %s\n", when, what, result == 0 ? "done" : strerrorname_np(errno));
}

/* Of each page: the access that it permits, and its first byte. */
static void pages(const char *when, char *block, unsigned count)
{
    printf("%s pages:", when);
    for (unsigned i = 0; i < count; i++) {
        char *page = block + i * PAGE;
        printf(" %c%c", is_readable(page) ? 'r' : '-', is_writable(page) ? 'w' : '-');
        if (is_readable(page))
            printf("%d", *page);
    }
    puts("");
}

static void advise(const char *when, char *page, const char *name, int advice)
{
    char what[64];
    snprintf(what, sizeof what, "madvise %s", name);
    row(when, what, madvise(page, 2 * PAGE - 100, advice));
}

#define ADVISE(page, advice) advise(when, page, #advice, MADV_##advice)

static void make_calls(const char *when, char *block)
{
    unsigned char resident[2];
    memset(block, 5, 16 * PAGE);
    row(when, "mlock", mlock(block, PAGE));
    row(when, "munlock", munlock(block, PAGE));
    row(when, "msync", msync(block, 2 * PAGE, MS_SYNC));
    row(when, "mincore", mincore(block, 2 * PAGE, resident));
    printf("%s resident: %d %d\n", when, resident[0] & 1, resident[1] & 1);
    ADVISE(block, DONTNEED);
    ADVISE(block + 2 * PAGE, FREE); /* which may keep the data */
    memset(block + 2 * PAGE, 6, 2 * PAGE);
    ADVISE(block + 4 * PAGE, REMOVE);
    ADVISE(block + 4 * PAGE, WILLNEED);
    ADVISE(block + 4 * PAGE, COLD);
    ADVISE(block + 4 * PAGE + 1, DONTNEED); /* EINVAL: not a page */
    row(when, "mprotect read", mprotect(block + 6 * PAGE, 2 * PAGE, PROT_READ));
    row(when, "mprotect none", mprotect(block + 8 * PAGE, 2 * PAGE, PROT_NONE));
    ADVISE(block + 7 * PAGE, DONTNEED); /* across two protections */
    pages(when, block, 16);
}

static void restore(char *block)
{
    mprotect(block, 16 * PAGE, PROT_READ | PROT_WRITE);
}

static void fork_and_look(char *block)
{
    pid_t pid;
    fflush(stdout);
    if ((pid = fork()) == 0) {
        pages("child", block, 16);
        restore(block);
        make_calls("child", block);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    pages("after the fork", block, 16);
    restore(block);
}

static int calls(void)
{
    char *large = aligned_alloc(PAGE, 100 * PAGE), *small = aligned_alloc(PAGE, 16 * PAGE);
    if (pipe2(probe, O_NONBLOCK) != 0)
        return 2;
    row("first", "mlockall", mlockall(MCL_FUTURE) && errno != EPERM && errno != ENOMEM);
    munlockall();
    for (int round = 0; round < 2; round++) {
        make_calls("large", large + PAGE);
        fork_and_look(large + PAGE);
        make_calls("small", small);
        fork_and_look(small);
    }
    make_calls("last", large);
    restore(large);
    free(large);
    free(small);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : "";
    unsigned count = (unsigned)atoi(more);
    return strcmp(mode, "hold") == 0        ? hold(*more ? more : "held")
           : strcmp(mode, "fill") == 0      ? fill(*more)
           : strcmp(mode, "scattered") == 0 ? scattered(count)
           : strcmp(mode, "cold") == 0      ? cold(count)
           : strcmp(mode, "huge") == 0      ? huge(count)
           : strcmp(mode, "children") == 0  ? children(count)
           : strcmp(mode, "family") == 0    ? family(argv[0])
           : strcmp(mode, "calls") == 0     ? calls()
                                            : 1;
}
