/*
 * leak_output.h - for tests: a program with leaks of every class, and its report.
 */
#ifndef LEAK_OUTPUT_H
#define LEAK_OUTPUT_H

#include "text.h"
#include "made_image.h"

#define STACK 0x7ffc00001000ull
#define ALL_KINDS (LEAK_DEFINITE | LEAK_INDIRECT | LEAK_POSSIBLE | LEAK_REACHABLE)
#define USUAL \
    .leak_kinds = LEAK_DEFINITE | LEAK_POSSIBLE, .problem_kinds = LEAK_DEFINITE | LEAK_POSSIBLE

/* The segments of an image to which leaks refer. */
struct parts {
    uint32_t area;
    struct segment *leaks, *roots, *depot;
};

static inline struct parts an_image(struct build *b, uint32_t number)
{
    struct made_image i = made_image(b, number, 0, "/usr/bin/prog1");
    struct parts p = {
        i.area,
        build_records(b, i.area, SEGMENT_LEAKS, 200),
        build_records(b, i.area, SEGMENT_ROOTS, 4),
        i.depot,
    };

    build_image_header(b, i.area)->leak_check = LEAKS_FOUND;
    strcpy(build_thread(i.threads, 3, 0, 0)->name, "worker\x1b");
    return p;
}

#endif
