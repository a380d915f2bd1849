/* rows_realloc.c - realloc and reallocarray: every form, contents kept, refusal harmless. */
#include "rows.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void row_realloc_of_null(void)
{
    OBSERVE(realloc(escape(NULL), opaque(100)));
    OBSERVE(realloc(escape(NULL), opaque(100000)));
    for (size_t n = 1; n < 3000; n += 13) {
        void *p = realloc(escape(NULL), n);
        expect_block(p, n, 16);
        free(p);
    }
}

void row_realloc_of_null_to_zero(void)
{
    OBSERVE(realloc(escape(NULL), opaque(0)));
}

void row_realloc_to_zero(void)
{
    static const size_t sizes[] = {0, 1, 24, 5000, 200000, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *p = malloc(sizes[i]);
        errno = ERRNO_KEPT;
        void *q = realloc(p, opaque(0));
        print_result("of %zu bytes: %s, errno %s", sizes[i], q ? "block" : "NULL",
                     errno_text(errno));
        free(q);
    }
}

static void resize(char **p, size_t from, size_t to, uint32_t seed)
{
    pattern_fill(*p, from, seed);
    char *q = realloc(*p, to);
    expect(q != NULL, "no block of %zu bytes after %zu", to, from);
    if (!q)
        return;
    *p = q;
    expect(is_aligned(q, 16), "from %zu to %zu bytes: not aligned", from, to);
    expect(pattern_holds(q, from < to ? from : to, seed), "from %zu to %zu: contents lost", from,
           to);
    expect_usable(q, to);
}

void row_realloc_doubles(void)
{
    char *p = malloc(1);
    for (size_t n = 1; n < (16u << 20); n *= 2)
        resize(&p, n, 2 * n, (uint32_t)n);
    free(p);
}

void row_realloc_halves(void)
{
    char *p = malloc(16u << 20);
    for (size_t n = 16u << 20; n > 1; n /= 2)
        resize(&p, n, n / 2, (uint32_t)n);
    free(p);
}

void row_realloc_by_one(void)
{
    char *p = malloc(1);
    for (size_t n = 1; n < 3000; n++)
        resize(&p, n, n + 1, (uint32_t)n);
    for (size_t n = 3000; n > 1; n--)
        resize(&p, n, n - 1, (uint32_t)n);
    free(p);
}

void row_realloc_same_size(void)
{
    for (size_t n = 1; n < 300000; n = n * 3 + 1) {
        char *p = malloc(n);
        for (uint32_t i = 0; i < 5; i++)
            resize(&p, n, n, i);
        free(p);
    }
}

void row_realloc_zigzag(void)
{
    static const size_t sizes[] = {10,     100000, 20, 5000000, 300,    40,   70000,
                                   65536,  65537,  1,  4096,    4095,   4097, 1000000,
                                   999999, 24,     25, 24,      131072, 8};
    char *p = malloc(sizes[0]);
    for (size_t i = 1; i < sizeof sizes / sizeof sizes[0]; i++)
        resize(&p, sizes[i - 1], sizes[i], (uint32_t)i);
    free(p);
}

void row_realloc_grows_from_zero(void)
{
    char *p = malloc(opaque(0));
    resize(&p, 0, 50, 1);
    free(p);
    p = malloc(opaque(0));
    resize(&p, 0, 500000, 2);
    free(p);
}

void row_realloc_large_steps(void)
{
    char *p = malloc(1u << 20);
    size_t n = 1u << 20;
    for (uint32_t i = 0; i < 20; i++, n += 300001)
        resize(&p, n, n + 300001, i);
    for (uint32_t i = 0; i < 20; i++, n -= 300001)
        resize(&p, n, n - 300001, i);
    free(p);
}

static void refuse(size_t have, size_t want)
{
    char *p = malloc(have);
    pattern_fill(p, have, 3);
    errno = ERRNO_KEPT;
    char *q = realloc(escape(p), opaque(want));
    expect(!q && errno == ENOMEM, "from %zu to %zu bytes: %s, errno %s", have, want,
           q ? "block" : "NULL", errno_text(errno));
    expect(q || pattern_holds(p, have, 3), "refused block of %zu bytes damaged", have);
    expect_usable(q ? q : p, q ? want : have);
    free(q ? q : p);
}

void row_realloc_refused_keeps_block(void)
{
    static const size_t sizes[] = {1, 40, 3000, 70000, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        refuse(sizes[i], SIZE_MAX);
        refuse(sizes[i], SIZE_MAX - 4096);
        refuse(sizes[i], (size_t)PTRDIFF_MAX + 1);
        refuse(sizes[i], (size_t)PTRDIFF_MAX);
        refuse(sizes[i], (size_t)1 << 47);
    }
}

void row_realloc_of_null_too_much(void)
{
    OBSERVE(realloc(escape(NULL), opaque(SIZE_MAX)));
    OBSERVE(realloc(escape(NULL), opaque((size_t)PTRDIFF_MAX + 1)));
}

void row_realloc_keeps_errno(void)
{
    static const size_t sizes[] = {2, 100, 5000, 60000, 3000000, 50, 49, 20000000, 10};
    void *p = malloc(1);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        errno = ERRNO_KEPT;
        p = realloc(p, sizes[i]);
        print_result("to %zu bytes: %s, errno %s", sizes[i], p ? "block" : "NULL",
                     errno_text(errno));
    }
    free(p);
}

void row_realloc_of_calloc(void)
{
    char *p = calloc(100, 10);
    expect(p && is_zeroed(p, 1000), "calloc dirty");
    p = realloc(p, 100000);
    expect(p && is_zeroed(p, 1000), "zeros lost");
    free(p);
}

void row_realloc_of_aligned(void)
{
    for (size_t alignment = 32; alignment <= 65536; alignment *= 2)
        for (size_t n = 10; n < 200000; n = n * 7 + 1) {
            char *p = memalign(alignment, n);
            expect(p && is_aligned(p, alignment), "memalign(%zu, %zu)", alignment, n);
            resize(&p, n, n * 2, 1);
            resize(&p, n * 2, n / 2, 2);
            free(p);
        }
}

void row_realloc_of_valloc(void)
{
    char *p = valloc(100), *q = pvalloc(100);
    resize(&p, 100, 10000, 1);
    resize(&q, 100, 10000, 2);
    free(p);
    free(q);
}

/* Many blocks resized at random, compared with a model of their contents. */
void row_realloc_random(void)
{
    enum { BLOCKS = 64, STEPS = 20000 };
    static struct {
        char *p;
        size_t n;
    } blocks[BLOCKS];
    uint32_t state = 1;
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = next_random(&state) % BLOCKS;
        size_t n = 1 + next_random(&state) % (step % 50 == 0 ? 300000 : 900);
        size_t kept = blocks[i].n < n ? blocks[i].n : n;
        blocks[i].p = realloc(blocks[i].p, n);
        expect(blocks[i].p && pattern_holds(blocks[i].p, kept, i), "step %u: contents lost", step);
        pattern_fill(blocks[i].p, blocks[i].n = n, i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        expect(pattern_holds(blocks[i].p, blocks[i].n, i), "block %u damaged", i);
        free(blocks[i].p);
    }
}

void row_realloc_beside_neighbours(void)
{
    enum { BLOCKS = 300 };
    static char *blocks[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++)
        pattern_fill(blocks[i] = malloc(100), 100, i);
    for (uint32_t i = 0; i < BLOCKS; i += 2) {
        blocks[i] = realloc(blocks[i], 100 + i * 5);
        memset(blocks[i] + 100, 0xee, i * 5);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        expect(pattern_holds(blocks[i], 100, i), "block %u damaged", i);
        free(blocks[i]);
    }
}

void row_reallocarray_overflow(void)
{
    OBSERVE(reallocarray(escape(NULL), opaque(SIZE_MAX), 2));
    OBSERVE(reallocarray(escape(NULL), opaque((size_t)1 << 32), (size_t)1 << 32));
    OBSERVE(reallocarray(escape(NULL), opaque(SIZE_MAX / 3 + 2), 3));
    OBSERVE(reallocarray(escape(NULL), opaque((size_t)PTRDIFF_MAX / 4), 8));
}

void row_reallocarray_refused_keeps_block(void)
{
    char *p = malloc(1000);
    pattern_fill(p, 1000, 5);
    errno = ERRNO_KEPT;
    char *q = reallocarray(escape(p), opaque(SIZE_MAX / 2), 3);
    print_result("%s, errno %s, contents %s", q ? "block" : "NULL", errno_text(errno),
                 pattern_holds(p, 1000, 5) ? "kept" : "lost");
    free(q ? q : p);
}

void row_reallocarray_of_null(void)
{
    OBSERVE(reallocarray(escape(NULL), opaque(10), 10));
    OBSERVE(reallocarray(escape(NULL), opaque(0), 10));
    OBSERVE(reallocarray(escape(NULL), 10, opaque(0)));
}

void row_reallocarray_to_zero(void)
{
    void *p = malloc(10);
    errno = ERRNO_KEPT;
    void *q = reallocarray(p, opaque(0), 10);
    print_result("%s, errno %s", q ? "block" : "NULL", errno_text(errno));
    free(q);
}

void row_reallocarray_grows(void)
{
    char *p = malloc(12);
    for (size_t n = 1; n < 100000; n *= 3) {
        pattern_fill(p, n * 12, 7);
        p = reallocarray(p, n * 3, 12);
        expect(p && pattern_holds(p, n * 12, 7), "contents lost growing to %zu", n * 36);
        expect_usable(p, n * 36);
    }
    free(p);
}
