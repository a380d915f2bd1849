/*
 * messages.h - interface of messages: errors and warnings of the command, and its exit statuses.
 *
 * The lowest room of tools.  All others report failures in its form:
 *
 *   - A function returns 0 or -errno and puts one sentence into `err`: lower case, no trailing dot,
 *     naming the object.  `return fail(err, -EINVAL, ..)` does both.
 *   - A feature that the machine lacks is not a failure: warnings_add, printed at the end of a run.
 *   - Only the verbs print, by print_failure, and return the exit status.
 *
 * All of this code runs in the launcher or the reporter, never in the checked process.
 */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of the command itself; otherwise it ends with the program's status or signal. */
enum status {
    STATUS_VALGRIND_USAGE = 1, /* of rtcheck-valgrind, as valgrind's */
    STATUS_NOT_IN_CONTROL = 120,
    STATUS_SETUP = 125,
    STATUS_NOT_RUNNABLE = 126,
    STATUS_NOT_FOUND = 127,
};

#define TOOLS_ERROR_BYTES 512

/*
 * Format into err, truncated to its size.  Return `code`, so that `return fail(err, -EINVAL, ..)`.
 */
int fail(char err[TOOLS_ERROR_BYTES], int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For verbs: print `err` to stderr and return the exit status. */
int print_failure(const char *err);

/* Features that the machine lacks, as text; printed once, at the end of the run. */
#define WARNINGS_MAX 8

struct warnings {
    unsigned count;
    char line[WARNINGS_MAX][160];
};

/* Lines beyond WARNINGS_MAX are dropped. */
void warnings_add(struct warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Write all of `text`; if the descriptor is non-blocking (set by the program), poll until it is
 * writable.  -errno: the text was not written completely; if fd is stderr, this cannot be reported.
 */
int text_write(int fd, const char *text, size_t bytes);

/* Is a feature disabled for a test (RTCHECK_TEST_WITHOUT=a,b,..)? */
bool test_without(const char *feature);

#endif
