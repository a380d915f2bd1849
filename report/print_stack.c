/*
 * print_stack.c - places and stacks in words: one frame a line, or all of them in one.
 */
#include <string.h>

#include "report_priv.h"

#define RUN_LEAST 3u /* frames of one library that are worth a line together */

static const struct module *module_of(const struct report *r, const struct frame *frame)
{
    return frame->module == NO_MODULE ? NULL : &r->modules[frame->module];
}

void frame_put(const struct report *r, const struct frame *frame, const struct page *page)
{
    const struct module *module = module_of(r, frame);
    const char *name = frame->function ? frame->function : frame->system_name;
    FILE *out = page->out;

    if (!module && page->how->deterministic) {
        fputs("an address in no known module", out);
        return;
    }
    if (!module) {
        fprintf(out, "0x%llx in no known module", (unsigned long long)frame->offset);
        return;
    }
    text_put(out, name ? name : base_name(module->path));
    if (!frame->file)
        fprintf(out, "+0x%llx", (unsigned long long)(name ? frame->in_function : frame->offset));
    if (frame->file) {
        fputs("  ", out);
        text_put(out, base_name(frame->file));
        fprintf(out, ":%d", frame->line);
    }
    if (name && strcmp(module->path, page->program) != 0) {
        fputs("  ", out);
        text_put(out, base_name(module->path));
    }
}

/* Nothing left out: "release+0x1a  src/e.c:5  /opt/prog+0x1189". */
static void frame_put_whole(const struct report *r, const struct frame *frame,
                            const struct page *page)
{
    const struct module *module = module_of(r, frame);
    const char *name = frame->function ? frame->function : frame->system_name;
    FILE *out = page->out;

    if (!module) {
        frame_put(r, frame, page);
        return;
    }
    if (name) {
        text_put(out, name);
        fprintf(out, "+0x%llx  ", (unsigned long long)frame->in_function);
    }
    if (frame->file) {
        text_put(out, frame->file);
        fprintf(out, ":%d  ", frame->line);
    }
    text_put(out, module->path);
    fprintf(out, "+0x%llx", (unsigned long long)frame->offset);
}

void site_put(const struct report *r, uint32_t place, uint32_t most, const struct page *page)
{
    const struct site *site = &r->sites[place];
    uint32_t count = page->whole ? site->count : user_frames(r, site);

    if (site->count == 0)
        fputs("place not recorded", page->out);
    for (uint32_t i = 0; i < count && i < most; i++) {
        if (i > 0)
            fputs("  <- ", page->out);
        frame_put(r, &r->frames[site->frames[i]], page);
    }
}

/* ---- a stack, line by line ----------------------------------------------------------------- */

/* How many frames from `at` on are of one library that has no lines, 0 if too few. */
static uint32_t run_length(const struct report *r, const struct site *site, uint32_t at,
                           uint32_t end, const struct page *page)
{
    uint32_t module = r->frames[site->frames[at]].module, n = 0;

    if (module == NO_MODULE || strcmp(r->modules[module].path, page->program) == 0)
        return 0;
    while (at + n < end && r->frames[site->frames[at + n]].module == module &&
           !r->frames[site->frames[at + n]].file)
        n++;
    return n >= RUN_LEAST ? n : 0;
}

/* One line for the frame at `at`, or for a run of them: how many it stands for. */
static uint32_t line_put(const struct report *r, const struct site *site, uint32_t at, uint32_t end,
                         const struct page *page)
{
    const struct frame *frame = &r->frames[site->frames[at]];
    uint32_t run = page->whole ? 0 : run_length(r, site, at, end, page);

    if (page->whole) {
        frame_put_whole(r, frame, page);
        return 1;
    }
    if (run == 0) {
        frame_put(r, frame, page);
        return 1;
    }
    fprintf(page->out, "... %u frames in ", run);
    text_put(page->out, base_name(r->modules[frame->module].path));
    return run;
}

static void begin_line(const char *label, bool first, const struct page *page)
{
    fprintf(page->out, "%*s%-*s", STACK_INDENT, "", STACK_LABEL, first ? label : "");
}

void stack_print(const struct report *r, const char *label, uint32_t place, const struct page *page)
{
    const struct site *site = &r->sites[place];
    uint32_t end = page->whole ? site->count : user_frames(r, site), at = 0;

    for (uint32_t lines = 0; at < end && lines < page->frames; lines++) {
        begin_line(label, lines == 0, page);
        at += line_put(r, site, at, end, page);
        fputc('\n', page->out);
    }
    if (at < end) {
        begin_line(label, false, page);
        fprintf(page->out, "... %u more\n", end - at);
    } else if (site->end != STACK_WHOLE && (site->end != STACK_CUT || page->whole)) {
        begin_line(label, at == 0, page);
        fprintf(page->out, "(ends here: %s)\n", stack_end_words(site->end));
    }
}
