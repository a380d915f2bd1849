/*
 * print_use.c - blocks in use, by the place that allocated them.
 */
#include <string.h>

#include "report_priv.h"

#define SHOWN_FRAMES 3

static void frame_print(const struct report *r, const struct frame *frame, FILE *out)
{
    const struct module *module = frame->module == NO_MODULE ? NULL : &r->modules[frame->module];
    const char *name = frame->function ? frame->function : frame->system_name;

    if (!module) {
        fprintf(out, "0x%llx in no known module", (unsigned long long)frame->offset);
        return;
    }
    text_put(out, name ? name : base_name(module->path));
    fprintf(out, "+0x%llx", (unsigned long long)(name ? frame->in_function : frame->offset));
    if (frame->file) {
        fputs(" (", out);
        text_put(out, base_name(frame->file));
        fprintf(out, ":%d)", frame->line);
    }
    if (name) {
        fputs("  ", out);
        text_put(out, base_name(module->path));
    }
}

static void site_print(const struct report *r, uint32_t place, FILE *out)
{
    const struct site *site = &r->sites[place];

    if (site->count == 0)
        fputs("place not recorded", out);
    for (uint32_t i = 0; i < site->count && i < SHOWN_FRAMES; i++) {
        if (i > 0)
            fputs("  <- ", out);
        frame_print(r, &r->frames[site->frames[i]], out);
    }
}

void records_print(const struct report *r, const struct record *records, uint32_t count,
                          bool with_ids, FILE *out)
{
    int size_width = 0, block_width = 0;

    for (uint32_t i = 0; i < count; i++) {
        int size = (int)strlen(size_text(records[i].bytes).text);
        int blocks = (int)strlen(block_text(records[i].blocks).text);
        size_width = size > size_width ? size : size_width;
        block_width = blocks > block_width ? blocks : block_width;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (with_ids)
            fprintf(out, "  %-14s", records[i].id);
        fprintf(out, "  %*s in %-*s  ", size_width, size_text(records[i].bytes).text, block_width,
                block_text(records[i].blocks).text);
        site_print(r, records[i].site, out);
        fputc('\n', out);
    }
}
