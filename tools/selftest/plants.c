/*
 * plants.c - a program with an error of each class in findings.def.
 *
 * Sizes of leaked blocks differ, so that the report's entries can be told apart.  Most errors do not
 * harm the process, since the runtime rejects what would; the crash has a set of its own, because
 * nothing follows it.
 *
 * Functions are looked up where a compiler could warn of the error, optimise it away, or where libc
 * lacks them: the runtime exports operator new also for C programs.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "call_with_register.h"
#include "format/bits.h"
#include "selftest.h"

#define NOINLINE __attribute__((noinline))
#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

/* Different places with an error; sizes of blocks that leak. */
enum {
    PLACES_BAF = 1,
    PLACES_DUF = 1,
    PLACES_MAF = 1,
    PLACES_MIS = 1,
    PLACES_WUA = 4,
    PLACES_OOM = 1,
    PLACES_FOREIGN = 1,
    PLACES_BUM = 1,
    PLACES_RZE = 1,
    PLACES_BAL = 1,
    PLACES_CRASH = 1,
    PLACES_FDC = 1,
    PLACES_FDL = 1,
    PLACES_RUA = 1,
    PLACES_OVL = 1,
    PLACES_RUI = 1,
    BYTES_MEL = 1111,
    BYTES_AIB = 2222,
    BYTES_AIR = 3333,
    BYTES_BIU = 4444,
    BYTES_BIU_MAP = 37 * 4096 /* whole pages */
};

/* Volatile, so that the compiler does not know what is called. */
static void *(*volatile take)(size_t) = malloc;
static void (*volatile give)(void *) = free;

static void *function(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static NOINLINE void plant_BAF(void)
{
    static char not_allocated[64];
    give(not_allocated + 16);
}

static NOINLINE void plant_DUF(void)
{
    char *block = take(20);
    give(block);
    give(block);
}

static NOINLINE void plant_MAF(void)
{
    char *block = take(100);
    give(block + 48);
    give(block);
}

static NOINLINE void plant_MIS(void)
{
    void *(*new)(size_t);
    void *f = function("_Znwm"); /* operator new */
    memcpy(&new, &f, sizeof new);
    if (f)
        give(new (30));
}

static NOINLINE void write_past_end(void)
{
    volatile char *block = take(40);
    block[40] = 1;
    give((void *)(uintptr_t)block);
}

static NOINLINE void write_before_start(void)
{
    volatile char *block = take(200000);
    block[-1] = 1;
    give((void *)(uintptr_t)block);
}

static NOINLINE void write_after_free(void)
{
    volatile char *block = take(50);
    give((void *)(uintptr_t)block);
    block[8] = 1;
}

/* By calls of libc's functions, which the compiler does not replace. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile fill)(void *, int, size_t) = memset;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;

static NOINLINE void write_by_call(void)
{
    char *block = take(60);
    fill(block, 0, 61);
    give(block);
}

static NOINLINE void plant_RUA(void)
{
    char copied[90], *block = take(80);
    fill(block, 0, 80);
    copy(copied, block, 81);
    give(block);
}

static NOINLINE void plant_OVL(void)
{
    char text[32];
    fill(text, 0, sizeof text);
    copy(text, text + 1, 16);
}

static NOINLINE void plant_RUI(void)
{
    char given[16], *block = take(sizeof given);
    fill(given, 0, sizeof given);
    compare(block, given, sizeof given);
    give(block);
}

static NOINLINE void plant_WUA(void)
{
    write_by_call();
    write_past_end();
    write_before_start();
    write_after_free();
}

static NOINLINE void plant_OOM(void)
{
    give(take(PTRDIFF_MAX / 2));
}

static NOINLINE void plant_FOREIGN(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW); /* a lookup in it finds no interposed function */
    void *(*malloc_of_libc)(size_t);
    void *f = libc ? dlsym(libc, "malloc") : NULL;
    memcpy(&malloc_of_libc, &f, sizeof malloc_of_libc);
    if (f)
        give(malloc_of_libc(60));
}

static NOINLINE void plant_BUM(void)
{
    void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, PAGE);
    munmap(at, PAGE);
}

static NOINLINE void plant_RZE(void)
{
    void *(*volatile resize)(void *, size_t) = realloc;
    give(resize(take(70), 0));
}

static NOINLINE void plant_BAL(void)
{
    void *(*volatile aligned)(size_t, size_t) = aligned_alloc;
    give(aligned(24, 48));
}

static NOINLINE void plant_CRASH(void)
{
    *(volatile int *volatile)NULL = 1;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static NOINLINE void plant_FDC(void)
{
    int fd = open("/", O_RDONLY);
    close(fd);
    close(fd);
}

static NOINLINE void plant_FDL(void)
{
    (void)!open("/", O_RDONLY);
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static NOINLINE void plant_MEL(void)
{
    void *volatile lost = take(BYTES_MEL);
    lost = NULL;
    (void)lost;
}

static char *volatile inside;

static NOINLINE void plant_AIB(void)
{
    inside = take(BYTES_AIB);
    inside += 100;
}

static void *volatile start, *volatile mapped;

static NOINLINE void plant_BIU(void)
{
    start = take(BYTES_BIU);
}

static NOINLINE void plant_BIU_MAP(void)
{
    mapped = mmap(NULL, BYTES_BIU_MAP, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void end(void)
{
    exit(0);
}

/* Make what earlier calls left below the stack pointer unusable. */
static NOINLINE void scrub(void)
{
    volatile char stale[4096];
    memset((void *)(uintptr_t)stale, 0, sizeof stale);
}

/* The last one: the block's address is in a register while the program ends. */
static NOINLINE void plant_AIR(void)
{
    void *block = take(BYTES_AIR);
    call_with_register(&block, scrub, end);
}

/* ---- the program ----------------------------------------------------------------------------- */

enum { SET_ERRORS, SET_CRASH };
const char *const planted_sets[PLANTED_SETS] = {"errors", "crash"};

#define ERROR(id, value, class, code, title, titles, entry, help)            \
    {code,        title, ERROR_##id == ERROR_CRASH ? SET_CRASH : SET_ERRORS, \
     PLACES_##id, 0,     FINDING_##class == FINDING_NOTE,                    \
     plant_##id},
#define LEAK(id, code, title, help) {code, title, SET_ERRORS, 0, BYTES_##id, false, plant_##id},

const struct planted planted[] = {
#include "format/findings.def"
};
const unsigned planted_count = countof(planted);

int selftest_plant(const char *set)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (unsigned i = 0; i < planted_count; i++)
        if (strcmp(planted_sets[planted[i].set], set) == 0 && planted[i].plant != plant_AIR)
            planted[i].plant();
    if (strcmp(planted_sets[SET_ERRORS], set) == 0)
        plant_AIR();
    return 0;
}
