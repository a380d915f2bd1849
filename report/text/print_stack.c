/*
 * print_stack.c - sites and stacks as text: one function per line, or all on one line.
 *
 * A frame may stand for several inlined functions; each has its own line, innermost first. Headers
 * of the compiler and the system are not where the error is: the relevant line is further out.
 */
#include <string.h>

#include "text.h"

#define RUN_LEAST \
    3u /* shortest run that is collapsed: frames of one library, or functions of headers */

static const struct module *module_of(const struct report *r, const struct frame *frame)
{
    return frame->module == NO_MODULE ? NULL : &r->modules[frame->module];
}

/* The functions of a frame, with their module. */
struct lines {
    const struct frame *frame;
    const struct module *module;
    bool is_signal;
    uint32_t count;
    struct source_line at[FRAME_LINES_MAX];
};

/*
 * Is it the signal trampoline, to which a handler returns? The next frame was interrupted by the
 * signal.
 */
static bool is_signal(const struct report *r, const struct site *site, uint32_t at)
{
    return at + 1 < site->count && r->frames[site->frames[at + 1]].exact;
}

static struct lines lines_of(const struct report *r, const struct site *site, uint32_t at)
{
    const struct frame *frame = &r->frames[site->frames[at]];
    struct lines l = {
        .frame = frame, .module = module_of(r, frame), .is_signal = is_signal(r, site, at)};

    l.count = frame_lines(frame, l.at, FRAME_LINES_MAX);
    return l;
}

static void nowhere_put(const struct frame *frame, const struct page *page)
{
    if (page->how->deterministic)
        fputs("an address in no known module", page->out);
    else
        fprintf(page->out, "0x%llx in no known module", (unsigned long long)frame->offset);
}

/*
 * "main  demo.c:17", "strdup+0x1a  libc.so.6", "swap  e.h:3  (inlined)", "libc.so.6+0x3c  (signal)"
 */
static void function_put(const struct lines *l, uint32_t i, const struct page *page)
{
    const struct source_line *line = &l->at[i];
    bool inlined = i + 1 < l->count;
    FILE *out = page->out;

    text_put(out, line->function ? line->function : base_name(l->module->path));
    if (!line->function)
        fprintf(out, "+0x%llx", (unsigned long long)l->frame->offset);
    else if (!line->file && !inlined)
        fprintf(out, "+0x%llx", (unsigned long long)l->frame->in_function);
    if (line->file) {
        fputs("  ", out);
        text_put(out, base_name(line->file));
        fprintf(out, ":%d", line->line);
    }
    if (line->function && strcmp(l->module->path, page->program) != 0) {
        fputs("  ", out);
        text_put(out, base_name(l->module->path));
    }
    fputs(inlined ? "  (inlined)" : l->is_signal ? "  (signal)" : "", out);
}

/* Print without omissions: "release+0x1a  src/e.c:5  /opt/prog+0x1189". */
static void whole_put(const struct lines *l, uint32_t i, const struct page *page)
{
    const struct source_line *line = &l->at[i];
    bool inlined = i + 1 < l->count;
    FILE *out = page->out;

    if (line->function) {
        text_put(out, line->function);
        if (!inlined)
            fprintf(out, "+0x%llx", (unsigned long long)l->frame->in_function);
        fputs("  ", out);
    }
    if (line->file) {
        text_put(out, line->file);
        fprintf(out, ":%d  ", line->line);
    }
    if (inlined) {
        fputs("(inlined)", out);
        return;
    }
    text_put(out, l->module->path);
    fprintf(out, "+0x%llx%s", (unsigned long long)l->frame->offset,
            l->is_signal ? "  (signal)" : "");
}

static void line_put(const struct lines *l, uint32_t i, const struct page *page)
{
    if (!l->module)
        nowhere_put(l->frame, page);
    else if (page->whole)
        whole_put(l, i, page);
    else
        function_put(l, i, page);
}

/* ---- functions of headers -------------------------------------------------------------------- */

/* The number of consecutive header functions, starting at line `i` of the frame at `at`. */
static uint32_t headers_at(const struct report *r, const struct site *site, uint32_t at, uint32_t i,
                           uint32_t end)
{
    uint32_t n = 0;

    for (; at < end; at++, i = 0) {
        struct lines l = lines_of(r, site, at);
        for (; i < l.count; i++, n++)
            if (!line_is_of_header(&l.at[i]))
                return n;
    }
    return n;
}

static uint32_t line_count(const struct report *r, const struct site *site, uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t at = 0; at < end; at++)
        n += lines_of(r, site, at).count;
    return n;
}

/* ---- all in one line ------------------------------------------------------------------------- */

/* Start at the first function that is not from a header, if there is one. */
void site_put(const struct report *r, uint32_t index, uint32_t most, const struct page *page)
{
    chain_put(r, index, most, "  <- ", page);
}

void chain_put(const struct report *r, uint32_t index, uint32_t most, const char *joint,
               const struct page *page)
{
    const struct site *site = &r->sites[index];
    uint32_t count = user_frames(r, site), shown = 0, skip = headers_at(r, site, 0, 0, count);

    if (site->count == 0)
        fputs("place not recorded", page->out);
    if (skip == line_count(r, site, count))
        skip = 0;
    for (uint32_t i = 0; i < count && shown < most; i++) {
        struct lines l = lines_of(r, site, i);
        for (uint32_t k = 0; k < l.count && shown < most; k++) {
            if (skip > 0) {
                skip--;
                continue;
            }
            fputs(shown++ ? joint : "", page->out);
            line_put(&l, k, page);
        }
    }
}

/* ---- line by line ---------------------------------------------------------------------------- */

/*
 * The number of consecutive frames, starting at `at`, of one library without line information. 0:
 * too few.
 */
static uint32_t run_length(const struct report *r, const struct site *site, uint32_t at,
                           uint32_t end, const struct page *page)
{
    uint32_t module = r->frames[site->frames[at]].module, n = 0;

    if (page->whole || module == NO_MODULE || strcmp(r->modules[module].path, page->program) == 0)
        return 0;
    while (at + n < end && r->frames[site->frames[at + n]].module == module &&
           !r->frames[site->frames[at + n]].file && !is_signal(r, site, at + n))
        n++;
    return n >= RUN_LEAST ? n : 0;
}

/* State of a stack that is being printed. */
struct stack {
    const struct report *r;
    const struct site *site;
    const struct page *page;
    const char *label; /* printed before the first line */
    uint32_t end;      /* of the frames to show */
    uint32_t lines;
    uint32_t skip; /* functions already covered by a collapsed line */
};

static void begin_line(struct stack *s)
{
    fprintf(s->page->out, "%*s%-*s", STACK_INDENT, "", STACK_LABEL, s->lines++ ? "" : s->label);
}

static void number_put(const struct stack *s)
{
    if (s->page->numbered)
        fprintf(s->page->out, "[%u]%s ", s->lines, s->lines < 10 ? " " : "");
}

/*
 * Print the function at line `i` of a frame. If at least RUN_LEAST header functions follow each
 * other, only the outermost is printed: it is the one that the program called.
 */
static void function_print(struct stack *s, uint32_t at, const struct lines *l, uint32_t i)
{
    uint32_t run;

    if (s->skip > 0) {
        s->skip--;
        return;
    }
    begin_line(s);
    number_put(s);
    run = s->page->whole ? 0 : headers_at(s->r, s->site, at, i, s->end);
    if (run >= RUN_LEAST) {
        fprintf(s->page->out, "... %u functions in headers", run - 1);
        s->skip = run - 2;
    } else {
        line_put(l, i, s->page);
    }
    fputc('\n', s->page->out);
}

/* How often the frame at `at` repeats in a row: recursion. */
static uint32_t same_length(const struct stack *s, uint32_t at)
{
    uint32_t n = 1;

    while (at + n < s->end && s->site->frames[at + n] == s->site->frames[at])
        n++;
    return n >= RUN_LEAST && !s->page->whole ? n : 1;
}

/* Print the frame at `at`, or a run of frames. Returns their number. */
static uint32_t frame_print(struct stack *s, uint32_t at)
{
    uint32_t run = run_length(s->r, s->site, at, s->end, s->page);
    uint32_t same = same_length(s, at);
    struct lines l = lines_of(s->r, s->site, at);

    if (run > 0) {
        begin_line(s);
        fprintf(s->page->out, "... %u frames in ", run);
        text_put(s->page->out, base_name(l.module->path));
        fputc('\n', s->page->out);
        return run;
    }
    for (uint32_t i = 0; i < l.count && (i == 0 || s->lines < s->page->frames); i++)
        function_print(s, at, &l, i);
    if (s->skip > 0) /* the next frames are covered by a collapsed line */
        return 1;
    if (same > 1 && s->lines < s->page->frames) {
        begin_line(s);
        fprintf(s->page->out, "... %u times the same\n", same - 1);
    }
    return same;
}

void stack_print(const struct report *r, const char *label, uint32_t index, const struct page *page)
{
    const struct site *site = &r->sites[index];
    struct stack s = {r, site, page, label, page->whole ? site->count : user_frames(r, site), 0, 0};
    uint32_t at = 0;

    while (at < s.end && s.lines < page->frames)
        at += frame_print(&s, at);
    if (at < s.end) {
        begin_line(&s);
        fprintf(page->out, "... %u more\n", s.end - at);
    } else if (site->end != STACK_WHOLE && (site->end != STACK_CUT || page->whole)) {
        begin_line(&s);
        fprintf(page->out, "(ends here: %s)\n", stack_end_text(site->end));
    }
}
