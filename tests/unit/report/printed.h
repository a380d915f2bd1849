/*
 * printed.h - for tests: open a run file built by the test, and print into a text.
 */
#ifndef PRINTED_H
#define PRINTED_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "build_run.h"
#include "findings.h"

struct printed {
    struct report *r;
    FILE *out;
    int fd;
};

static inline struct printed print_begin(struct build *b, char *text, size_t bytes)
{
    struct printed p = {.fd = build_fd(b), .out = fmemopen(text, bytes - 1, "w")};
    char err[REPORT_ERROR_BYTES];

    memset(text, 0, bytes);
    assert_non_null(p.out);
    assert_int_equal(report_open_fd(&p.r, p.fd, "test", err), 0);
    return p;
}

/* Frees `b`. */
static inline void print_end(struct printed *p, struct build *b)
{
    fclose(p->out);
    report_close(p->r);
    close(p->fd);
    build_end(b);
}

#endif
