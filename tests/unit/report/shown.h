/*
 * shown.h - for tests: the text of a report on a run file built by the test.
 */
#ifndef SHOWN_H
#define SHOWN_H

#include "text.h"
#include "printed.h"

#define LIB 0x7f0000000000ull

/* An image with `count` sites in /opt/prog; site i has i + 1 blocks of 10 bytes. */
static inline uint32_t an_image(struct build *b, uint32_t number, enum image_how how,
                                uint32_t count)
{
    uint32_t area = build_image(b, number, 0, 2000000000u + number, how); /* an unused pid */
    struct segment *m = build_records(b, area, SEGMENT_MODULES, 4);
    struct segment *t = build_records(b, area, SEGMENT_THREADS, 4);
    struct segment *d = build_depot(b, area, 0), *s = build_slab(b, area, 1, 64, 64);
    uint32_t slot = 0;

    build_module(m, "/opt/prog", LIB, 0x1000);
    build_thread(t, 1, 14, 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stack = build_node(d, LIB + 0x10 * (i + 1), 0);
        for (uint32_t k = 0; k <= i; k++)
            build_block(s, slot++, BLOCK_LIVE, 10, stack);
    }
    return area;
}

struct shown {
    struct print_options how;
    int wait_status;
};

/* The text of a report on `b`; in a static buffer. */
static inline const char *text_of(struct build *b, const struct shown *shown)
{
    static char text[16384];
    char err[REPORT_ERROR_BYTES];
    struct printed p = print_begin(b, text, sizeof text);

    if (shown->wait_status != -1)
        report_set_exit(p.r, 2000000001u, shown->wait_status, NULL);
    assert_int_equal(report_collect(p.r, err), 0);
    report_print_text(p.r, p.out, &shown->how);
    print_end(&p, b);
    return text;
}

static const struct shown plain = {.wait_status = -1};
static const struct shown memuse = {.how = {.use = PRINT_USE_TABLE}, .wait_status = -1};
static const struct shown quiet = {.how = {.quiet = true}, .wait_status = -1};

#endif
