/* rows_align.c - posix_memalign, memalign, aligned_alloc, valloc, pvalloc. */
#include "rows.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *untouched = &untouched;

static void print_posix_memalign(size_t alignment, size_t n)
{
    void *p = untouched;
    errno = ERRNO_KEPT;
    int error = posix_memalign(&p, opaque(alignment), opaque(n));
    print_result("(%#zx, %#zx): %s, pointer %s", alignment, n, errno_text(error),
                 p == untouched ? "kept" : "set");
    if (error == 0)
        free(p);
    /* glibc's is left at ENOMEM by the malloc inside it; POSIX leaves it open. */
    expect(errno == ERRNO_KEPT || (!is_preloaded() && error == ENOMEM), "(%#zx, %#zx): errno %s",
           alignment, n, errno_text(errno));
}

void row_posix_memalign_bad_alignment(void)
{
    static const size_t bad[] = {
        0, 1, 2, 3, 4, 5, 7, 12, 24, 48, 100, 4095, 4097, SIZE_MAX, SIZE_MAX - 7, (size_t)3 << 40};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        print_posix_memalign(bad[i], 100);
    print_posix_memalign(3, SIZE_MAX);
    print_posix_memalign(12, 0);
}

void row_posix_memalign_too_much(void)
{
    print_posix_memalign(8, SIZE_MAX);
    print_posix_memalign(16, (size_t)PTRDIFF_MAX + 1);
    print_posix_memalign(64, SIZE_MAX - 64);
    print_posix_memalign(4096, SIZE_MAX - 8191);
    print_posix_memalign(1u << 20, (size_t)PTRDIFF_MAX - 1000);
    print_posix_memalign((size_t)1 << 62, 100);
    print_posix_memalign((size_t)1 << 63, 100);
    print_posix_memalign((size_t)1 << 63, SIZE_MAX);
}

void row_posix_memalign_zero_size(void)
{
    print_posix_memalign(8, 0);
    print_posix_memalign(64, 0);
    print_posix_memalign(65536, 0);
    void *a = NULL, *b = NULL;
    int failed = posix_memalign(&a, 64, opaque(0)) | posix_memalign(&b, 64, opaque(0));
    print_result("failed %d, %s, %s", failed, a && b ? "blocks" : "NULL",
                 a == b ? "the same" : "different");
    free(a);
    free(b);
}

void row_posix_memalign_every_alignment(void)
{
    for (size_t alignment = 8; alignment <= (4u << 20); alignment *= 2)
        for (size_t n = 1; n <= 300000; n = n * 5 + 2) {
            void *p = NULL;
            int error = posix_memalign(&p, alignment, n);
            expect(error == 0, "(%zu, %zu): error %d", alignment, n, error);
            if (!error)
                expect_block(p, n, alignment);
            free(p);
        }
}

void row_posix_memalign_keeps_errno(void)
{
    print_posix_memalign(8, 10);
    print_posix_memalign(4096, 10);
    print_posix_memalign(16, 1000000);
    print_posix_memalign(2u << 20, 10);
}

void row_memalign_every_alignment(void)
{
    for (size_t alignment = 1; alignment <= (4u << 20); alignment *= 2)
        for (size_t n = 1; n <= 300000; n = n * 5 + 2) {
            void *p = memalign(alignment, n);
            expect_block(p, n, alignment < 16 ? 16 : alignment);
            free(p);
        }
}

/* glibc rounds an alignment that is no power of two up to one. */
void row_memalign_odd_alignment(void)
{
    static const size_t odd[] = {0, 3, 5, 6, 12, 17, 24, 33, 48, 100, 1000, 4097, 5000, 70000};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        size_t power = 16;
        while (power < odd[i])
            power *= 2;
        errno = ERRNO_KEPT;
        void *p = memalign(opaque(odd[i]), 100);
        print_result("%zu: %s, errno %s, %s", odd[i], p ? "block" : "NULL", errno_text(errno),
                     is_aligned(p, power) ? "aligned to the next power of two" : "not so aligned");
        free(p);
    }
}

void row_memalign_huge_alignment(void)
{
    OBSERVE(memalign(opaque((size_t)1 << 62), 100));
    OBSERVE(memalign(opaque((size_t)1 << 63), 100));
    OBSERVE(memalign(opaque(((size_t)1 << 63) + 1), 100));
    OBSERVE(memalign(opaque(SIZE_MAX), 100));
    OBSERVE(memalign(opaque(SIZE_MAX), 0));
    OBSERVE(memalign(opaque((size_t)1 << 62), opaque(SIZE_MAX)));
}

void row_memalign_too_much(void)
{
    OBSERVE(memalign(64, opaque(SIZE_MAX)));
    OBSERVE(memalign(64, opaque(SIZE_MAX - 64)));
    OBSERVE(memalign(4096, opaque((size_t)PTRDIFF_MAX)));
    OBSERVE(memalign(8, opaque((size_t)PTRDIFF_MAX + 1)));
    OBSERVE(memalign(1u << 20, opaque(SIZE_MAX - (2u << 20))));
}

void row_memalign_zero_size(void)
{
    OBSERVE(memalign(16, opaque(0)));
    OBSERVE(memalign(4096, opaque(0)));
    OBSERVE(memalign(1u << 20, opaque(0)));
}

void row_memalign_keeps_errno(void)
{
    OBSERVE(memalign(32, opaque(1)));
    OBSERVE(memalign(4096, opaque(100000)));
    OBSERVE(memalign(1u << 20, opaque(1u << 20)));
}

/* Up to a hundred blocks of one alignment; of the big ones fewer, for a heap of fixed size. */
void row_memalign_many(void)
{
    static char *blocks[100];
    for (size_t alignment = 2; alignment <= (4u << 20); alignment *= 2) {
        uint32_t count = alignment > 262144 ? 6 : 100;
        size_t n = alignment > 1000 ? 1000 : alignment;
        for (uint32_t i = 0; i < count; i++) {
            blocks[i] = memalign(alignment, n);
            expect(blocks[i] && is_aligned(blocks[i], alignment), "alignment %zu", alignment);
            if (blocks[i])
                pattern_fill(blocks[i], n, i);
        }
        for (uint32_t i = 0; i < count; i++) {
            expect(blocks[i] && pattern_holds(blocks[i], n, i), "alignment %zu: block %u damaged",
                   alignment, i);
            free(blocks[i]);
        }
    }
}

void row_memalign_size_equals_alignment(void)
{
    for (size_t alignment = 16; alignment <= (2u << 20); alignment *= 2)
        for (size_t n = alignment - 1; n <= alignment + 1; n++) {
            void *p = memalign(alignment, n);
            expect_block(p, n, alignment);
            free(p);
        }
}

/* The remainders of the block that an aligned block was cut from must not overlap other blocks. */
void row_memalign_between_others(void)
{
    enum { BLOCKS = 400 };
    static char *blocks[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        blocks[i] = i % 2 ? memalign((size_t)16 << i % 10, 60) : malloc(60 + i);
        pattern_fill(blocks[i], 60, i);
    }
    for (uint32_t i = 0; i < BLOCKS; i += 4)
        blocks[i] = realloc(blocks[i], 700);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        expect(pattern_holds(blocks[i], 60, i), "block %u damaged", i);
        free(blocks[i]);
    }
}

void row_memalign_4_mib(void)
{
    enum { BLOCKS = 8 };
    char *blocks[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        blocks[i] = memalign(4u << 20, 1000 + i);
        expect_block(blocks[i], 1000 + i, 4u << 20);
        pattern_fill(blocks[i], 1000 + i, i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        expect(pattern_holds(blocks[i], 1000 + i, i), "block %u damaged", i);
        free(blocks[i]);
    }
}

void row_memalign_4_mib_again(void)
{
    for (int i = 0; i < 200; i++) {
        char *p = memalign(4u << 20, 4u << 20);
        expect(p && is_aligned(p, 4u << 20), "round %d: no aligned block", i);
        if (p)
            p[0] = p[(4u << 20) - 1] = 1;
        free(p);
    }
}

void row_aligned_alloc_multiple(void)
{
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        void *p = aligned_alloc(alignment, alignment * 3);
        expect_block(p, alignment * 3, alignment);
        free(p);
    }
}

void row_aligned_alloc_not_multiple(void)
{
    for (size_t alignment = 16; alignment <= 65536; alignment *= 4) {
        size_t n = alignment + 1;
        errno = ERRNO_KEPT;
        void *p = aligned_alloc(opaque(alignment), opaque(n));
        print_result("(%zu, %zu): %s, errno %s, %s", alignment, n, p ? "block" : "NULL",
                     errno_text(errno), is_aligned(p, alignment) ? "aligned" : "not aligned");
        expect_usable(p, p ? n : 0);
        free(p);
    }
}

void row_aligned_alloc_bad_alignment(void)
{
    OBSERVE(aligned_alloc(opaque(0), 100));
    OBSERVE(aligned_alloc(opaque(3), 100));
    OBSERVE(aligned_alloc(opaque(24), 100));
    OBSERVE(aligned_alloc(opaque(SIZE_MAX), 100));
    OBSERVE(aligned_alloc(opaque((size_t)1 << 63), 100));
}

void row_aligned_alloc_zero_size(void)
{
    OBSERVE(aligned_alloc(64, opaque(0)));
    void *a = aligned_alloc(64, opaque(0)), *b = aligned_alloc(64, opaque(0));
    print_result("%s, %s", a && b ? "blocks" : "NULL", a == b ? "the same" : "different");
    free(a);
    free(b);
}

void row_aligned_alloc_too_much(void)
{
    OBSERVE(aligned_alloc(64, opaque(SIZE_MAX)));
    OBSERVE(aligned_alloc(4096, opaque(SIZE_MAX - 4095)));
    OBSERVE(aligned_alloc(64, opaque((size_t)PTRDIFF_MAX + 1)));
}

void row_valloc(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t n = 1; n < 1000000; n = n * 3 + 1) {
        void *p = valloc(n);
        expect_block(p, n, page);
        free(p);
    }
    OBSERVE(valloc(opaque(0)));
}

void row_valloc_too_much(void)
{
    OBSERVE(valloc(opaque(SIZE_MAX)));
    OBSERVE(valloc(opaque(SIZE_MAX - 4096)));
    OBSERVE(valloc(opaque((size_t)PTRDIFF_MAX)));
}

/* The rounding is the block's, not the slack's: all of it may be used. */
void row_pvalloc(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t n = 1; n < 1000000; n = n * 3 + 1) {
        void *p = pvalloc(n);
        expect_block(p, (n + page - 1) & ~(page - 1), page);
        free(p);
    }
    for (size_t n = page; n <= 4 * page; n += page) {
        void *p = pvalloc(n);
        expect_block(p, n, page);
        free(p);
    }
}

void row_pvalloc_zero(void)
{
    OBSERVE(pvalloc(opaque(0)));
}

void row_pvalloc_too_much(void)
{
    OBSERVE(pvalloc(opaque(SIZE_MAX)));
    OBSERVE(pvalloc(opaque(SIZE_MAX - 4094)));
    OBSERVE(pvalloc(opaque(SIZE_MAX - 4095)));
    OBSERVE(pvalloc(opaque(SIZE_MAX - 8191)));
    OBSERVE(pvalloc(opaque((size_t)PTRDIFF_MAX)));
}
