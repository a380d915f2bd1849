/*
 * stack_lines.c - a stack as lines of text: a function and its place, or a count of functions that
 * are left out.
 *
 * A frame may stand for several inlined functions; each has its own line, innermost first. Runs are
 * one line: frames of a library without line numbers, functions of headers, recursion. If a stack
 * is longer than the page shows, its middle is left out, but never the innermost function, the first
 * one of the program itself, or the outermost (main): one of them has the line to change. In lists
 * of one line per stack, headers and allocation wrappers (xmalloc) at its inner end are left out,
 * too: each of their stacks would begin with the same name.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define RUN_LEAST 3u /* shortest run that is one line */

static const struct module *module_of(const struct report *r, const struct frame *frame)
{
    return frame->module == NO_MODULE ? NULL : &r->modules[frame->module];
}

/* The functions of a frame, with their module. */
struct functions {
    const struct report *r;
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

static struct functions functions_of(const struct report *r, const struct site *site, uint32_t at)
{
    const struct frame *frame = &r->frames[site->frames[at]];
    struct functions f = {
        .r = r, .frame = frame, .module = module_of(r, frame), .is_signal = is_signal(r, site, at)};

    f.count = frame_lines(frame, f.at, FRAME_LINES_MAX);
    return f;
}

/* ---- one function ---------------------------------------------------------------------------- */

/* "main", "strdup+0x1a", "libc.so.6+0x3c"; in whole: the offset also where the line is known. */
static void name_put(const struct functions *f, uint32_t i, const struct page *page, FILE *out)
{
    const struct source_line *line = &f->at[i];
    bool inlined = i + 1 < f->count;

    if (!f->module) {
        if (page->how->deterministic)
            fputs("an address in no known module", out);
        else
            fprintf(out, "0x%llx in no known module", (unsigned long long)f->frame->offset);
        return;
    }
    text_put(out, line->function ? line_name(f->r, line)
                  : page->whole  ? f->module->path
                                 : base_name(f->module->path));
    if (!line->function)
        fprintf(out, "+0x%llx", (unsigned long long)f->frame->offset);
    else if (!inlined && (page->whole || !line->file))
        fprintf(out, "+0x%llx", (unsigned long long)f->frame->in_function);
}

const char *shown_file(const char *file, const struct print_options *how)
{
    const char *line = how->full_paths;
    size_t length = strlen(file);

    if (!line)
        return base_name(file);
    for (; *line; line += strspn(line, "\n")) {
        size_t n = strcspn(line, "\n");
        const char *found = memmem(file, length, line, n);
        if (found)
            return found + n;
        line += n;
    }
    return file;
}

/* "demo.c:17", "genops.c:347  libc.so.6" */
static void place_put(const struct functions *f, uint32_t i, const struct page *page, FILE *out)
{
    const struct source_line *line = &f->at[i];
    bool inlined = i + 1 < f->count;
    const char *gap = "";

    if (!f->module)
        return;
    if (line->file) {
        text_put(out, page->whole ? line->file : shown_file(line->file, page->how));
        fprintf(out, ":%d", line->line);
        gap = "  ";
    }
    if (page->whole && line->function && !inlined) {
        fputs(gap, out);
        text_put(out, f->module->path);
        fprintf(out, "+0x%llx", (unsigned long long)f->frame->offset);
    } else if (!page->whole && line->function && strcmp(f->module->path, page->program) != 0) {
        fputs(gap, out);
        text_put(out, base_name(f->module->path));
    }
}

typedef void put_part(const struct functions *f, uint32_t i, const struct page *page, FILE *out);

static char *part_text(put_part *put, const struct functions *f, uint32_t i,
                       const struct page *page)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    put(f, i, page, out);
    fclose(out);
    return xalloc(text);
}

/* ---- wrappers -------------------------------------------------------------------------------- */

/* Ends of names of functions that only allocate: xmalloc, nasm_calloc, g_strdup. */
static const char *const wrappers[] = {
    "*malloc",       "*calloc",      "*realloc",      "*zalloc",  "*_alloc",
    "*strdup",       "*strndup",     "*memdup",       "*malloc0", "*callocarray",
    "*reallocarray", "*mallocarray", "operator new*",
};

static bool is_wrapper(const struct source_line *line, const struct page *page)
{
    char *name = line->function ? name_without_parameters(line->function) : NULL;
    bool matches = name && matches_any(name, page->how->wrappers);

    for (size_t i = 0; name && i < countof(wrappers); i++)
        matches |= fnmatch(wrappers[i], name, FNM_CASEFOLD) == 0;
    free(name);
    return matches;
}

/* ---- the lines ------------------------------------------------------------------------------- */

/* A stack under construction. */
struct builder {
    const struct report *r;
    const struct site *site;
    const struct page *page;
    uint32_t end; /* of the frames to show */
    struct stack_lines lines;
};

static struct stack_line *line_add(struct builder *b, uint32_t frame, uint32_t functions)
{
    struct stack_line *line;

    b->lines.at = grow(b->lines.at, b->lines.count, sizeof *b->lines.at);
    line = &b->lines.at[b->lines.count++];
    *line = (struct stack_line){.frame = frame, .functions = functions};
    return line;
}

static void function_add(struct builder *b, uint32_t at, const struct functions *f, uint32_t i)
{
    struct stack_line *line = line_add(b, at, 1);

    line->name = part_text(name_put, f, i, b->page);
    line->place = part_text(place_put, f, i, b->page);
    line->mark = i + 1 < f->count ? "(inlined)" : f->is_signal ? "(signal)" : NULL;
    line->file = f->at[i].file;
    line->number = f->at[i].line;
    line->is_header = line_is_of_header(&f->at[i]);
    line->is_wrapper = is_wrapper(&f->at[i], b->page);
    line->is_program =
        f->module && strcmp(f->module->path, b->page->program) == 0 && !line->is_header;
}

__attribute__((format(printf, 3, 4))) static void text_add(struct builder *b, uint32_t functions,
                                                           const char *format, ...)
{
    struct stack_line *line = line_add(b, b->site->count, functions);
    va_list args;

    va_start(args, format);
    if (vasprintf(&line->name, format, args) < 0)
        line->name = xalloc(NULL);
    va_end(args);
    line->is_text = true;
}

/*
 * The number of consecutive frames, starting at `at`, of one library without line information. 0:
 * too few.
 */
static uint32_t library_run(const struct builder *b, uint32_t at)
{
    const struct report *r = b->r;
    uint32_t module = r->frames[b->site->frames[at]].module, n = 0;

    if (b->page->whole || module == NO_MODULE ||
        strcmp(r->modules[module].path, b->page->program) == 0)
        return 0;
    while (at + n < b->end && r->frames[b->site->frames[at + n]].module == module &&
           !r->frames[b->site->frames[at + n]].file && !is_signal(r, b->site, at + n))
        n++;
    return n >= RUN_LEAST ? n : 0;
}

/* How often the frame at `at` repeats in a row: recursion. */
static uint32_t same_run(const struct builder *b, uint32_t at)
{
    uint32_t n = 1;

    while (at + n < b->end && b->site->frames[at + n] == b->site->frames[at])
        n++;
    return n >= RUN_LEAST && !b->page->whole ? n : 1;
}

/* Add the frame at `at`, or a run of frames. Returns their number. */
static uint32_t frame_add(struct builder *b, uint32_t at)
{
    uint32_t run = library_run(b, at), same = same_run(b, at);
    struct functions f = functions_of(b->r, b->site, at);

    if (run > 0) {
        char *name = text_escaped(base_name(f.module->path));
        text_add(b, run, "... %u frames in %s ...", run, name);
        b->lines.at[b->lines.count - 1].frame = at;
        free(name);
        return run;
    }
    for (uint32_t i = 0; i < f.count; i++)
        function_add(b, at, &f, i);
    if (same > 1) {
        text_add(b, same - 1, "... %u times the same ...", same - 1);
        b->lines.at[b->lines.count - 1].frame = at + 1;
    }
    return same;
}

static void line_clear(struct stack_line *line)
{
    free(line->name);
    free(line->place);
    *line = (struct stack_line){0};
}

/* Replace the lines [from, to) by one that counts their functions. */
static void lines_fold(struct stack_lines *l, uint32_t from, uint32_t to, const char *one,
                       const char *many)
{
    uint32_t functions = 0, frame = l->at[from].frame;
    char *text;

    for (uint32_t i = from; i < to; i++) {
        functions += l->at[i].functions;
        line_clear(&l->at[i]);
    }
    if (asprintf(&text, "... %s ...", count_text(functions, one, many).text) < 0)
        text = xalloc(NULL);
    l->at[from] =
        (struct stack_line){.name = text, .frame = frame, .functions = functions, .is_text = true};
    memmove(&l->at[from + 1], &l->at[to], (l->count - to) * sizeof *l->at);
    l->count -= to - from - 1;
}

/*
 * Of at least RUN_LEAST functions of headers in a row only the outermost is left: it is the one that
 * the program called.
 */
static void headers_fold(struct stack_lines *l)
{
    for (uint32_t i = 0, n; i < l->count; i += n ? n : 1) {
        for (n = 0; i + n < l->count && l->at[i + n].is_header; n++)
            ;
        if (n < RUN_LEAST)
            continue;
        lines_fold(l, i, i + n - 1, "function in headers", "functions in headers");
        n = 2;
    }
}

struct stack_lines stack_lines_make(const struct report *r, uint32_t index, uint32_t frames,
                                    const struct page *page)
{
    const struct site *site = &r->sites[index];
    struct builder b = {r, site, page, page->whole ? site->count : user_frames(r, site), {0}};

    if (frames > 0 && frames < b.end)
        b.end = frames;
    for (uint32_t at = 0; at < b.end;)
        at += frame_add(&b, at);
    if (!page->whole)
        headers_fold(&b.lines);
    if (site->count == 0) {
        text_add(&b, 0, "place not recorded");
        b.lines.at[0].is_text = false; /* nothing is left out: it is printed in a chain, too */
    } else if (b.end == site->count && site->end != STACK_WHOLE &&
               (site->end != STACK_CUT || page->whole)) {
        text_add(&b, 0, "(ends here: %s)", stack_end_text(site->end));
    }
    return b.lines;
}

void stack_lines_free(struct stack_lines *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        line_clear(&l->at[i]);
    free(l->at);
    *l = (struct stack_lines){0};
}

void stack_lines_skip_wrappers(struct stack_lines *l)
{
    uint32_t skip = 0, texts = 0;

    while (texts < l->count && l->at[texts].is_text)
        texts++;
    while (skip < l->count &&
           (l->at[skip].is_header || l->at[skip].is_wrapper || l->at[skip].is_text))
        skip++;
    skip = skip < l->count ? skip : texts;
    if (skip == l->count)
        return;
    for (uint32_t i = 0; i < skip; i++)
        line_clear(&l->at[i]);
    l->count -= skip;
    memmove(l->at, &l->at[skip], l->count * sizeof *l->at);
}

static uint32_t first_of_program(const struct stack_lines *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->at[i].is_program)
            return i;
    return 0;
}

/* Fold [from, to) unless it is a single function, whose line takes no more room. */
static void middle_fold(struct stack_lines *l, uint32_t from, uint32_t to)
{
    if (to > from + 1 || (to == from + 1 && l->at[from].is_text))
        lines_fold(l, from, to, "frame", "frames");
}

void stack_lines_cut(struct stack_lines *l, uint32_t most)
{
    uint32_t count = l->count, own = first_of_program(l);

    while (count > 0 && l->at[count - 1].functions == 0) /* "(ends here: ..)" stays */
        count--;
    if (count <= most || most == 0)
        return;
    if (most == 1) {
        lines_fold(l, 1, count, "frame", "frames");
    } else if (own + 2 <= most || own + 1 == count || most == 2) {
        middle_fold(l, most - 1, count - 1);
    } else {
        middle_fold(l, own + 1, count - 1);
        middle_fold(l, most - 2, own);
    }
}

void stack_lines_share(struct stack_lines *l, const struct site *site, const struct site *before)
{
    uint32_t same = 0, first = l->count;

    while (same < site->count && same < before->count &&
           site->frames[site->count - 1 - same] == before->frames[before->count - 1 - same])
        same++;
    while (first > 0 &&
           (l->at[first - 1].functions == 0 || l->at[first - 1].frame >= site->count - same))
        first--;
    if (first == 0)
        first = 1;
    if (l->count < first + 2)
        return;
    lines_fold(l, first, l->count, "frame", "frames");
    free(l->at[first].name);
    l->at[first].name = xalloc(strdup("(callers as above)"));
}
