/*
 * rows_glibc.c - glibc's own surface around malloc: the module that defines each name, usable
 * sizes, statistics and tuning, the __libc_ names, functions for old binaries and C23 programs.
 */
#include "rows.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As an old binary has them: bound to a version that new programs cannot link with. */
void old_cfree(void *p);
__asm__(".symver old_cfree, cfree@GLIBC_2.2.5");

void row_in_control(void)
{
    const char *library = is_preloaded() ? "librtcheck.so" : conform_library;
    const char *name = module_name(dlsym(RTLD_DEFAULT, "malloc"));
    expect(strcmp(name, library) == 0, "malloc is that of %s, not of %s", name, library);
}

/* "rw-s" or "rw-p" of the mapping that an address lies in. */
static bool find_mapping(const void *address, char permissions[8])
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &start, &end, permissions) == 3 &&
                (uintptr_t)address >= start && (uintptr_t)address < end;
    }
    if (maps)
        fclose(maps);
    return found;
}

/* That the rows of a run with heap=file are about that heap. */
void row_heap_where_asked_for(void)
{
    const char *wanted = is_heap_in_file() ? "rw-s" : "rw-p";
    for (size_t n = 100; n <= 1000000; n *= 100) {
        char permissions[8] = "";
        void *p = malloc(n);
        expect(find_mapping(p, permissions) && strcmp(permissions, wanted) == 0,
               "block of %zu bytes in a mapping %s, not %s", n, permissions, wanted);
        free(p);
    }
}

/* A name defined by another module means two heaps: each frees blocks of the other. */
static void expect_one_module(const char *const *names)
{
    const void *module = module_of(dlsym(RTLD_DEFAULT, "malloc"));
    for (; *names; names++) {
        void *symbol = dlsym(RTLD_DEFAULT, *names);
        expect(symbol && module_of(symbol) == module, "%s is that of %s", *names,
               module_name(symbol));
    }
}

void row_surface(void)
{
    static const char *const names[] = {
        /* clang-format off */
        "malloc", "calloc", "realloc", "reallocarray", "free", "memalign", "aligned_alloc",
        "posix_memalign", "valloc", "pvalloc", "malloc_usable_size", "mallinfo", "mallinfo2",
        "mallopt", "malloc_trim", "malloc_info", "malloc_stats", NULL,
        /* clang-format on */
    };
    expect_one_module(names);
}

void row_surface_libc_names(void)
{
    static const char *const names[] = {
        "__libc_malloc", "__libc_calloc",  "__libc_realloc",  "__libc_free", "__libc_memalign",
        "__libc_valloc", "__libc_pvalloc", "__libc_mallinfo", NULL,
    };
    expect_one_module(names);
}

/* glibc before 2.43 lacks them; programs that look them up must get all of ours or none. */
void row_surface_c23(void)
{
    static const char *const names[] = {"free_sized", "free_aligned_sized", NULL};
    if (is_preloaded())
        expect_one_module(names);
}

void row_cfree(void)
{
    expect(module_of((const void *)(uintptr_t)&old_cfree) ==
               module_of(dlsym(RTLD_DEFAULT, "malloc")),
           "cfree is that of %s", module_name((const void *)(uintptr_t)&old_cfree));
    for (size_t n = 1; n < 3000000; n = n * 3 + 1) {
        void *p = malloc(n);
        expect_block(p, n, 16);
        old_cfree(p);
    }
    errno = ERRNO_KEPT;
    old_cfree(escape(NULL));
    print_result("of NULL: errno %s", errno_text(errno));
}

void row_free_sized(void)
{
    void (*free_sized)(void *, size_t);
    *(void **)&free_sized = dlsym(RTLD_DEFAULT, "free_sized");
    if (!free_sized)
        return;
    for (size_t n = 1; n < 3000000; n = n * 3 + 1) {
        void *p = malloc(n), *q = calloc(n, 1), *r = realloc(escape(NULL), n);
        free_sized(p, n);
        free_sized(q, n);
        free_sized(r, n);
    }
    errno = ERRNO_KEPT;
    free_sized(NULL, 0);
    free_sized(NULL, 100);
    free_sized(malloc(opaque(0)), 0);
    expect(errno == ERRNO_KEPT, "errno %s", errno_text(errno));
}

void row_free_aligned_sized(void)
{
    void (*free_aligned_sized)(void *, size_t, size_t);
    *(void **)&free_aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    if (!free_aligned_sized)
        return;
    for (size_t alignment = 16; alignment <= (1u << 20); alignment *= 4)
        free_aligned_sized(aligned_alloc(alignment, 2 * alignment), alignment, 2 * alignment);
    errno = ERRNO_KEPT;
    free_aligned_sized(NULL, 64, 64);
    expect(errno == ERRNO_KEPT, "errno %s", errno_text(errno));
}

void row_memalignment(void)
{
    size_t (*memalignment)(const void *);
    *(void **)&memalignment = dlsym(RTLD_DEFAULT, "memalignment");
    if (!memalignment)
        return;
    expect(memalignment(NULL) == 0, "of NULL: %zu", memalignment(NULL));
    for (size_t alignment = 1; alignment < ((size_t)1 << 40); alignment *= 2)
        expect(memalignment((void *)(3 * alignment)) == alignment, "of 3 * %#zx: %#zx", alignment,
               memalignment((void *)(3 * alignment)));
}

void row_usable_of_null(void)
{
    errno = ERRNO_KEPT;
    size_t n = malloc_usable_size(escape(NULL));
    print_result("%zu, errno %s", n, errno_text(errno));
}

void row_usable_every_size(void)
{
    for (size_t n = 0; n <= 6000; n++) {
        void *p = malloc(n);
        expect_usable(p, n);
        free(p);
    }
}

/* The usable size may be written completely: no neighbour is changed. */
void row_usable_is_writable(void)
{
    enum { BLOCKS = 2000 };
    static char *blocks[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(1 + i * 7 % 900);
        pattern_fill(blocks[i], malloc_usable_size(blocks[i]), i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        expect(pattern_holds(blocks[i], malloc_usable_size(blocks[i]), i), "block %u damaged", i);
        free(blocks[i]);
    }
}

void row_usable_slack_is_bounded(void)
{
    for (size_t n = 1; n < 2000000; n = n * 2 + 1) {
        void *p = malloc(n);
        size_t slack = malloc_usable_size(p) - n, most = n > 131072 ? 8192 : n / 4 + 32;
        expect(slack <= most, "%zu bytes of slack behind %zu", slack, n);
        free(p);
    }
}

void row_usable_of_aligned(void)
{
    for (size_t alignment = 16; alignment <= (1u << 20); alignment *= 4)
        for (size_t n = 1; n < 200000; n = n * 5 + 1) {
            void *p = memalign(alignment, n);
            expect_usable(p, n);
            free(p);
        }
}

void row_usable_of_large(void)
{
    for (size_t n = 65000; n < 40000000; n = n * 2 + 12345) {
        void *p = malloc(n);
        expect_usable(p, n);
        free(p);
    }
}

void row_usable_keeps_errno(void)
{
    void *p = malloc(10);
    errno = ERRNO_KEPT;
    (void)malloc_usable_size(p);
    print_result("errno %s", errno_text(errno));
    free(p);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int mallinfo_in_use(void)
{
    struct mallinfo info = mallinfo();
    return info.uordblks + info.hblkhd;
}
#pragma GCC diagnostic pop

static size_t mallinfo2_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* 8 MiB in small and in big blocks: both must be counted, whether or not overhead is. */
void row_mallinfo_follows_use(void)
{
    enum { BLOCKS = 4096 };
    static void *blocks[BLOCKS];
    for (size_t size = 1000; size <= 4000000; size *= 4000) {
        size_t count = size > 1000 ? 2 : BLOCKS;
        int before = mallinfo_in_use();
        for (size_t i = 0; i < count; i++)
            blocks[i] = malloc(size);
        int during = mallinfo_in_use();
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
        expect(before >= 0 && during >= before + (int)(count * size),
               "%zu blocks of %zu bytes: from %d to %d", count, size, before, during);
    }
}

void row_mallinfo2_follows_use(void)
{
    size_t before = mallinfo2_in_use();
    void *p = malloc(20000000);
    size_t during = mallinfo2_in_use();
    free(p);
    size_t after = mallinfo2_in_use();
    expect(during >= before + 20000000 && during < before + 30000000, "from %zu to %zu", before,
           during);
    expect(after + 19000000 < during, "from %zu to %zu", during, after);
}

void row_mallinfo2_is_plausible(void)
{
    void *p = malloc(1000000);
    struct mallinfo2 info = mallinfo2();
    expect(info.arena + info.hblkhd >= 1000000, "arena %zu, mapped %zu", info.arena, info.hblkhd);
    expect(info.uordblks + info.fordblks <= info.arena + info.hblkhd,
           "used %zu, free %zu, arena %zu", info.uordblks, info.fordblks, info.arena);
    expect(info.arena < (size_t)1 << 40 && info.fordblks < (size_t)1 << 40, "arena %zu, free %zu",
           info.arena, info.fordblks);
    free(p);
}

void row_mallinfo_agrees_with_mallinfo2(void)
{
    expect(mallinfo_in_use() == (int)mallinfo2_in_use(), "%d and %zu", mallinfo_in_use(),
           mallinfo2_in_use());
}

void row_malloc_info(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    int failed = malloc_info(0, stream);
    fclose(stream);
    bool starts = n > 16 && strncmp(text, "<malloc version=", 16) == 0;
    bool ends = n > 10 && strcmp(text + n - 10, "</malloc>\n") == 0;
    print_result("returns %d, %s, %s", failed, starts ? "starts as it should" : "starts oddly",
                 ends ? "ends as it should" : "ends oddly");
    free(text);
}

void row_malloc_info_bad_options(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    int one = malloc_info(1, stream), minus = malloc_info(-1, stream);
    fclose(stream);
    print_result("%s, %s, %zu bytes written", errno_text(one), errno_text(minus), n);
    free(text);
}

void row_malloc_trim(void)
{
    void *p = malloc(3000000);
    free(p);
    int first = malloc_trim(0), second = malloc_trim(1u << 20);
    expect((first | 1) == 1 && (second | 1) == 1, "returns %d and %d", first, second);
    void *q = malloc(100);
    expect_block(q, 100, 16);
    free(q);
}

void row_malloc_trim_with_blocks_live(void)
{
    enum { BLOCKS = 500 };
    static char *blocks[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++)
        pattern_fill(blocks[i] = malloc(3000), 3000, i);
    for (uint32_t i = 0; i < BLOCKS; i += 2) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    malloc_trim(0);
    for (uint32_t i = 1; i < BLOCKS; i += 2) {
        expect(pattern_holds(blocks[i], 3000, i), "block %u damaged", i);
        free(blocks[i]);
    }
}

void row_mallopt(void)
{
    print_result("M_MXFAST %d", mallopt(M_MXFAST, 64));
    print_result("M_TRIM_THRESHOLD %d", mallopt(M_TRIM_THRESHOLD, 256 * 1024));
    print_result("M_TOP_PAD %d", mallopt(M_TOP_PAD, 64 * 1024));
    print_result("M_MMAP_THRESHOLD %d", mallopt(M_MMAP_THRESHOLD, 256 * 1024));
    print_result("M_MMAP_MAX %d", mallopt(M_MMAP_MAX, 1000));
    print_result("M_CHECK_ACTION %d", mallopt(M_CHECK_ACTION, 3));
    print_result("M_PERTURB %d", mallopt(M_PERTURB, 0));
    print_result("M_ARENA_TEST %d", mallopt(M_ARENA_TEST, 4));
    print_result("M_ARENA_MAX %d", mallopt(M_ARENA_MAX, 8));
    void *p = malloc(300000);
    expect_block(p, 300000, 16);
    free(p);
}

void row_mallopt_unknown(void)
{
    print_result("%d, %d", mallopt(12345, 1), mallopt(-12345, 0));
}

void row_libc_names_round_trip(void)
{
    void *(*libc_malloc)(size_t), *(*libc_calloc)(size_t, size_t);
    void *(*libc_realloc)(void *, size_t);
    void (*libc_free)(void *);
    *(void **)&libc_malloc = dlsym(RTLD_DEFAULT, "__libc_malloc");
    *(void **)&libc_calloc = dlsym(RTLD_DEFAULT, "__libc_calloc");
    *(void **)&libc_realloc = dlsym(RTLD_DEFAULT, "__libc_realloc");
    *(void **)&libc_free = dlsym(RTLD_DEFAULT, "__libc_free");
    for (size_t n = 1; n < 3000000; n = n * 5 + 1) {
        char *p = libc_malloc(n);
        expect_block(p, n, 16);
        pattern_fill(p, n, 1);
        p = realloc(p, 2 * n);
        expect(p && pattern_holds(p, n, 1), "__libc_malloc, realloc: %zu bytes lost", n);
        p = libc_realloc(p, n);
        expect(p && pattern_holds(p, n, 1), "__libc_realloc: %zu bytes lost", n);
        free(p);
        p = libc_calloc(n, 1);
        expect(p && is_zeroed(p, n), "__libc_calloc: %zu bytes dirty", n);
        free(p);
        libc_free(malloc(n));
        libc_free(libc_malloc(n));
    }
    libc_free(NULL);
}

void row_libc_names_aligned(void)
{
    void *(*libc_memalign)(size_t, size_t), *(*libc_valloc)(size_t), *(*libc_pvalloc)(size_t);
    *(void **)&libc_memalign = dlsym(RTLD_DEFAULT, "__libc_memalign");
    *(void **)&libc_valloc = dlsym(RTLD_DEFAULT, "__libc_valloc");
    *(void **)&libc_pvalloc = dlsym(RTLD_DEFAULT, "__libc_pvalloc");
    void *p = libc_memalign(1024, 100), *q = libc_valloc(100), *r = libc_pvalloc(100);
    expect_block(p, 100, 1024);
    expect_block(q, 100, 4096);
    expect_block(r, 4096, 4096);
    free(p);
    free(q);
    free(r);
}

void row_libc_names_refuse(void)
{
    void *(*libc_malloc)(size_t), *(*libc_calloc)(size_t, size_t);
    *(void **)&libc_malloc = dlsym(RTLD_DEFAULT, "__libc_malloc");
    *(void **)&libc_calloc = dlsym(RTLD_DEFAULT, "__libc_calloc");
    OBSERVE(libc_malloc(opaque(SIZE_MAX)));
    OBSERVE(libc_calloc(opaque(SIZE_MAX), 3));
    OBSERVE(libc_malloc(opaque(0)));
}

void row_libc_mallinfo(void)
{
    struct mallinfo (*libc_mallinfo)(void);
    *(void **)&libc_mallinfo = dlsym(RTLD_DEFAULT, "__libc_mallinfo");
    void *p = malloc(5000000);
    struct mallinfo info = libc_mallinfo();
    expect(info.uordblks + info.hblkhd >= 5000000, "used %d, mapped %d", info.uordblks,
           info.hblkhd);
    free(p);
}

static int hooks_called;

static void *hook_malloc(size_t n, const void *caller)
{
    (void)n, (void)caller;
    hooks_called++;
    return NULL;
}

static void hook_free(void *p, const void *caller)
{
    (void)p, (void)caller;
    hooks_called++;
}

/* Still exported for old binaries; glibc has not called them since 2.34. */
void row_malloc_hooks_never_called(void)
{
    void *(**malloc_hook)(size_t, const void *);
    void (**free_hook)(void *, const void *);
    *(void **)&malloc_hook = dlvsym(RTLD_DEFAULT, "__malloc_hook", "GLIBC_2.2.5");
    *(void **)&free_hook = dlvsym(RTLD_DEFAULT, "__free_hook", "GLIBC_2.2.5");
    print_result("%s", malloc_hook && free_hook ? "both found" : "not found");
    if (!malloc_hook || !free_hook)
        return;
    *malloc_hook = hook_malloc;
    *free_hook = hook_free;
    free(malloc(100));
    free(calloc(100, 1));
    free(strdup("hooks"));
    *malloc_hook = NULL;
    *free_hook = NULL;
    print_result("called %d times", hooks_called);
}

/* By name: the functions of mtrace.h and mcheck.h only work with a debug library of glibc's. */
void row_mtrace_and_mcheck(void)
{
    void (*mtrace)(void), (*muntrace)(void);
    int (*mcheck)(void (*)(int)), (*mprobe)(void *);
    *(void **)&mtrace = dlsym(RTLD_DEFAULT, "mtrace");
    *(void **)&muntrace = dlsym(RTLD_DEFAULT, "muntrace");
    *(void **)&mcheck = dlsym(RTLD_DEFAULT, "mcheck");
    *(void **)&mprobe = dlsym(RTLD_DEFAULT, "mprobe");
    void *p = malloc(100);
    if (mtrace)
        mtrace();
    if (muntrace)
        muntrace();
    print_result("mcheck %d, mprobe %d", mcheck ? mcheck(NULL) : 99, mprobe ? mprobe(p) : 99);
    free(p);
}

static int free_what_libc_holds(void *unused)
{
    (void)unused;
    void (*libc_freeres)(void);
    *(void **)&libc_freeres = dlsym(RTLD_DEFAULT, "__libc_freeres");
    if (libc_freeres)
        libc_freeres();
    void *p = malloc(100);
    free(p);
    return p ? 0 : 1;
}

void row_libc_freeres(void)
{
    print_child("child", free_what_libc_holds, NULL);
}
