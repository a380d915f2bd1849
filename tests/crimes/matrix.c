/*
 * matrix.c - bad accesses: each kind of access in each place where it is bad, and the same code where it is good.
 *
 * matrix bad|good COUNT [PLACE...]: make each access COUNT times, in a function that has the name of
 * the cell (PLACE__ACCESS).  Those that crash or need slots in a row have a process each, the others
 * of a place one.  Prints the name and the status, from waitpid, of each process.
 * matrix: list the cells, with the bytes of the access (0: up to a zero byte) and the report's verb.
 *
 * Loads and stores are single instructions. Those of 32 bytes need AVX; without AVX, they are two of 16 bytes.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -fno-builtin -fno-optimize-sibling-calls -U_FORTIFY_SOURCE -fno-stack-protector
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#define COUNT_MAX 400
#define CELLS_MAX 32 /* of a place */
#define WIDEST 32u
#define FULL 64u /* a multiple of 16 */
#define ODD 40u  /* the slack of such a block has 8 bytes */
#define SPARE 4  /* blocks beside those that are accessed */
#define FAR 5000 /* in another block, if the blocks are not guarded */
#define FAR_SPARE 65
#define CALL_BYTES 8u
#define FREQUENT 300 /* calls, before those of the cell: more than are always checked */
/* Blocks freed, then blocks in use: all slots that were freed before are in use again. */
#define EVICTING 4000
#define REUSING 6000

static long count = 1;
static bool good;
static char buffer[64];
static int zeros, ends[2];
static bool refused; /* the last system call */

static void must(bool holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        exit(9);
    }
}

/* ---- accesses -------------------------------------------------------------------------------- */

#define LOAD(bytes, instruction, to)                                                      \
    static NOINLINE void load_##bytes(char *at)                                           \
    {                                                                                     \
        __asm__ volatile(instruction " (%0), " to : : "r"(at) : "rax", "xmm0", "memory"); \
    }
/* Registers that the caller does not use may hold any value, also that of redzones: store Zs. */
#define STORE(bytes, instruction, from)                                                      \
    static NOINLINE void store_##bytes(char *at)                                             \
    {                                                                                        \
        __asm__ volatile("movdqu %1, %%xmm0; movq %1, %%rax; " instruction " " from ", (%0)" \
                         :                                                                   \
                         : "r"(at), "m"(letters)                                             \
                         : "rax", "xmm0", "memory");                                         \
    }

static const char letters[WIDEST] = "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ";

LOAD(1, "movb", "%%al")
LOAD(2, "movw", "%%ax")
LOAD(4, "movl", "%%eax")
LOAD(8, "movq", "%%rax")
LOAD(16, "movdqu", "%%xmm0")
STORE(1, "movb", "%%al")
STORE(2, "movw", "%%ax")
STORE(4, "movl", "%%eax")
STORE(8, "movq", "%%rax")
STORE(16, "movdqu", "%%xmm0")

static bool has_avx(void)
{
    return __builtin_cpu_supports("avx") != 0;
}

static NOINLINE void load_32(char *at)
{
    if (has_avx())
        __asm__ volatile("vmovdqu (%0), %%ymm0; vzeroupper" : : "r"(at) : "xmm0", "memory");
    else
        __asm__ volatile("movdqu (%0), %%xmm0; movdqu 16(%0), %%xmm0"
                         :
                         : "r"(at)
                         : "xmm0", "memory");
}

static NOINLINE void store_32(char *at)
{
    if (has_avx())
        __asm__ volatile("vmovdqu %1, %%ymm0; vmovdqu %%ymm0, (%0); vzeroupper"
                         :
                         : "r"(at), "m"(letters)
                         : "xmm0", "memory");
    else
        __asm__ volatile("movdqu %1, %%xmm0; movdqu %%xmm0, (%0); movdqu %%xmm0, 16(%0)"
                         :
                         : "r"(at), "m"(letters)
                         : "xmm0", "memory");
}

static NOINLINE void copy_from(char *at)
{
    memcpy(buffer, at, CALL_BYTES);
}

static NOINLINE void copy_to(char *at)
{
    memcpy(at, buffer, CALL_BYTES);
}

static NOINLINE void length(char *at)
{
    *(volatile size_t *)buffer = strlen(at);
}

static NOINLINE void fill(char *at)
{
    memset(at, 'Z', CALL_BYTES);
}

static NOINLINE void send_out(char *at)
{
    refused = write(ends[1], at, CALL_BYTES) != (ssize_t)CALL_BYTES;
}

static NOINLINE void read_in(char *at)
{
    refused = read(zeros, at, CALL_BYTES) != (ssize_t)CALL_BYTES;
}

/* X(access, bytes, verb), for each place */
#define LOADS(X, place)           \
    X(place, load_1, 1, "read")   \
    X(place, load_2, 2, "read")   \
    X(place, load_4, 4, "read")   \
    X(place, load_8, 8, "read")   \
    X(place, load_16, 16, "read") \
    X(place, load_32, 32, "read")
#define STORES(X, place)            \
    X(place, store_1, 1, "write")   \
    X(place, store_2, 2, "write")   \
    X(place, store_4, 4, "write")   \
    X(place, store_8, 8, "write")   \
    X(place, store_16, 16, "write") \
    X(place, store_32, 32, "write")
#define CALLS_READ(X, place)                \
    X(place, copy_from, CALL_BYTES, "read") \
    X(place, length, 0, "read")
#define CALLS_WRITE(X, place)              \
    X(place, copy_to, CALL_BYTES, "write") \
    X(place, fill, CALL_BYTES, "write")
#define READS(X, place) LOADS(X, place) CALLS_READ(X, place) X(place, send_out, CALL_BYTES, "read")
#define WRITES(X, place) \
    STORES(X, place) CALLS_WRITE(X, place) X(place, read_in, CALL_BYTES, "write")
#define ALL(X, place) READS(X, place) WRITES(X, place)

/* X(place, access, ...), for each cell */
#define CELLS(X)            \
    ALL(X, before)          \
    ALL(X, end)             \
    ALL(X, slack)           \
    ALL(X, far)             \
    ALL(X, freed)           \
    ALL(X, reused)          \
    READS(X, uninitialised) \
    WRITES(X, constant)     \
    ALL(X, null)            \
    ALL(X, wild)            \
    ALL(X, stack)           \
    CALLS_READ(X, frequent) CALLS_WRITE(X, frequent)

typedef void access_function(char *at);

/* ---- places ---------------------------------------------------------------------------------- */

static char *block[COUNT_MAX + FAR_SPARE];

static NOINLINE char *make(size_t n)
{
    char *p = malloc(n);
    must(p, "memory");
    memset(p, 'a', n);
    p[n - 1] = 0;
    return p;
}

/* Blocks beside each other, all of this cell: without guards, a bad access may damage the next one. */
static void beside(access_function *access, size_t n, long offset, long spare)
{
    for (long i = 0; i < count + spare; i++)
        block[i] = make(n);
    for (long i = 2; i < count + 2; i++) {
        if (n == ODD && !good)
            block[i][n - 1] = 'a'; /* a string without an end */
        access(block[i] + (good ? 0 : offset));
    }
    for (long i = 0; i < count + spare; i++)
        free(block[i]);
}

static void in_before(access_function *access, size_t bytes)
{
    beside(access, FULL, -(long)(bytes ? bytes : 1), SPARE);
}

static void in_end(access_function *access, size_t bytes)
{
    (void)bytes;
    beside(access, FULL, FULL, SPARE);
}

/* The last byte of the access is the first past the end. */
static void in_slack(access_function *access, size_t bytes)
{
    beside(access, ODD, (long)(ODD + 1 - (bytes ? bytes : 2)), SPARE);
}

static void in_far(access_function *access, size_t bytes)
{
    (void)bytes;
    beside(access, FULL, FULL + FAR, FAR_SPARE);
}

static void in_freed(access_function *access, size_t bytes)
{
    (void)bytes;
    for (long i = 0; i < count; i++)
        block[i] = make(FULL);
    for (long i = 0; i < count; i++) {
        if (good)
            access(block[i]);
        free(block[i]);
        if (!good)
            access(block[i]);
    }
}

/* Called twice for each cell, with reuse_slots() between. */
static char *stale[CELLS_MAX][COUNT_MAX];
static unsigned cell_of_place;
static bool is_reused;

static void in_reused(access_function *access, size_t bytes)
{
    char **p = stale[cell_of_place];
    (void)bytes;
    for (long i = 0; i < count && !is_reused; i++)
        p[i] = make(FULL);
    for (long i = 0; i < count; i++) {
        if (is_reused != good)
            access(p[i]);
        if (!is_reused)
            free(p[i]);
    }
}

static void reuse_slots(void)
{
    static char *evicting[EVICTING];
    for (int i = 0; i < EVICTING; i++)
        evicting[i] = make(FULL);
    for (int i = 0; i < EVICTING; i++)
        free(evicting[i]);
    for (int i = 0; i < REUSING; i++)
        make(FULL);
    is_reused = true;
}

static void in_uninitialised(access_function *access, size_t bytes)
{
    (void)bytes;
    for (long i = 0; i < count; i++) {
        char *p = malloc(FULL);
        if (good)
            memset(p, 'a', FULL);
        p[FULL - 1] = 0; /* strings have an end */
        access(p);
        free(p);
    }
}

static void in_constant(access_function *access, size_t bytes)
{
    static const char constant[WIDEST] = "constant";
    (void)bytes;
    access(good ? buffer : (char *)(uintptr_t)constant);
}

static void in_null(access_function *access, size_t bytes)
{
    (void)bytes;
    access(good ? buffer : NULL);
}

static void in_wild(access_function *access, size_t bytes)
{
    (void)bytes;
    access(good ? buffer : (char *)(uintptr_t)(1ull << 40));
}

#define BELOW (48u << 10) /* further than the next frame, and functions that are called use less */

/* Deeper and deeper, until the access is below the end of the stack. */
static NOINLINE int deeper(access_function *access, int depth)
{
    volatile char frame[32768];
    frame[sizeof frame - 1] = 0;
    access((char *)(uintptr_t)frame - BELOW);
    return depth && !refused ? deeper(access, depth - 1) + frame[sizeof frame - 1] : 0;
}

static void in_stack(access_function *access, size_t bytes)
{
    (void)bytes;
    deeper(access, good ? 1 : 1000);
}

static void in_frequent(access_function *access, size_t bytes)
{
    char *p = make(FULL);
    for (int i = 0; i < FREQUENT; i++)
        access(p);
    free(p);
    in_end(access, bytes);
}

#define FUNCTION(place, access, bytes, verb)     \
    static NOINLINE void place##__##access(void) \
    {                                            \
        in_##place(access, bytes);               \
    }
CELLS(FUNCTION)

/* ---- processes ------------------------------------------------------------------------------- */

#define ROW(place, access, bytes, verb) \
    {#place, #access, bytes, verb, place##__##access, in_##place},
static const struct cell {
    const char *place, *access;
    size_t bytes;
    const char *verb;
    void (*run)(void);
    void (*in)(access_function *, size_t);
} cells[] = {CELLS(ROW)};
#define CELL_COUNT (sizeof cells / sizeof cells[0])

/* It crashes, or needs slots in a row. */
static bool has_own_process(const struct cell *c)
{
    return c->in == in_far || c->in == in_constant || c->in == in_null || c->in == in_wild ||
           c->in == in_stack;
}

static void run_all(const struct cell *first, size_t n)
{
    for (cell_of_place = 0; cell_of_place < n; cell_of_place++)
        first[cell_of_place].run();
}

static void run_place(const struct cell *first, size_t n)
{
    run_all(first, n);
    if (first->in == in_reused) {
        reuse_slots();
        run_all(first, n);
    }
}

static void run_process(const struct cell *first, size_t n)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_place(first, n);
        exit(0);
    }
    must(child > 0 && waitpid(child, &status, 0) == child, "child");
    printf("%s__%s %d\n", first->place, n == 1 ? first->access : "all", status);
}

static bool is_chosen(const char *place, int argc, char **argv)
{
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], place) == 0)
            return true;
    return argc <= 3;
}

static void list(void)
{
    for (size_t i = 0; i < CELL_COUNT; i++) {
        const struct cell *c = &cells[i];
        size_t bytes = c->bytes == 32 && !has_avx() ? 16 : c->bytes;
        printf("%s %s %zu %s\n", c->place, c->access, bytes, c->verb);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        list();
        return 0;
    }
    good = strcmp(argv[1], "good") == 0;
    count = strtol(argv[2], NULL, 10);
    zeros = open("/dev/zero", O_RDONLY);
    must(count > 0 && count <= COUNT_MAX && zeros >= 0 && pipe(ends) == 0, "arguments");
    for (size_t i = 0, n; i < CELL_COUNT; i += n) {
        const struct cell *c = &cells[i];
        for (n = 1; i + n < CELL_COUNT && cells[i + n].in == c->in && !has_own_process(c); n++)
            ;
        must(n <= CELLS_MAX, "cells of a place");
        if (is_chosen(c->place, argc, argv))
            run_process(c, n);
    }
    return 0;
}
