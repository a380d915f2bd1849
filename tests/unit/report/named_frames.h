/*
 * named_frames.h - for tests: functions with names and lines, without files that have them.
 *
 * A test's frame is an address of the built program or library. After the run is collected, the
 * frames get the names that they would have from symbols.
 */
#ifndef NAMED_FRAMES_H
#define NAMED_FRAMES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text.h"
#include "made_image.h"

#define SOME_LIB 0x7f0000000000ull
#define FRAMES_MAX 16000u

struct named_frame {
    const char *name, *file;
    int line;
    uint32_t calls; /* ENTRY_* */
};

static struct named_frame named[FRAMES_MAX];
static uint32_t named_count;

/* A function of the program that is called at this line. Returns its address. */
static inline uint64_t function(const char *name, const char *file, int line, uint32_t calls)
{
    assert_true(named_count < FRAMES_MAX);
    named[named_count++] = (struct named_frame){name, file, line, calls};
    return PROG + 0x10 * named_count;
}

/* The same of /opt/libsome.so. */
static inline uint64_t library_function(const char *name, const char *file, int line,
                                        uint32_t calls)
{
    return function(name, file, line, calls) - PROG + SOME_LIB;
}

static inline void frames_name(struct report *r)
{
    for (uint32_t i = 0; i < r->frame_count; i++) {
        struct frame *frame = &r->frames[i];
        uint64_t index = frame->offset / 0x10;
        if (frame->module == NO_MODULE || index == 0 || index > named_count)
            continue;
        const struct named_frame *n = &named[index - 1];
        frame->tried = true;
        frame->system_name = n->name ? strdup(n->name) : NULL;
        frame->file = n->file ? strdup(n->file) : NULL;
        frame->line = n->line;
        frame->in_function = 4;
        frame->calls = n->calls;
    }
}

/* A stack of these functions, innermost first; ends with 0. */
static inline uint32_t stack_of(struct segment *depot, const uint64_t *pcs)
{
    uint32_t count = 0, stack = 0;

    while (pcs[count])
        count++;
    while (count > 0)
        stack = build_node(depot, pcs[--count], stack);
    return stack;
}

#define STACK_OF(depot, ...) stack_of(depot, (const uint64_t[]){__VA_ARGS__, 0})

/* The text of a report on `b`, which is freed; freed by the caller. */
static inline char *named_text(struct build *b, struct print_options how)
{
    struct report *r = collect(b);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    frames_name(r);
    report_print_text(r, out, &how);
    fclose(out);
    report_close(r);
    return text;
}

#endif
