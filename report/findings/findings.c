/*
 * findings.c - all findings of a run as one list, for formats without sections.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"

static void finding_add(struct findings *f, struct finding new)
{
    f->at = grow(f->at, f->count, sizeof *f->at);
    f->at[f->count++] = new;
    f->problems += new.level == LEVEL_PROBLEM;
}

static void errors_add(struct report *r, struct findings *f)
{
    errors_name(r, r->error_count);
    for (uint32_t i = 0; i < r->error_count; i++) {
        const struct error *e = &r->errors[i];
        struct error_rows rows = error_rows(e);
        if (!error_is_shown(e) || is_hidden(&e->disposition))
            continue;
        for (uint32_t k = 0; k < rows.count; k++)
            symbolize_site(r, rows.at[k].site);
        finding_add(f, (struct finding){
                           .error = e,
                           .id = e->id,
                           .code = error_code(e->kind),
                           .image = e->image,
                           .site = error_main_site(e),
                           .level = error_is_problem(e) ? LEVEL_PROBLEM : LEVEL_WARNING,
                       });
    }
}

static void leaks_add(struct report *r, const struct print_options *how, uint32_t kind,
                      struct findings *f)
{
    uint32_t count;
    struct leak_row *rows = leak_rows(r, kind, how->match, UINT32_MAX, &count);

    for (uint32_t i = 0; i < count; i++)
        finding_add(f, (struct finding){
                           .leak = rows[i],
                           .id = rows[i].first->id,
                           .code = leak_code(rows[i].first->class),
                           .image = rows[i].first->image,
                           .site = rows[i].first->site,
                           .level = how->problem_kinds & kind ? LEVEL_PROBLEM : LEVEL_NOTE,
                       });
    free(rows);
}

struct findings findings_make(struct report *r, const struct print_options *how, uint32_t kinds)
{
    struct findings f = {0};

    errors_add(r, &f);
    for (uint32_t kind = LEAK_DEFINITE; kind <= LEAK_MAPPED; kind *= 2)
        if (kinds & kind && how->leaks != PRINT_LEAKS_NOTHING)
            leaks_add(r, how, kind, &f);
    return f;
}

void findings_free(struct findings *f)
{
    free(f->at);
    *f = (struct findings){0};
}

char *finding_sentence(struct report *r, const struct finding *f, bool deterministic)
{
    return f->error ? error_sentence(r, f->error, deterministic)
                    : leak_sentence(&f->leak, deterministic);
}

struct error_rows finding_rows(const struct finding *f)
{
    if (f->error)
        return error_rows(f->error);
    return (struct error_rows){{{.label = made_label(f->leak.first), .site = f->site}},
                               f->site != NO_SITE};
}

#define ROW_PROBLEM(...) {__VA_ARGS__},
#define ROW_WARNING(...) {__VA_ARGS__},
#define ROW_NOTE(...)

static const struct check checks[] = {
#define ERROR(id, value, class, code, title, titles, entry, help) ROW_##class(code, title, help)
#define LEAK(id, code, title, help) ROW_WARNING(code, title, help)
#include "format/findings.def"
};

const struct check *check_at(uint32_t i)
{
    return i < countof(checks) ? &checks[i] : NULL;
}

uint32_t check_of(const char *code)
{
    uint32_t i = 0;

    while (i + 1 < countof(checks) && strcmp(checks[i].code, code) != 0)
        i++;
    return i;
}

uint32_t shown_pid(const struct report *r, uint32_t number, const struct print_options *how)
{
    const struct image *image = image_of(r, number);

    return how->deterministic || !image ? number : image->pid;
}

uint32_t shown_frames(const struct report *r, const struct site *site,
                      const struct print_options *how)
{
    uint32_t most = how->frames ? how->frames : FRAMES_SHOWN, count = user_frames(r, site);

    return count < most ? count : most;
}

uint64_t shown_address(const struct report *r, const struct frame *frame,
                       const struct print_options *how)
{
    return how->deterministic || frame->module == NO_MODULE
               ? frame->offset
               : r->modules[frame->module].bias + frame->offset;
}

bool line_is_of_header(const struct source_line *line)
{
    static const char headers[] = "/usr/include/";

    return line->file && strncmp(line->file, headers, sizeof headers - 1) == 0;
}

const struct frame *finding_frame(const struct report *r, uint32_t index, struct source_line *line)
{
    const struct site *site = index == NO_SITE ? NULL : &r->sites[index];
    uint32_t end = site ? user_frames(r, site) : 0;

    for (uint32_t i = 0; i < end; i++) {
        const struct frame *frame = &r->frames[site->frames[i]];
        struct source_line lines[FRAME_LINES_MAX];
        uint32_t count = frame_lines_shown(r, frame, lines, FRAME_LINES_MAX);
        for (uint32_t k = 0; k < count; k++)
            if (lines[k].file && !line_is_of_header(&lines[k])) {
                *line = lines[k];
                return frame;
            }
    }
    if (end == 0)
        return NULL;
    frame_lines_shown(r, &r->frames[site->frames[0]], line, 1);
    return &r->frames[site->frames[0]];
}
