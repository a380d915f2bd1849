/*
 * accesses.c - calls of accesses*.def, in each kind of block: accesses MODE, where MODE is
 * list (the rows of the table), bad (each row beyond a block, in one process for each),
 * silent (each row within its block; prints the results) or
 * unreadable (each row with addresses that cannot be read; prints the signals).
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -fno-builtin -fno-inline -fno-optimize-sibling-calls -U_FORTIFY_SOURCE -Wno-format -Wno-nonnull
 */
#include <errno.h>
#include <search.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wrestrict"
#endif
#define SPACE (1u << 20)
#define SMALL 40u
#define LARGE 100000u

#include "../../src/boundary/fortified.h"

#define WIDE sizeof(wchar_t)

static char letters[SPACE]; /* a string of 'a' */
static wchar_t wide_letters[SPACE / WIDE];
static alignas(WIDE) char other[SPACE];
static wchar_t *const wide_other = (wchar_t *)(void *)other;

/* A string of n characters with its end. */
static const char *text(size_t n)
{
    return letters + SPACE - n;
}

static const wchar_t *wide_text(size_t n)
{
    return wide_letters + SPACE / WIDE - n;
}

static char *emptied(void)
{
    other[0] = 0;
    return other;
}

static wchar_t *wide_emptied(void)
{
    *wide_other = 0;
    return wide_other;
}

/* Of a string that is a copy: its length. */
static size_t released(char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    free(s);
    return n;
}

static size_t wide_released(wchar_t *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    free(s);
    return n;
}

static char *end_of_number;

/* The byte that redzones hold: a token ends there. */
#define REDZONE_BYTES "\xb5"

static char *put(char *at, char c)
{
    *at = c;
    return at;
}

static int byte_order(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static int byte_order_r(const void *a, const void *b, void *unused)
{
    (void)unused;
    return byte_order(a, b);
}

static int always_equal(const void *a, const void *b)
{
    (void)a;
    (void)b;
    return 0;
}

#include "accesses_calls.h"

/* ---- the table ------------------------------------------------------------------------------- */

enum kind {
    READ,
    WRITE,
    STRING,
    DIGITS,
    BLANKS,
    APPEND,
    PATH,
    FIXED_READ,
    FIXED_WRITE,
    OVERLAP,
    SILENT,
    MAY_BE_NONE
};

typedef long call_function(char *p, size_t n);

static struct call {
    const char *function, *role, *kind_name;
    enum kind kind;
    int line;
    unsigned bytes, distance;
    unsigned unit; /* bytes of an element */
    call_function *call;
} calls[];

#define DEFINE(prefix, function, role, expression)                       \
    static NOINLINE long prefix##_##function##_##role(char *p, size_t n) \
    {                                                                    \
        wchar_t *w = (wchar_t *)(void *)p;                               \
        long result = (long)(expression);                                \
        __asm__ volatile("" : "+r"(result), "+r"(n), "+r"(w), "+r"(p));  \
        return result;                                                   \
    }
#define CALL(function, role, kind, expression) DEFINE(call, function, role, expression)
#define FIXED(function, role, kind, bytes, expression) DEFINE(call, function, role, expression)
#define OVERLAP(function, role, bytes, distance, expression) \
    DEFINE(overlap, function, role, expression)
#define SILENT(function, role, expression) DEFINE(silent, function, role, expression)
#define MAY_BE_NONE(function, role, expression) DEFINE(none, function, role, expression)
#include "accesses.def"
#include "accesses_others.def"
#include "accesses_system.def"
#include "accesses_wide.def"
#undef CALL
#undef FIXED
#undef OVERLAP
#undef SILENT
#undef MAY_BE_NONE

static struct call calls[] = {
#define ROW(f, role, kind, name, bytes, distance, call) \
    {#f, #role, name, kind, __LINE__, bytes, distance, UNIT, call##_##f##_##role},
#define CALL(f, role, kind, expression) ROW(f, role, kind, #kind, 0, 0, call)
#define FIXED(f, role, kind, bytes, expression) ROW(f, role, kind, #kind, bytes, 0, call)
#define OVERLAP(f, role, bytes, distance, expression) \
    ROW(f, role, OVERLAP, "OVERLAP", bytes, distance, overlap)
#define SILENT(f, role, expression) ROW(f, role, SILENT, "SILENT", 0, 0, silent)
#define MAY_BE_NONE(f, role, expression) ROW(f, role, MAY_BE_NONE, "NONE", 0, 0, none)
#include "accesses.def"
#include "accesses_others.def"
#include "accesses_system.def"
#include "accesses_wide.def"
};
#define CALLS (sizeof calls / sizeof calls[0])

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool printing;

static void fill(char *p, size_t n, char c)
{
    for (size_t i = 0; i < n; i++)
        ((volatile char *)p)[i] = c;
}

/* Fill with elements of the call. */
static void fill_for(const struct call *c, char *p, size_t bytes, char value)
{
    if (c->unit != WIDE)
        fill(p, bytes, value);
    else
        for (size_t i = 0; i < bytes / WIDE; i++)
            ((volatile wchar_t *)(void *)p)[i] = value;
}

/* A block without a zero; one to append to begins with one. */
static char *take(const struct call *c, size_t bytes)
{
    char *block = malloc(bytes);
    fill_for(c, block, bytes, c->kind == DIGITS ? '1' : c->kind == BLANKS ? ' ' : 'a');
    if (c->kind == APPEND)
        fill(block, c->unit, 0);
    return block;
}

/* The result, if it is the same in every run, and what is in the block now. */
static void print_result(const struct call *c, const char *where, long result, const char *block,
                         size_t bytes)
{
    uintptr_t r = (uintptr_t)result, p = (uintptr_t)block, o = (uintptr_t)other,
              l = (uintptr_t)letters;
    unsigned long sum = 5381;
    if (!printing)
        return;
    for (size_t i = 0; i < bytes; i++)
        sum = sum * 33 + (unsigned char)block[i];
    fprintf(results, "%s %s %s: ", c->function, c->role, where);
    if (r - p <= bytes)
        fprintf(results, "block + %lu", (unsigned long)(r - p));
    else if (r - o <= SPACE)
        fprintf(results, "other + %lu", (unsigned long)(r - o));
    else if (r - l <= SPACE)
        fprintf(results, "letters + %lu", (unsigned long)(r - l));
    else if (result >= -255 && result <= (long)LARGE)
        fprintf(results, "%ld", result);
    fprintf(results, ", %lx\n", sum);
}

/* ---- call sites: one function for each, so that their stacks differ ----------------------------- */

#define IN_USE(name, size, offset, bytes)             \
    static NOINLINE void name(const struct call *c)   \
    {                                                 \
        char *block = take(c, size);                  \
        c->call(block + (offset), (bytes) / c->unit); \
        free(block);                                  \
    }
#define FREED(name, size, offset, bytes)                                        \
    static NOINLINE void name(const struct call *c)                             \
    {                                                                           \
        char *block = take(c, size);                                            \
        free(block);                                                            \
        c->call(block + (offset), (c->kind == APPEND ? 4 : (bytes)) / c->unit); \
    }

IN_USE(slab_end, SMALL, 0, SMALL + c->unit)
IN_USE(slab_past, SMALL, SMALL, 4)
IN_USE(slab_far, SMALL, SMALL + 4, 4)
IN_USE(slab_before, SMALL, -8, 16)
FREED(slab_freed, SMALL, 0, SMALL)
FREED(slab_freed_inside, SMALL, 8, 4)
IN_USE(large_end, LARGE, 0, LARGE + c->unit)
IN_USE(large_past, LARGE, LARGE, 4)
IN_USE(large_far, LARGE, LARGE + 4, 4)
IN_USE(large_before, LARGE, -8, 16)
FREED(large_freed, LARGE, 0, LARGE)
FREED(large_freed_inside, LARGE, 8, 4)

/* The same for accesses whose size is the function's. */
#define FIXED_PLACE(name, size, offset, is_freed)   \
    static NOINLINE void name(const struct call *c) \
    {                                               \
        char *block = take(c, size);                \
        if (is_freed)                               \
            free(block);                            \
        c->call(block + (offset), c->bytes);        \
        if (!(is_freed))                            \
            free(block);                            \
    }

FIXED_PLACE(fixed_end, c->bytes - 1, 0, false)
FIXED_PLACE(fixed_past, c->bytes, c->bytes, false)
FIXED_PLACE(fixed_before, c->bytes, -8, false)
FIXED_PLACE(fixed_freed, c->bytes, 0, true)

static alignas(WIDE) char own_buffer[64 * WIDE];

static void string_of_20(const struct call *c, char *p)
{
    fill_for(c, p, 64 * c->unit, 'b');
    fill_for(c, p, 20 * c->unit, 'a');
    fill(p + 20 * c->unit, c->unit, 0);
}

static NOINLINE void overlap_outside(const struct call *c)
{
    string_of_20(c, own_buffer);
    c->call(own_buffer, 0);
}

static NOINLINE void overlap_in_block(const struct call *c)
{
    char *block = malloc(64 * c->unit);
    string_of_20(c, block);
    c->call(block, 0);
    free(block);
}

static void do_bad(const struct call *c)
{
    static void (*const places[])(const struct call *) = {
        slab_end,  slab_past,  slab_far,  slab_before,  slab_freed,  slab_freed_inside,
        large_end, large_past, large_far, large_before, large_freed, large_freed_inside};
    if (c->kind == FIXED_READ || c->kind == FIXED_WRITE) {
        fixed_end(c);
        fixed_past(c);
        if (c->bytes >= 16) /* fewer could belong to the block before */
            fixed_before(c);
        fixed_freed(c);
    } else if (c->kind == OVERLAP) {
        overlap_outside(c);
        overlap_in_block(c);
    } else if (c->kind < OVERLAP) {
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
            places[i](c);
    }
}

/* One process for each row: what it overwrites is of no concern to the next. */
static void run_bad(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            do_bad(&calls[i]);
            exit(0);
        }
        waitpid(child, &status, 0);
        fprintf(results, "%s %s %d\n", calls[i].function, calls[i].role, status);
    }
}

/* ---- twins ----------------------------------------------------------------------------------- */

static NOINLINE void do_silent(const struct call *c, size_t bytes, size_t offset)
{
    char *block = take(c, bytes);
    offset -= offset % c->unit;
    size_t n = (bytes - offset) / c->unit;
    if (c->kind == STRING || c->kind == DIGITS || c->kind == BLANKS || c->kind == PATH)
        fill(block + bytes - c->unit, c->unit, 0);
    if (c->kind == APPEND)
        fill(block + offset, c->unit, 0);
    print_result(c, bytes == SMALL ? "slab" : "large", c->call(block + offset, n), block, bytes);
    free(block);
}

/* What is written there differs from run to run. */
static NOINLINE void do_fixed(const struct call *c)
{
    char *block = take(c, c->bytes);
    print_result(c, "fixed", c->call(block, c->bytes), block, 0);
    free(block);
}

static NOINLINE void do_none(const struct call *c)
{
    char *block = take(c, SMALL), *freed = take(c, SMALL), *large = take(c, LARGE);
    print_result(c, "end", c->call(block + SMALL, 0), block, SMALL);
    c->call(block - 8, 0);
    c->call(block + SMALL + 20, 0);
    free(freed);
    c->call(freed, 0);
    c->call(large + LARGE, 0);
    free(large);
    c->call(large, 0);
    c->call((char *)8, 0);
    free(block);
}

static void run_silent(void)
{
    printing = true;
    for (size_t i = 0; i < CALLS; i++) {
        const struct call *c = &calls[i];
        if (c->kind == OVERLAP)
            continue;
        if (c->kind == MAY_BE_NONE) {
            do_none(c);
        } else if (c->kind == SILENT) {
            do_silent(c, SMALL, 0);
        } else if (c->kind == FIXED_READ || c->kind == FIXED_WRITE) {
            do_fixed(c);
        } else {
            static const size_t offsets[] = {0, 1, 17, SMALL - 1};
            for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; o++)
                do_silent(c, SMALL, offsets[o]);
            do_silent(c, LARGE, 0);
            do_silent(c, LARGE, LARGE - 1);
        }
    }
}

/* ---- addresses that cannot be read ------------------------------------------------------------- */

static void run_unreadable(void)
{
    char *const addresses[] = {NULL, (char *)24, (char *)0x5a5a5a5a5a5a5a50};
    for (size_t i = 0; i < CALLS * 3; i++) {
        const struct call *c = &calls[i / 3];
        int status;
        pid_t child = c->kind < OVERLAP ? fork() : -1;
        if (child == 0) {
            c->call(addresses[i % 3], 4);
            _exit(0);
        }
        if (child > 0 && waitpid(child, &status, 0) == child)
            fprintf(results, "%s %s %zu: %d\n", c->function, c->role, i % 3, status & 0x7f);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    fill(letters, SPACE - 1, 'a');
    for (size_t i = 0; i < SPACE / WIDE - 1; i++)
        wide_letters[i] = L'a';
    open_streams();
    if (strcmp(mode, "bad") == 0)
        run_bad();
    else if (strcmp(mode, "silent") == 0)
        run_silent();
    else if (strcmp(mode, "unreadable") == 0)
        run_unreadable();
    else
        for (size_t i = 0; i < CALLS; i++)
            fprintf(results, "%s %s %s %d %u %u %u\n", calls[i].function, calls[i].role,
                    calls[i].kind_name, calls[i].line, calls[i].bytes, calls[i].distance,
                    calls[i].unit);
    return 0;
}
