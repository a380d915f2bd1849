/*
 * holders_mapped.c - places that hold the one block (holders.h): memory that the program has mapped, and
 * whose state only the kernel knows.
 */
/* rtc-build: -pthread -fno-optimize-sibling-calls */
#include "holders.h"

#include <stdint.h>
#include <sys/mman.h>

#define PAGE 4096u
#define READ_WRITE (PROT_READ | PROT_WRITE)

static char *map_at(void *at, size_t bytes, int protection, int flags, int file)
{
    char *p = mmap(at, bytes, protection, flags | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

static void put_at(char *at)
{
    put((void *volatile *)(void *)at);
}

/* ---- the heap's address range ----------------------------------------------------------------- */

/* Far above the last block: the runtime has reserved that range for blocks to come. */
static void over_reserved_heap(void)
{
    uintptr_t block = (uintptr_t)malloc(1);
    char *at = (char *)((block & -(uintptr_t)PAGE) + (256u << 20));
    put_at(map_at(at, 16 * PAGE, READ_WRITE, MAP_PRIVATE | MAP_FIXED, -1) + 5 * PAGE);
    free((void *)block);
}

/* ---- the table ------------------------------------------------------------------------------------ */

static const struct place rows[] = {
    /* clang-format off */
    {"over_reserved_heap", over_reserved_heap, "biu", "mapped by the program", NULL},
    /* clang-format on */
};

int main(int argc, char **argv)
{
    return run_place(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
