/*
 * heap.c - malloc and the other C functions of the allocator.
 *
 * Semantics are glibc's (errno, zero sizes, alignments), with one exception: malloc_usable_size
 * returns the requested size, so a program may not write into the redzone.  glibc also exports the
 * __libc_ names; not interposed, they would use a second heap.
 */
#include "intercept.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define MIN_ALIGN 16u

EXPORT void *malloc(size_t bytes)
{
    return track_alloc(bytes, MIN_ALIGN, OP(MALLOC, MALLOC), CALLER);
}

EXPORT void free(void *p)
{
    track_free(p, OP(FREE, MALLOC), CALLER);
}

static void *zeroed(size_t count, size_t bytes, const struct entry *at)
{
    uint64_t total;
    if (!checked_mul(count, bytes, &total))
        return track_refuse(UINT64_MAX, OP(CALLOC, MALLOC), at);
    return track_alloc_zeroed(total, OP(CALLOC, MALLOC), at);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    return zeroed(count, bytes, CALLER);
}

static void *resized(void *p, size_t bytes, uint32_t op, const struct entry *at)
{
    if (!p)
        return track_alloc(bytes, MIN_ALIGN, op, at);
    if (!bytes) { /* as glibc: realloc(p, 0) frees */
        track_free_by_realloc(p, op, at);
        return NULL;
    }
    return track_realloc(p, bytes, op, at);
}

EXPORT void *realloc(void *p, size_t bytes)
{
    return resized(p, bytes, OP(REALLOC, MALLOC), CALLER);
}

EXPORT void *reallocarray(void *p, size_t count, size_t bytes)
{
    uint64_t total;
    if (!checked_mul(count, bytes, &total))
        return track_refuse(UINT64_MAX, OP(REALLOCARRAY, MALLOC), CALLER);
    return resized(p, total, OP(REALLOCARRAY, MALLOC), CALLER);
}

/*
 * As glibc: an alignment that is not a power of two is rounded up to one; excessive ones are
 * refused.
 */
static void *aligned(size_t align, size_t bytes, uint32_t op, const struct entry *at)
{
    if (unlikely(!is_pow2(align)))
        track_warn_alignment(align, op, at);
    if (align > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t power = MIN_ALIGN;
    while (power < align)
        power *= 2;
    if (power > PTRDIFF_MAX || bytes > PTRDIFF_MAX - power)
        return track_refuse(bytes, op, at);
    return track_alloc_aligned(bytes, power, align, op, at);
}

EXPORT void *memalign(size_t align, size_t bytes)
{
    return aligned(align, bytes, OP(MEMALIGN, ALIGNED), CALLER);
}

EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
    return aligned(align, bytes, OP(ALIGNED_ALLOC, ALIGNED), CALLER);
}

EXPORT int posix_memalign(void **out, size_t align, size_t bytes)
{
    int saved = errno;
    if (align % sizeof(void *) != 0 || !is_pow2(align / sizeof(void *))) {
        track_warn_alignment(align, OP(POSIX_MEMALIGN, ALIGNED), CALLER);
        return EINVAL;
    }
    void *p = aligned(align, bytes, OP(POSIX_MEMALIGN, ALIGNED), CALLER);
    errno = saved;
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

EXPORT void *valloc(size_t bytes)
{
    return aligned(PAGE_BYTES, bytes, OP(VALLOC, ALIGNED), CALLER);
}

static void *whole_pages(size_t bytes, const struct entry *at)
{
    uint64_t up;
    if (!checked_add(bytes, PAGE_BYTES - 1, &up))
        return track_refuse(bytes, OP(PVALLOC, ALIGNED), at);
    return aligned(PAGE_BYTES, align_down(up, PAGE_BYTES), OP(PVALLOC, ALIGNED), at);
}

EXPORT void *pvalloc(size_t bytes)
{
    return whole_pages(bytes, CALLER);
}

EXPORT size_t malloc_usable_size(void *p)
{
    return track_query(p, OP(MALLOC_USABLE_SIZE, MALLOC), CALLER);
}

/* An old name of free, and C23's functions. */
EXPORT void cfree(void *p);
EXPORT void cfree(void *p)
{
    track_free(p, OP(CFREE, MALLOC), CALLER);
}

EXPORT void free_sized(void *p, size_t bytes);
EXPORT void free_sized(void *p, size_t bytes)
{
    track_free_sized(p, bytes, OP(FREE_SIZED, MALLOC), CALLER);
}

EXPORT void free_aligned_sized(void *p, size_t align, size_t bytes);
EXPORT void free_aligned_sized(void *p, size_t align, size_t bytes)
{
    track_free_aligned(p, bytes, align, OP(FREE_ALIGNED_SIZED, ALIGNED), CALLER);
}

/* ---- glibc's internal names ------------------------------------------------------------------ */

EXPORT void *__libc_malloc(size_t bytes);
EXPORT void *__libc_malloc(size_t bytes)
{
    return track_alloc(bytes, MIN_ALIGN, OP(MALLOC, MALLOC), CALLER);
}

EXPORT void __libc_free(void *p);
EXPORT void __libc_free(void *p)
{
    track_free(p, OP(FREE, MALLOC), CALLER);
}

EXPORT void *__libc_calloc(size_t count, size_t bytes);
EXPORT void *__libc_calloc(size_t count, size_t bytes)
{
    return zeroed(count, bytes, CALLER);
}

EXPORT void *__libc_realloc(void *p, size_t bytes);
EXPORT void *__libc_realloc(void *p, size_t bytes)
{
    return resized(p, bytes, OP(REALLOC, MALLOC), CALLER);
}

EXPORT void *__libc_memalign(size_t align, size_t bytes);
EXPORT void *__libc_memalign(size_t align, size_t bytes)
{
    return aligned(align, bytes, OP(MEMALIGN, ALIGNED), CALLER);
}

EXPORT void *__libc_valloc(size_t bytes);
EXPORT void *__libc_valloc(size_t bytes)
{
    return aligned(PAGE_BYTES, bytes, OP(VALLOC, ALIGNED), CALLER);
}

EXPORT void *__libc_pvalloc(size_t bytes);
EXPORT void *__libc_pvalloc(size_t bytes)
{
    return whole_pages(bytes, CALLER);
}
