/*
 * good_file.h - a valid run file, which test_verify.c corrupts, and the location of its parts.
 * Include it after cmocka.h.
 */
#ifndef GOOD_FILE_H
#define GOOD_FILE_H

#include "../report/build_run.h"

/* The valid file: one image in two areas, with one segment of every kind. */
struct sample {
    struct build b;
    uint32_t area;
    uint32_t second;
    struct segment *slab;
    struct segment *large;
    struct segment *depot;
    struct segment *threads;
    struct segment *modules;
    struct segment *errors;
    struct segment *leaks;
    struct segment *roots;
    struct segment *last; /* in the second area */
};

static inline void sample_begin(struct sample *s)
{
    uint32_t stack;

    memset(s, 0, sizeof *s);
    s->b = build_begin();
    s->area = build_image(&s->b, 7, 3, 4711, IMAGE_FORK);
    s->second = build_more(&s->b, s->area);
    s->depot = build_depot(&s->b, s->area, 2);
    stack = build_node(s->depot, 0x401000, 0);
    stack = build_node(s->depot, 0x402000, stack);
    s->slab = build_slab(&s->b, s->area, 5, 32, 100);
    build_block(s->slab, 0, BLOCK_LIVE, 31, stack);
    build_block(s->slab, 1, BLOCK_FREED, 0, stack);
    build_block(s->slab, 2, BLOCK_FREE, 31, stack);
    build_block(s->slab, 3, BLOCK_INHERITED, 9, stack);
    s->large = build_records(&s->b, s->area, SEGMENT_LARGE, 4);
    build_large(s->large, 10, 2, (2u << RTC_UNIT_SHIFT) - 1, stack);
    build_large(s->large, 12, 1, 0, stack);
    s->threads = build_records(&s->b, s->area, SEGMENT_THREADS, 4);
    build_thread(s->threads, 1, 10, 5);
    build_thread(s->threads, 2, 0, 0);
    s->modules = build_records(&s->b, s->area, SEGMENT_MODULES, 4);
    build_module(s->modules, "/usr/bin/prog", 0x400000, 0x10000);
    build_module(s->modules, "/usr/lib/lib.so", 0x7f0000000000, 0x10000);
    s->errors = build_records(&s->b, s->area, SEGMENT_ERRORS, 4);
    build_error(s->errors, ERROR_DUF, ENTRY_FREE, stack);
    build_error(s->errors, ERROR_OOM, ENTRY_MALLOC, stack);
    s->leaks = build_records(&s->b, s->area, SEGMENT_LEAKS, 4);
    build_leak(s->leaks, REACH_LOST, stack, 3, 48);
    build_leak(s->leaks, REACH_INTERIOR, stack, 1, 16);
    build_leak(s->leaks, REACH_REACHABLE, stack, 1, 16);
    s->roots = build_records(&s->b, s->area, SEGMENT_ROOTS, 4);
    build_root(s->roots, ROOT_STACK, 0x7ffc00001000, 0x1000);
    s->last = build_slab(&s->b, s->second, 6, 16, 64);
}

static inline struct block_record *block(const struct sample *s, uint32_t slot)
{
    return build_item(s->slab, slot);
}

static inline struct large_record *large(const struct sample *s)
{
    return build_item(s->large, 1);
}

static inline struct depot_node *node(const struct sample *s, uint32_t place)
{
    return build_item(s->depot, place);
}

static inline struct thread_record *thread(const struct sample *s)
{
    return build_item(s->threads, 1);
}

static inline struct module_record *module(const struct sample *s)
{
    return build_item(s->modules, 1);
}

static inline struct error_record *error(const struct sample *s)
{
    return build_item(s->errors, 1);
}

static inline struct leak_group *leak(const struct sample *s)
{
    return build_item(s->leaks, 1);
}

/* Give the leak a pointer to its start, with this kind of witness. */
static inline struct leak_group *witnessed(const struct sample *s, uint32_t witness)
{
    leak(s)->witness = witness;
    leak(s)->value = leak(s)->block;
    leak(s)->root = 1;
    leak(s)->at = leak(s)->from = 0x700000020000;
    leak(s)->from_bytes = 32;
    return leak(s);
}

static inline struct leak_check_record *check(struct sample *s, uint32_t number)
{
    struct segment *made = build_segment(&s->b, s->second, SEGMENT_LEAK_CHECKS,
                                         sizeof(struct leak_check_record), 1, number);
    struct leak_check_record *c = build_item(made, made->count++);
    c->number = number;
    return c;
}

static inline struct crash_record *crash(struct sample *s)
{
    struct segment *crashes = build_records(&s->b, s->second, SEGMENT_CRASHES, 1);
    return build_item(crashes, crashes->count++);
}

static inline struct object_record *object(struct sample *s)
{
    struct segment *objects = build_records(&s->b, s->second, SEGMENT_OBJECTS, 1);
    return build_item(objects, objects->count++);
}

static inline struct text_record *text_of_sample(struct sample *s)
{
    struct segment *texts = build_records(&s->b, s->second, SEGMENT_TEXTS, 1);
    return build_item(texts, texts->count++);
}

static inline struct root_record *root(const struct sample *s)
{
    return build_item(s->roots, 0);
}

static inline struct run_header *run(const struct sample *s)
{
    return build_run(&s->b);
}

static inline struct area_head *head(const struct sample *s)
{
    return build_head(&s->b, s->area);
}

static inline struct area_head *second(const struct sample *s)
{
    return build_head(&s->b, s->second);
}

static inline struct image_header *image(const struct sample *s)
{
    return build_image_header(&s->b, s->area);
}

/* The launcher's record: one counter, and measurements. */
static inline struct launcher_record *launcher(struct sample *s)
{
    uint64_t at = run_tables_end(build_run(&s->b));
    struct launcher_record *launcher = (void *)(s->b.file + at);

    if (build_run(&s->b)->launcher_offset == 0)
        *launcher = (struct launcher_record){
            .counters = 1, .measured = {.pairs = 9, .sure = 0.9, .of = {{.with = 0.1}}}};
    build_run(&s->b)->launcher_offset = at;
    return launcher;
}

#endif
