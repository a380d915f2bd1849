/*
 * needs.c - needs so much memory, and checks that it has it.
 *
 *     needs MIB
 *
 * Small blocks first, up to 48 MiB, every byte written; then large ones, of which the ends are.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    size_t total = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) * MIB, held = 0;
    struct link *all = NULL;
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
