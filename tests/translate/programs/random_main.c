/* random_main.c - call random functions (random_code.py) with a random buffer, print what they make of it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "translated.h"

enum { BUFFER_BYTES = 8192, USED = 512 };

typedef void entry(void *buffer);
extern entry *const entries[], *const entries_end[];

static uint64_t mixed(uint64_t sum, const uint64_t *word, size_t words)
{
    for (size_t n = 0; n < words; n++)
        sum = (sum ^ word[n]) * 0x9e3779b97f4a7c15u + n;
    return sum;
}

int main(void)
{
    /* At a fixed address: its parts are in registers, and so in results. */
    uint64_t *buffer = mmap((void *)0x10000000, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (buffer != (void *)0x10000000)
        return 2;
    if (shadow_set && getenv("TRANSLATED_POISON"))
        shadow_set(buffer, BUFFER_BYTES, -1);
    for (entry *const *e = entries; e < entries_end; e++) {
        uint64_t sum = 0;
        for (unsigned round = 0; round < 8; round++) {
            for (unsigned n = 0; n < BUFFER_BYTES / 8; n++)
                buffer[n] = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
            (*e)((char *)buffer + USED);
            sum = mixed(sum, buffer, BUFFER_BYTES / 8); /* has all registers */
        }
        printf("%ld %016llx\n", (long)(e - entries), (unsigned long long)sum);
    }
    return 0;
}
