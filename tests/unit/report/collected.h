/*
 * collected.h - for tests: a run file built by the test, collected, and checks of its images.
 */
#ifndef COLLECTED_H
#define COLLECTED_H

#include "build_run.h"
#include "findings.h"

#define LIB 0x7f0000000000ull /* load address of modules */

static inline struct report *collected(const struct build *b)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd = build_fd(b);

    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(report_collect(r, err), 0);
    close(fd);
    r->view.fd = -1;
    return r;
}

static inline void finish(struct report *r, struct build *b)
{
    report_close(r);
    build_end(b);
}

static inline const struct image *image(const struct report *r, uint32_t number)
{
    const struct image *found = image_of(r, number);
    assert_non_null(found);
    return found;
}

static inline void assert_in_use(const struct image *image, uint64_t blocks, uint64_t bytes)
{
    assert_int_equal(image->live_blocks, blocks);
    assert_int_equal(image->live_bytes, bytes);
}

/* "module+0xoffset module+0x.." of the only site that an image uses. */
static inline const char *only_site(const struct report *r, uint32_t number)
{
    static char text[512];
    const struct image *i = image(r, number);
    const struct site *site;

    assert_int_equal(i->use_count, 1);
    site = &r->sites[i->uses[0].site];
    text[0] = 0;
    for (uint32_t k = 0; k < site->count; k++) {
        const struct frame *frame = &r->frames[site->frames[k]];
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s+0x%llx", k ? " " : "",
                 frame->module == NO_MODULE ? "?" : r->modules[frame->module].path,
                 (unsigned long long)frame->offset);
    }
    if (site->end != STACK_WHOLE)
        strcat(text, "...");
    return text;
}

static inline struct segment *modules(const struct build *b, uint32_t area)
{
    return build_records(b, area, SEGMENT_MODULES, 4);
}

static inline void one_block(struct build *b, uint32_t area, uint32_t stack)
{
    build_block(build_slab(b, area, 1, 64, 4), 0, BLOCK_LIVE, 8, stack);
}

#endif
