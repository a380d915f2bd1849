/*
 * rtc-build: shared
 *
 * backtrace.c - the reference for rtcheck: preloaded, it passes every allocation and free on to
 * glibc; with BENCH_BACKTRACE in the environment it first takes the whole call stack by libunwind's
 * unw_backtrace.  It stores nothing, so rtcheck does more.
 *
 * Without the variable it measures the cost of interposition alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 65 /* our own and the 64 that rtcheck stores */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static int (*walk)(void **, int);
static __attribute__((tls_model("initial-exec"))) _Thread_local int inside;
static __attribute__((tls_model("initial-exec"))) _Thread_local void *frame[FRAMES];

static inline void take_stack(void)
{
    if (!walk || inside)
        return;
    inside = 1; /* libunwind may allocate */
    walk(frame, FRAMES);
    inside = 0;
}

static __attribute__((noreturn)) void die(const char *why)
{
    dprintf(2, "backtrace.so: %s\n", why);
    _exit(126);
}

/* Allocates, too: that sets LeakSanitizer up when it is preloaded in front of us. */
static __attribute__((constructor)) void start(void)
{
    free(malloc(1));
    if (!getenv("BENCH_BACKTRACE"))
        return;
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *f = library ? dlsym(library, "unw_backtrace") : NULL;
    if (!f)
        die(dlerror());
    memcpy(&walk, &f, sizeof walk);
}

EXPORT void *malloc(size_t bytes)
{
    take_stack();
    return __libc_malloc(bytes);
}

EXPORT void free(void *p)
{
    if (p)
        take_stack();
    __libc_free(p);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    take_stack();
    return __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *p, size_t bytes)
{
    take_stack();
    return __libc_realloc(p, bytes);
}

EXPORT void *memalign(size_t align, size_t bytes)
{
    take_stack();
    return __libc_memalign(align, bytes);
}

EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
    take_stack();
    return __libc_memalign(align, bytes);
}

EXPORT int posix_memalign(void **out, size_t align, size_t bytes)
{
    int saved = errno;
    take_stack();
    void *p = __libc_memalign(align, bytes);
    errno = saved;
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}
