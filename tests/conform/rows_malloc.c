/* rows_malloc.c - malloc, calloc and free: sizes, zero, too much, errno, contents. */
#include "rows.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void row_malloc_zero(void)
{
    void *a = malloc(opaque(0)), *b = malloc(opaque(0));
    expect_usable(a, 0);
    print_result("first %s, second %s, %s", a ? "block" : "NULL", b ? "block" : "NULL",
                 a == b ? "the same" : "different");
    free(a);
    free(b);
}

void row_malloc_zero_many(void)
{
    enum { MANY = 2000 };
    static void *blocks[MANY];
    uintptr_t last = 0;
    for (int i = 0; i < MANY; i++) {
        blocks[i] = malloc(opaque(0));
        expect(blocks[i] && (uintptr_t)blocks[i] != last, "block %d of zero bytes not its own", i);
        expect(is_aligned(blocks[i], 16), "block %d of zero bytes not aligned", i);
        last = (uintptr_t)blocks[i];
    }
    for (int i = 0; i < MANY; i++)
        free(blocks[i]);
}

void row_malloc_every_small_size(void)
{
    for (size_t n = 1; n <= 5000; n++) {
        void *p = malloc(n);
        expect_block(p, n, 16);
        free(p);
    }
}

void row_malloc_powers(void)
{
    for (size_t n = 4u << 20; n >= 4; n /= 2) {
        void *p = malloc(n);
        expect_block(p, n, 16);
        free(p);
    }
}

void row_malloc_near_powers(void)
{
    for (size_t power = 8; power <= (8u << 20); power *= 2)
        for (size_t n = power - 1; n <= power + 1; n++) {
            void *p = malloc(n);
            expect_block(p, n, 16);
            free(p);
        }
}

void row_malloc_near_pages(void)
{
    for (size_t page = 4096; page <= 80 * 4096; page += 4096)
        for (size_t n = page - 17; n <= page + 17; n++) {
            char *p = malloc(n);
            expect(p && is_aligned(p, 16), "no aligned block of %zu bytes", n);
            expect_usable(p, n);
            p[0] = p[n - 1] = 1;
            free(p);
        }
}

void row_malloc_primes(void)
{
    static const size_t sizes[] = {7,     31,     127,    521,    2053,    8191,    16411,  32771,
                                   65537, 131071, 262147, 524287, 1048583, 2097169, 4194319};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *p = malloc(sizes[i]);
        expect_block(p, sizes[i], 16);
        free(p);
    }
}

void row_malloc_64_mib(void)
{
    size_t n = 64u << 20;
    char *p = malloc(opaque(n));
    expect(p != NULL, "no block of 64 MiB");
    expect_usable(p, n);
    for (size_t i = 0; p && i < n; i += 4096)
        p[i] = 1;
    if (p)
        p[n - 1] = 1;
    free(p);
}

void row_malloc_over_ptrdiff_max(void)
{
    OBSERVE(malloc(opaque((size_t)PTRDIFF_MAX)));
    OBSERVE(malloc(opaque((size_t)PTRDIFF_MAX + 1)));
    OBSERVE(malloc(opaque((size_t)PTRDIFF_MAX - 4096)));
    OBSERVE(malloc(opaque(SIZE_MAX - PTRDIFF_MAX / 2)));
}

void row_malloc_size_max(void)
{
    for (size_t n = 0; n <= 8192; n++) {
        errno = ERRNO_KEPT;
        void *p = malloc(opaque(SIZE_MAX - n));
        expect(!p && errno == ENOMEM, "SIZE_MAX - %zu: %s, errno %s", n, p ? "block" : "NULL",
               errno_text(errno));
    }
    OBSERVE(malloc(opaque(SIZE_MAX)));
}

void row_malloc_no_such_memory(void)
{
    OBSERVE(malloc(opaque((size_t)1 << 47)));
    OBSERVE(malloc(opaque((size_t)1 << 55)));
    OBSERVE(malloc(opaque((size_t)1 << 62)));
}

void row_malloc_after_refusal(void)
{
    for (int i = 0; i < 100; i++) {
        free(malloc(opaque(SIZE_MAX / 2)));
        void *p = malloc(opaque((size_t)i * 997));
        expect_block(p, (size_t)i * 997, 16);
        free(p);
    }
}

void row_malloc_keeps_errno(void)
{
    OBSERVE(malloc(opaque(1)));
    OBSERVE(malloc(opaque(5000)));
    OBSERVE(malloc(opaque(100000)));
    OBSERVE(malloc(opaque(10000000)));
}

void row_calloc_zeroed(void)
{
    for (int round = 0; round < 100; round++) {
        size_t n = 1 + (size_t)round * 41;
        char *p = calloc(n, 3);
        expect(p && is_zeroed(p, 3 * n), "calloc of %zu bytes not zeroed", 3 * n);
        expect_block(p, 3 * n, 16);
        free(p);
    }
}

/* Freed blocks are dirty; those returned by calloc must not be. */
void row_calloc_of_dirty_blocks(void)
{
    static void *blocks[256];
    for (size_t size = 8; size <= 65536; size *= 2) {
        size_t count = size > 4096 ? 16 : 256;
        for (size_t i = 0; i < count; i++)
            if ((blocks[i] = malloc(size)))
                memset(blocks[i], 0xa5, size);
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
        for (size_t i = 0; i < count; i++) {
            blocks[i] = calloc(1, size);
            expect(blocks[i] && is_zeroed(blocks[i], size), "calloc of %zu bytes dirty", size);
        }
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
    }
}

void row_calloc_large_dirty(void)
{
    size_t n = 9u << 20;
    for (int round = 0; round < 4; round++) {
        char *p = calloc(n / 64, 64);
        expect(p && is_zeroed(p, n), "calloc of 9 MiB dirty in round %d", round);
        if (p)
            memset(p, 0x5a, n);
        free(p);
    }
}

void row_calloc_zero(void)
{
    OBSERVE(calloc(opaque(0), 8));
    OBSERVE(calloc(8, opaque(0)));
    OBSERVE(calloc(opaque(0), 0));
    OBSERVE(calloc(opaque(0), opaque(SIZE_MAX)));
    void *a = calloc(opaque(0), 1), *b = calloc(1, opaque(0));
    print_result("two blocks of zero bytes are %s", a == b ? "the same" : "different");
    free(a);
    free(b);
}

void row_calloc_overflow(void)
{
    OBSERVE(calloc(opaque(SIZE_MAX / 2 + 1), 2));
    OBSERVE(calloc(opaque(SIZE_MAX), opaque(SIZE_MAX)));
    OBSERVE(calloc(2, opaque(SIZE_MAX)));
    OBSERVE(calloc(opaque((size_t)1 << 32), (size_t)1 << 32));
}

/* The product wraps to something small: a block of that size would be a hole to write through. */
void row_calloc_wraps_to_small(void)
{
    OBSERVE(calloc(opaque(((size_t)1 << 32) + 1), (size_t)1 << 32));
    OBSERVE(calloc(opaque(SIZE_MAX / 16 + 2), 16));
    OBSERVE(calloc(opaque(SIZE_MAX / 3 + 2), 3));
}

void row_calloc_over_ptrdiff_max(void)
{
    OBSERVE(calloc(opaque((size_t)PTRDIFF_MAX / 8 + 1), 8));
    OBSERVE(calloc(1, opaque((size_t)PTRDIFF_MAX + 1)));
    OBSERVE(calloc(opaque((size_t)1 << 24), (size_t)1 << 24));
}

void row_calloc_keeps_errno(void)
{
    OBSERVE(calloc(opaque(1), 1));
    OBSERVE(calloc(opaque(100), 100));
    OBSERVE(calloc(opaque(1000), 10000));
}

void row_calloc_usable(void)
{
    for (size_t n = 1; n < 400; n += 7) {
        void *p = calloc(n, 13);
        expect_block(p, n * 13, 16);
        free(p);
    }
}

void row_free_null(void)
{
    errno = ERRNO_KEPT;
    for (int i = 0; i < 1000; i++)
        free(escape(NULL));
    print_result("errno %s", errno_text(errno));
}

void row_free_keeps_errno(void)
{
    static const size_t sizes[] = {0, 1, 100, 5000, 70000, 300000, 3000000, 40000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *p = malloc(sizes[i]);
        errno = ERRNO_KEPT;
        free(p);
        print_result("of %zu bytes: errno %s", sizes[i], errno_text(errno));
    }
}

enum { ORDERED = 3000 };

static void free_in_order(const char *order, size_t step)
{
    static char *blocks[ORDERED];
    for (size_t i = 0; i < ORDERED; i++) {
        size_t n = 1 + i * 37 % 3000;
        blocks[i] = malloc(n);
        pattern_fill(blocks[i], n, (uint32_t)i);
    }
    for (size_t k = 0; k < ORDERED; k++) {
        size_t i = k * step % ORDERED; /* step and ORDERED have no common divisor: each once */
        expect(pattern_holds(blocks[i], 1 + i * 37 % 3000, (uint32_t)i), "%s: block %zu damaged",
               order, i);
        free(blocks[i]);
    }
}

void row_free_first_in_first_out(void)
{
    free_in_order("first in, first out", 1);
}

void row_free_last_in_first_out(void)
{
    free_in_order("last in, first out", ORDERED - 1);
}

void row_free_scattered(void)
{
    free_in_order("scattered", 1319);
}

void row_free_every_other_and_refill(void)
{
    static char *blocks[ORDERED];
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < ORDERED; i++)
            if (!blocks[i]) {
                blocks[i] = malloc(200 + i % 5);
                pattern_fill(blocks[i], 200, (uint32_t)i);
            }
        for (size_t i = (size_t)round % 2; i < ORDERED; i += 2) {
            expect(pattern_holds(blocks[i], 200, (uint32_t)i), "block %zu damaged", i);
            free(blocks[i]);
            blocks[i] = NULL;
        }
    }
    for (size_t i = 0; i < ORDERED; i++) {
        expect(!blocks[i] || pattern_holds(blocks[i], 200, (uint32_t)i), "block %zu damaged", i);
        free(blocks[i]);
        blocks[i] = NULL;
    }
}
