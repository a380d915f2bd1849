/*
 * needs.c - allocates an amount of memory, and checks its contents.
 *
 *     needs MIB
 *
 * Small blocks first, up to 48 MiB, every byte written; then large ones, of which the first and last bytes
 * are.  It also maps some memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIB (1ul << 20)
#define SMALL_MAX (48 * MIB)

struct link {
    struct link *next;
    size_t bytes;
    uint8_t rest[];
};

static struct link *take(size_t bytes, struct link *next)
{
    struct link *l = malloc(bytes);
    if (!l) {
        puts("out of memory");
        exit(1);
    }
    memset(l, 0x5a, bytes > MIB ? 4096 : bytes);
    ((uint8_t *)l)[bytes - 1] = 0x5a;
    l->next = next;
    l->bytes = bytes;
    return l;
}

/* More at a time than a few, and in pieces. */
static void map_some(void)
{
    char *at[9];
    for (unsigned i = 0; i < 9; i++) {
        at[i] = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at[i] == MAP_FAILED) {
            puts("out of memory");
            exit(1);
        }
        at[i][4096] = 1;
        munmap(at[i], 4096);
    }
    for (unsigned i = 0; i < 9; i++)
        munmap(at[i] + 4096, 4096);
}

int main(int argc, char **argv)
{
    size_t total = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) * MIB, held = 0;
    struct link *all = NULL;
    map_some();
    for (unsigned i = 0; held < total; i++) {
        size_t bytes = held < SMALL_MAX ? 64 + i % 100 * 40 : (1 + i % 16) * MIB;
        if (bytes > total - held)
            bytes = total - held < 64 ? 64 : total - held;
        all = take(bytes, all);
        held += bytes;
    }
    while (all) {
        struct link *next = all->next;
        if (((uint8_t *)all)[all->bytes - 1] != 0x5a)
            return 3;
        free(all);
        all = next;
    }
    printf("had %zu MiB\n", total / MIB);
    return 0;
}
