/*
 * made_image.h - for tests: an image built by the test, and its report.
 */
#ifndef MADE_IMAGE_H
#define MADE_IMAGE_H

#include "build_run.h"
#include "findings.h"

#define PROG 0x560000000000ull /* load address of the program */
#define NOBODYS_PID 2000000000u

/* A stack of `depth` frames of the program, innermost at 0x10 * depth. */
static inline uint32_t deep(struct segment *depot, unsigned depth)
{
    uint32_t stack = 0;

    for (unsigned i = 1; i <= depth; i++)
        stack = build_node(depot, PROG + 0x10 * i, stack);
    return stack;
}

/*
 * An image of a program at PROG, with 5 allocations and 4 frees of its main thread; parent 0: the
 * first.
 */
struct made_image {
    uint32_t area;
    struct segment *modules, *threads, *depot;
};

static inline struct made_image made_image(struct build *b, uint32_t number, uint32_t parent,
                                           const char *program)
{
    uint32_t area =
        build_image(b, number, parent, NOBODYS_PID + number, parent ? IMAGE_FORK : IMAGE_ROOT);
    struct made_image i = {
        area,
        build_records(b, area, SEGMENT_MODULES, 4),
        build_records(b, area, SEGMENT_THREADS, 4),
        build_depot(b, area, 0),
    };

    build_module(i.modules, program, PROG, 0x10000)->number = 1;
    build_thread(i.threads, 1, 5, 4)->tid = NOBODYS_PID + number;
    return i;
}

/* Collect all data, including reachable blocks; frees `b`. */
static inline struct report *collect(struct build *b)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd = build_fd(b);

    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    report_want_reachable(r);
    assert_int_equal(report_collect(r, err), 0);
    assert_int_equal(r->bad_count, 0);
    close(fd);
    build_end(b);
    return r;
}

/* The text of a report on `b`, which is freed; in a static buffer. */
/* Closes the report. */
static inline const char *text_of_report(struct report *r, struct print_options how)
{
    static char text[65536];
    FILE *out;

    memset(text, 0, sizeof text);
    out = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(out);
    report_print_text(r, out, &how);
    fclose(out);
    report_close(r);
    return text;
}

static inline const char *text_of(struct build *b, struct print_options how)
{
    return text_of_report(collect(b), how);
}

static inline void must_print(const char *text, const char *prints)
{
    if (!strstr(text, prints))
        fail_msg("missing:\n%s\nin\n%s", prints, text);
}

static inline void must_not_print(const char *text, const char *prints)
{
    if (strstr(text, prints))
        fail_msg("said:\n%s\nin\n%s", prints, text);
}

static inline uint32_t lines_of(const char *text)
{
    uint32_t lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

#endif
