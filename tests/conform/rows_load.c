/* rows_load.c - many blocks at once: none overlaps another, none is lost, none left at the end. */
#include "rows.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks of one size, each with a different pattern, up to `bytes` in total. */
static void fill_with(size_t size, size_t bytes)
{
    size_t count = bytes / size < 40000 ? bytes / size : 40000, got = 0, damaged = 0;
    char **blocks = mmap(NULL, count * sizeof *blocks, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (; got < count && (blocks[got] = malloc(size)); got++)
        pattern_fill(blocks[got], size, (uint32_t)got);
    for (size_t i = 0; i < got; i++)
        damaged += !pattern_holds(blocks[i], size, (uint32_t)i);
    for (size_t i = 0; i < got; i++)
        free(blocks[i]);
    munmap(blocks, count * sizeof *blocks);
    print_result("%zu blocks of %zu bytes, %zu damaged", got, size, damaged);
}

void row_fill_small_blocks(void)
{
    for (size_t size = 4; size <= 512; size *= 2)
        fill_with(size, 8u << 20);
}

void row_fill_middle_blocks(void)
{
    for (size_t size = 1024; size <= 65536; size *= 2)
        fill_with(size, 8u << 20);
}

void row_fill_large_blocks(void)
{
    for (size_t size = 131072; size <= (4u << 20); size *= 2)
        fill_with(size, 32u << 20);
}

void row_fill_odd_sizes(void)
{
    for (size_t size = 3; size <= 3000000; size = size * 5 + 2)
        fill_with(size, 8u << 20);
}

struct extent {
    uintptr_t start;
    size_t n;
};

static int compare_extents(const void *a, const void *b)
{
    uintptr_t x = ((const struct extent *)a)->start, y = ((const struct extent *)b)->start;
    return x < y ? -1 : x > y;
}

/* Shell sort: qsort may allocate, and reads the size of the memory outside the sandbox. */
static void sort_extents(struct extent *e, size_t count)
{
    for (size_t gap = count / 2; gap > 0; gap /= 2)
        for (size_t i = gap; i < count; i++) {
            struct extent moved = e[i];
            size_t j = i;
            for (; j >= gap && compare_extents(&e[j - gap], &moved) > 0; j -= gap)
                e[j] = e[j - gap];
            e[j] = moved;
        }
}

/* By address: no two blocks overlap, and behind each of ours lies at least a byte of redzone. */
void row_blocks_do_not_touch(void)
{
    enum { BLOCKS = 20000 };
    static struct extent extents[BLOCKS];
    uint32_t state = 9;
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t n = next_random(&state) % (i % 100 == 0 ? 100000 : 600);
        size_t alignment = i % 7 == 0 ? (size_t)16 << i % 9 : 16;
        void *p = alignment > 16 ? memalign(alignment, n) : malloc(n);
        expect(p != NULL, "no block of %zu bytes", n);
        extents[i] = (struct extent){(uintptr_t)p, n};
    }
    sort_extents(extents, BLOCKS);
    for (size_t i = 1; i < BLOCKS; i++) {
        uintptr_t end = extents[i - 1].start + extents[i - 1].n + is_preloaded();
        expect(extents[i].start >= end && extents[i].start != extents[i - 1].start,
               "block of %zu bytes reaches into the next", extents[i - 1].n);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free((void *)extents[i].start);
}

void row_sweep_of_sizes(void)
{
    enum { WINDOW = 64 };
    static struct {
        char *p;
        size_t n;
    } window[WINDOW];
    for (size_t n = 1; n < 70000; n += 1 + n / 300) {
        size_t i = n % WINDOW;
        expect(!window[i].p || pattern_holds(window[i].p, window[i].n, (uint32_t)window[i].n),
               "block of %zu bytes damaged", window[i].n);
        free(window[i].p);
        window[i].p = malloc(n);
        expect_block(window[i].p, n, 16);
        window[i].n = n;
    }
    for (size_t i = 0; i < WINDOW; i++) {
        free(window[i].p);
        window[i].p = NULL;
    }
}

/* All entry points at random against a model. */
static char *any_block(uint32_t kind, size_t n)
{
    void *p = NULL;
    switch (kind % 6) {
    case 0:
        return calloc(1, n);
    case 1:
        return memalign(64, n);
    case 2:
        return posix_memalign(&p, 256, n) ? NULL : p;
    case 3:
        return aligned_alloc(32, n);
    default:
        return malloc(n);
    }
}

void row_churn(void)
{
    enum { BLOCKS = 1000, STEPS = 100000 };
    static struct {
        char *p;
        size_t n;
    } blocks[BLOCKS];
    uint32_t state = 77;
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = next_random(&state) % BLOCKS;
        expect(!blocks[i].p || pattern_holds(blocks[i].p, blocks[i].n, i), "step %u: block damaged",
               step);
        free(blocks[i].p);
        blocks[i].n = 1 + next_random(&state) % (step % 200 == 0 ? 200000 : 500);
        blocks[i].p = any_block(next_random(&state), blocks[i].n);
        expect(blocks[i].p != NULL, "step %u: no block of %zu bytes", step, blocks[i].n);
        if (blocks[i].p)
            pattern_fill(blocks[i].p, blocks[i].n, i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        free(blocks[i].p);
        blocks[i].p = NULL;
    }
}

void row_hundred_thousand_live(void)
{
    enum { BLOCKS = 100000 };
    uint32_t **blocks = malloc(BLOCKS * sizeof *blocks), damaged = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
        if ((blocks[i] = malloc(sizeof **blocks + i % 40)))
            *blocks[i] = i;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        damaged += !blocks[i] || *blocks[i] != i;
        free(blocks[i]);
    }
    free(blocks);
    print_result("%u damaged", damaged);
}

/* One size, then another, then the first again: memory moves between size classes. */
void row_phases(void)
{
    static const size_t sizes[] = {24, 3000, 24, 200000, 500, 16, 60000, 1000000, 24};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        fill_with(sizes[i], 24u << 20);
}

/* Large blocks are allocated and freed repeatedly: freed memory can be allocated again. */
void row_large_again_and_again(void)
{
    for (int i = 0; i < rounds(2000); i++) {
        size_t n = (1u << 20) + (size_t)i * 4096;
        char *p = malloc(n);
        expect(p != NULL, "round %d: no block of %zu bytes", i, n);
        if (p)
            p[0] = p[n - 1] = 1;
        free(p);
    }
}

void row_alignment_again_and_again(void)
{
    for (int i = 0; i < 20000; i++) {
        void *p = memalign((size_t)16 << i % 12, 1 + (size_t)i % 3000);
        expect(p != NULL, "round %d: no block", i);
        free(p);
    }
}

/* ---- out of memory -------------------------------------------------------------------------- */

struct link {
    struct link *next;
};

enum { STOP_BYTES = 768u << 20 };

/* Exit codes: 0 for success, else the condition that failed. */
static int exhaust(void *argument)
{
    size_t size = *(size_t *)argument, total = 0;
    struct link *list = NULL, *link;
    if (!limits_lower(64u << 20))
        return 10;
    errno = ERRNO_KEPT;
    while (total < STOP_BYTES && (link = malloc(size))) {
        link->next = list;
        list = link;
        total += size;
    }
    if (total >= STOP_BYTES)
        return 11; /* the limit was not felt */
    if (errno != ENOMEM)
        return 12;
    if (total < (16u << 20))
        return 13;
    while (list) {
        link = list->next;
        free(list);
        list = link;
    }
    void *p = malloc(8u << 20);
    return p ? 0 : 14; /* the freed memory is not available */
}

static void print_exhaust(size_t size)
{
    char what[64];
    snprintf(what, sizeof what, "blocks of %zu bytes until NULL, all freed", size);
    print_child(what, exhaust, &size);
}

void row_out_of_memory_small(void)
{
    print_exhaust(100);
    print_exhaust(2000);
}

void row_out_of_memory_middle(void)
{
    print_exhaust(20000);
    print_exhaust(100000);
}

void row_out_of_memory_large(void)
{
    print_exhaust(1u << 20);
    print_exhaust(5u << 20);
}

static int refuse_every_form(void *unused)
{
    (void)unused;
    size_t n = 900u << 20;
    char *p = malloc(1000), *q;
    pattern_fill(p, 1000, 1);
    void *aligned = p;
    if (!limits_lower(64u << 20))
        return 10;
    int failed = 0;
    errno = ERRNO_KEPT, failed |= (malloc(n) || errno != ENOMEM) << 0;
    errno = ERRNO_KEPT, failed |= (calloc(n / 4, 4) || errno != ENOMEM) << 1;
    errno = ERRNO_KEPT, failed |= ((q = realloc(escape(p), n)) || errno != ENOMEM) << 2;
    errno = ERRNO_KEPT, failed |= (reallocarray(escape(p), n / 2, 2) || errno != ENOMEM) << 3;
    failed |= (posix_memalign(&aligned, 64, n) != ENOMEM || aligned != p) << 4;
    errno = ERRNO_KEPT, failed |= (memalign(4096, n) || errno != ENOMEM) << 5;
    failed |= !pattern_holds(p, 1000, 1) << 6;
    free(p);
    return failed;
}

void row_out_of_memory_every_form(void)
{
    print_child("forms that were not refused", refuse_every_form, NULL);
}

static int exhaust_and_go_on(void *unused)
{
    (void)unused;
    static void *blocks[4096];
    size_t got = 0;
    if (!limits_lower(64u << 20))
        return 10;
    while (got < 4096 && (blocks[got] = malloc(1u << 20)))
        got++;
    if (got == 4096)
        return 11;
    for (int round = 0; round < 20 && got > 4; round++) {
        free(blocks[--got]);
        free(blocks[--got]);
        if (!(blocks[got] = malloc(700000)))
            return 12;
        memset(blocks[got++], round, 700000);
    }
    return 0;
}

void row_out_of_memory_and_on(void)
{
    print_child("child", exhaust_and_go_on, NULL);
}
