/*
 * harness.h - what every row of the conformance test uses.
 *
 * A row observes the allocator and says what it saw, one `name: observation` line each.  It does
 * not know the right answer where glibc has one: the same rows run without us give it, and the
 * script `run` compares the two row by row.  Where the two differ by design (the usable size), or
 * where only the truth will do (a pattern that must still be there), the row states an expectation
 * and stays silent when it holds; a row that said nothing is printed as `name: ok`.
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
    OUTSIDE = 1, /* uses system calls that the sandbox kills for */
    OURS = 2,    /* glibc promises nothing here; the answer asked of us is "ok" */
};

struct row {
    const char *name;
    int needs; /* mask of row_needs */
    void (*observe)(void);
};

/* Defined by the program: conform.c, conform_cxx.cc. */
extern const struct row conform_rows[];
extern const size_t conform_row_count;
extern const char *const conform_library; /* whose malloc it is without us */

/*
 * conform [--ours] [--heap-in-file] [--sandbox] [--brief] [--list] [ROW...]: all rows, or those
 * named, or only their names; brief: a fifth of the rounds.
 * Status 0, or 1 when a row's expectation did not hold, 124 no sandbox, 125 usage.
 */
int conform_main(int argc, char **argv);

bool is_ours(void); /* the runtime is preloaded, by the word of the command line */
bool is_heap_in_file(void); /* with heap=file, by the same word */
int rounds(int full); /* how often a row does what it does many times; 1 or more */

void print_result(const char *format, ...) __attribute__((format(printf, 1, 2)));
void expect_result(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool row_has_missed(void); /* a child tells its parent by its status */

/* Silent when it holds; of many broken promises in one row the first few are told. */
#define expect(condition, ...) ((condition) ? (void)0 : expect_result(__VA_ARGS__))

/* errno before a call that must not touch it. */
#define ERRNO_KEPT 7777

/* "call: block or NULL, errno as it was left"; the block is freed. */
#define OBSERVE(call) (errno = ERRNO_KEPT, print_outcome(#call, (call)))
void print_outcome(const char *call, void *block);
const char *errno_text(int error);

/* Keeps the compiler from reasoning about sizes and pointers. */
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

/* glibc: at least what was asked for; we: exactly that, so that no byte of a redzone is legal. */
void expect_usable(const void *p, size_t request);

/* Not NULL, aligned, usable as promised, every byte of the request writable. */
void expect_block(void *p, size_t request, size_t alignment);

/* The base address of the module that defines `address`, and the last part of its path. */
const void *module_of(const void *address);
const char *module_name(const void *address);

/*
 * Runs body in a forked child and says "what: exit N" or "what: signal N".  A child whose
 * expectations did not hold, but ends with 0, ends with 90.
 */
void print_child(const char *what, int (*body)(void *), void *argument);
void print_status(const char *what, int wait_status);

/* Pages in use as /proc/self/statm counts them: all, and private writable ones. */
bool read_statm(size_t *total_pages, size_t *data_pages);

/* Room for `more` bytes of address space and of data, until limits_restore(). */
bool limits_lower(size_t more);
void limits_restore(void);

#ifdef __cplusplus
}
#endif

#endif
