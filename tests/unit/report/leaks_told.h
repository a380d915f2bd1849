/*
 * leaks_told.h - for tests: a program with leaks of every class, and what is told of it.
 */
#ifndef LEAKS_TOLD_H
#define LEAKS_TOLD_H

#include "page_priv.h"
#include "told.h"

#define STACK 0x7ffc00001000ull
#define ALL_KINDS (LEAK_DEFINITE | LEAK_INDIRECT | LEAK_POSSIBLE | LEAK_REACHABLE)
#define USUAL .leak_kinds = LEAK_DEFINITE | LEAK_POSSIBLE, .problem_kinds = LEAK_DEFINITE | LEAK_POSSIBLE

/* The segments of an image that leaks refer to. */
struct parts {
    uint32_t area;
    struct segment *leaks, *roots, *depot;
};

static inline struct parts an_image(struct build *b, uint32_t number)
{
    uint32_t area = build_image(b, number, 0, NOBODYS_PID + number, IMAGE_ROOT);
    struct segment *m = build_records(b, area, SEGMENT_MODULES, 4);
    struct segment *t = build_records(b, area, SEGMENT_THREADS, 4);
    struct parts p = {
        area,
        build_records(b, area, SEGMENT_LEAKS, 200),
        build_records(b, area, SEGMENT_ROOTS, 4),
        build_depot(b, area, 0),
    };

    build_image_header(b, area)->leak_check = LEAKS_FOUND;
    build_module(m, "/usr/bin/prog1", PROG, 0x10000)->number = 1;
    build_thread(t, 1, 5, 4)->tid = NOBODYS_PID + number;
    strcpy(build_thread(t, 3, 0, 0)->name, "worker\x1b");
    return p;
}

#endif
