/*
 * by_libgcc.c - takes stacks by libgcc's unwinder instead of ours, and passes them to the oracle.
 *
 * A separate preloaded library.  It tests the oracle, in two ways: two independent unwinders have
 * to agree about programs that were not written for this, and each fault of RTC_ORACLE_FAULT has to
 * be found.  It is also a second opinion: if the runtime and libunwind differ about a program, `run
 * --by-libgcc` shows which of them agrees with libgcc.
 */
#include "oracle_priv.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 4096

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *p);
void *_Unwind_Find_FDE(void *pc, void *bases);

struct cached_stack {
    uintptr_t from; /* the interceptor's caller */
    unsigned count;
    bool cut;
    struct oracle_frame frame[FRAMES];
};

/* ---- faults --------------------------------------------------------------------------------- */

static void drop(struct cached_stack *t, unsigned i)
{
    memmove(&t->frame[i], &t->frame[i + 1], (t->count - i - 1) * sizeof t->frame[0]);
    t->count--;
}

static void spoil(struct cached_stack *t, const char *fault, enum oracle_end *end,
                  uintptr_t *decoded)
{
    static _Atomic unsigned calls;
    if (!fault || t->count < 4 || t->cut || atomic_fetch_add(&calls, 1) % 50 != 49)
        return;
    unsigned middle = t->count < 64 ? t->count / 2 : 32;
    if (!strcmp(fault, "sp"))
        t->frame[middle].sp += 8;
    else if (!strcmp(fault, "pc"))
        t->frame[middle].pc++;
    else if (!strcmp(fault, "first"))
        t->frame[0].sp += 8;
    else if (!strcmp(fault, "missing"))
        drop(t, middle);
    else if (!strcmp(fault, "short"))
        t->count = middle;
    else if (!strcmp(fault, "long"))
        t->frame[t->count++] =
            (struct oracle_frame){t->frame[0].pc, t->frame[t->count - 1].sp + 16};
    else if (!strcmp(fault, "cut"))
        *end = ORACLE_CUT_DEPTH;
    else if (!strcmp(fault, "depot"))
        decoded[middle] ^= 1;
}

/* ---- taking a stack --------------------------------------------------------------------------- */

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    struct cached_stack *t = argument;
    uintptr_t pc = _Unwind_GetIP(context);
    if (!pc)
        return _URC_END_OF_STACK;
    if (!t->count && pc != t->from)
        return _URC_NO_REASON;
    if (t->count == FRAMES) {
        t->cut = true;
        return _URC_END_OF_STACK;
    }
    t->frame[t->count++] = (struct oracle_frame){pc, _Unwind_GetCFA(context)};
    return _URC_NO_REASON;
}

static enum oracle_end end_of(const struct cached_stack *t)
{
    uintptr_t bases[3];
    if (t->cut)
        return ORACLE_CUT_DEPTH;
    uintptr_t pc = t->frame[t->count - 1].pc;
    return _Unwind_Find_FDE((void *)(pc - 1), bases) ? ORACLE_OUTERMOST : ORACLE_NO_INFO;
}

static void take(void *from)
{
    static __thread bool busy;
    if (busy)
        return;
    busy = true;
    oracle_follows_rbp = false;
    int saved = errno;
    struct cached_stack *t = __libc_malloc(sizeof *t);
    uintptr_t *decoded = __libc_malloc(FRAMES * sizeof *decoded);
    t->from = (uintptr_t)from;
    t->count = 0;
    t->cut = false;
    _Unwind_Backtrace(step, t);
    if (t->count) {
        enum oracle_end end = end_of(t);
        for (unsigned i = 0; i < t->count; i++)
            decoded[i] = t->frame[i].pc;
        spoil(t, environ ? getenv("RTC_ORACLE_FAULT") : NULL, &end, decoded);
        oracle_check(t->frame, t->count, end, false, decoded, t->count);
    }
    __libc_free(decoded);
    __libc_free(t);
    errno = saved;
    busy = false;
}

/* ---- the doors ------------------------------------------------------------------------------ */

#define TAKE take(__builtin_return_address(0))

EXPORT void *malloc(size_t bytes)
{
    TAKE;
    return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    TAKE;
    return __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *p, size_t bytes)
{
    TAKE;
    return __libc_realloc(p, bytes);
}

EXPORT void *memalign(size_t align, size_t bytes);
EXPORT void *memalign(size_t align, size_t bytes)
{
    TAKE;
    return __libc_memalign(align, bytes);
}

EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
    TAKE;
    return __libc_memalign(align, bytes);
}

EXPORT int posix_memalign(void **out, size_t align, size_t bytes)
{
    TAKE;
    *out = __libc_memalign(align, bytes);
    return *out ? 0 : ENOMEM;
}

/* glibc has no other name for it; in programs with their own malloc (redis) it would be theirs. */
EXPORT size_t malloc_usable_size(void *p);
EXPORT size_t malloc_usable_size(void *p)
{
    const size_t mapped = 2, size = p ? ((size_t *)p)[-1] : 0;
    return !p ? 0 : size & mapped ? (size & ~(size_t)7) - 16 : (size & ~(size_t)7) - 8;
}

EXPORT void free(void *p)
{
    TAKE;
    __libc_free(p);
}
