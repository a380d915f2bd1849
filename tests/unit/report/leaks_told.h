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
    struct segment *m = build_segment(b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
    struct segment *t = build_segment(b, area, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0);
    struct parts p = {
        area,
        build_segment(b, area, SEGMENT_LEAKS, sizeof(struct leak_group), 200, 0),
        build_segment(b, area, SEGMENT_ROOTS, sizeof(struct root_record), 4, 0),
        build_segment(b, area, SEGMENT_DEPOT, sizeof(struct depot_node), 400, 0),
    };

    p.depot->count = p.depot->capacity; /* as the runtime has it */
    build_image_header(b, area)->leak_check = LEAKS_FOUND;
    build_module(m, "/usr/bin/prog1", PROG, 0x10000)->number = 1;
    build_thread(t, 1, 5, 4)->tid = NOBODYS_PID + number;
    strcpy(build_thread(t, 3, 0, 0)->name, "worker\x1b");
    return p;
}

#endif
