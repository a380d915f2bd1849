/*
 * heaps.c - a heap of a given kind, all of it in use, and the end of the program.
 *
 *     heaps KIND COUNT
 *
 * tree: COUNT blocks of 64 bytes, each points to two others in no order of addresses, one is a root.
 * mixed: COUNT MiB in blocks of 16 bytes to 4 KiB, in a table in no order; one word in 64 points to
 * another block. sparse: COUNT blocks of a MiB, with one page touched in each.
 *
 * Prints at the end of main the CPU time so far in microseconds and CLOCK_MONOTONIC in nanoseconds:
 * the time after that is the end of the program, checks included.  (Not from an exit handler: LSan has
 * already searched for leaks when exit handlers run.)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void *volatile root;

static size_t below(uint64_t *random, size_t limit)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (size_t)(*random % limit);
}

static void *filled(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        abort();
    return memset(p, 0, bytes);
}

static void shuffle(void **table, size_t count, uint64_t *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = below(random, i);
        void *p = table[i - 1];
        table[i - 1] = table[j];
        table[j] = p;
    }
}

static void tree(size_t count)
{
    uint64_t random = 88172645463325252ull;
    void ***node = filled(count * sizeof *node);
    for (size_t i = 0; i < count; i++)
        node[i] = filled(64);
    shuffle((void **)node, count, &random);
    for (size_t i = 1; i < count; i++)
        node[(i - 1) / 2][(i - 1) % 2] = node[i];
    root = node[0];
    free(node);
}

static void mixed(size_t count)
{
    uint64_t random = 88172645463325252ull;
    size_t blocks = count * 512, bytes = 0;
    void **table = filled(blocks * sizeof *table);
    for (size_t i = 0; i < blocks; i++, bytes += 2048) {
        size_t words = (16 + below(&random, 4080)) / 8;
        uint64_t *block = filled(words * 8);
        for (size_t w = 0; w < words; w++)
            block[w] =
                below(&random, 64) || !i ? random >> 40 : (uintptr_t)table[below(&random, i)];
        table[i] = block;
    }
    shuffle(table, blocks, &random);
    root = table;
}

static void sparse(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void **block = calloc(1, 1 << 20);
        if (!block)
            abort();
        block[i % 1000] = root;
        block[0] = root;
        root = block;
    }
}

static void hello(size_t count)
{
    (void)count;
}

static double microseconds(int usage_of)
{
    struct rusage u;
    getrusage(usage_of, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void print_when(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("%.0f %lld%09ld\n", microseconds(RUSAGE_SELF) + microseconds(RUSAGE_CHILDREN),
           (long long)t.tv_sec, t.tv_nsec);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(size_t count);
    } kinds[] = {{"tree", tree}, {"mixed", mixed}, {"sparse", sparse}, {"hello", hello}};
    for (size_t i = 0; argc > 2 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].make(strtoul(argv[2], NULL, 10));
            print_when();
            return 0;
        }
    return 2;
}
