/*
 * harness.h - functions that all rows of the conformance test use.
 *
 * A row observes the allocator and prints its observations, one line `name: observation` each.  It
 * contains no expected result where glibc has one: the script `run` also runs the rows on glibc and
 * compares both outputs row by row.  Rows state expectations of their own where the two differ by
 * design (the usable size), or where the correct result is known (a pattern must be intact).  They
 * print only expectations that fail; for a row without any output `name: ok` is printed.
 */
#ifndef CONFORM_HARNESS_H
#define CONFORM_HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum row_needs {
    ANYWHERE = 0,
    OUTSIDE = 1,      /* uses system calls that the sandbox kills for */
    RUNTIME_ONLY = 2, /* not specified by glibc; the expected output is "ok" */
};

struct row {
    const char *name;
    int needs; /* mask of row_needs */
    void (*observe)(void);
};

/* Defined by the program: conform.c, conform_cxx.cc. */
extern const struct row conform_rows[];
extern const size_t conform_row_count;
extern const char *const conform_library; /* the library whose malloc runs without rtcheck */

/*
 * conform [--ours] [--heap-in-file] [--sandbox] [--brief] [--list] [ROW...]: all rows, or those
 * named, or only their names; brief: a fifth of the rounds.
 * Status 0, or 1 when a row's expectation did not hold, 124 no sandbox, 125 usage.
 */
int conform_main(int argc, char **argv);

bool is_preloaded(void);    /* the runtime is preloaded: --ours was given */
bool is_heap_in_file(void); /* --heap-in-file was given */
int rounds(int full);       /* iterations of a row that repeats its work; 1 or more */

void print_result(const char *format, ...) __attribute__((format(printf, 1, 2)));
void expect_result(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool row_has_missed(void); /* for a child, which returns it as its status */

/* Print nothing if it holds; of many failures in one row only the first few are printed. */
#define expect(condition, ...) ((condition) ? (void)0 : expect_result(__VA_ARGS__))

/* errno before a call that must not change it. */
#define ERRNO_KEPT 7777

/* Print "call: block or NULL, errno"; the block is freed. */
#define OBSERVE(call) (errno = ERRNO_KEPT, print_outcome(#call, (call)))
void print_outcome(const char *call, void *block);
const char *errno_text(int error);

/* Hide sizes and pointers from the optimizer. */
static inline size_t opaque(size_t n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}

static inline void *escape(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static inline bool is_aligned(const void *p, size_t alignment)
{
    return ((uintptr_t)p & (alignment - 1)) == 0;
}

uint32_t next_random(uint32_t *state);

void pattern_fill(void *p, size_t n, uint32_t seed);
bool pattern_holds(const void *p, size_t n, uint32_t seed);
bool is_zeroed(const void *p, size_t n);

/*
 * glibc: at least the requested size; rtcheck: exactly that, so that no redzone byte may be used.
 */
void expect_usable(const void *p, size_t request);

/* Not NULL, aligned, usable as promised, every byte of the request writable. */
void expect_block(void *p, size_t request, size_t alignment);

/* The base address of the module that defines `address`, and the last part of its path. */
const void *module_of(const void *address);
const char *module_name(const void *address);

/*
 * Run body in a forked child and print "what: exit N" or "what: signal N".  A child with failed
 * expectations that would exit with 0 exits with 90.
 */
void print_child(const char *what, int (*body)(void *), void *argument);
void print_status(const char *what, int wait_status);

/* Pages in use as /proc/self/statm counts them: all, and private writable ones. */
bool read_statm(size_t *total_pages, size_t *data_pages);

/* Limit address space and data to the present size plus `more` bytes, until limits_restore(). */
bool limits_lower(size_t more);
void limits_restore(void);

#ifdef __cplusplus
}
#endif

#endif
