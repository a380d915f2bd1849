/*
 * print_gcc.c - the report in the format of compiler diagnostics, for editors that jump from line
 * to line:
 *
 *     src/copy.c:33: warning: 26 bytes in 1 block leaked (mel-15787c7f) [mel]
 *     src/copy.c:106: note: called by: lose
 */
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"

static void where_put(const struct print_options *how, const char *file, uint32_t line, FILE *out)
{
    char *path = source_path(how, file);

    text_put(out, path);
    if (line > 0)
        fprintf(out, ":%u", line);
    fputs(": ", out);
    free(path);
}

static void head_put(struct report *r, const struct finding *f, const struct print_options *how,
                     FILE *out)
{
    struct finding_where where = finding_where(r, f, how);
    const struct leak_row *row = &f->leak;
    char *sentence;

    text_put(out, where.path);
    if (where.line > 0)
        fprintf(out, ":%u", where.line);
    fprintf(out, ": %s: ",
            f->level == LEVEL_NOTE                  ? "note"
            : f->error && f->level == LEVEL_PROBLEM ? "error"
                                                    : "warning");
    if (f->error) {
        sentence = error_sentence(r, f->error, how->deterministic);
        text_put(out, sentence);
        free(sentence);
    } else {
        fprintf(out, "%s in %s %s", count_text(row->bytes, "byte", "bytes").text,
                block_text(row->blocks).text,
                strcmp(f->code, "mel") == 0   ? "leaked"
                : strcmp(f->code, "biu") == 0 ? "in use"
                                              : "possibly leaked");
    }
    fprintf(out, " (%s) [%s]\n", f->id, f->code);
    free(where.path);
}

/* Print one line for each function of a stack whose source line is known. */
static void notes_put(const struct report *r, const struct error_row *row,
                      const struct print_options *how, FILE *out)
{
    const struct site *site = &r->sites[row->site];
    uint32_t count = shown_frames(r, site, how), shown = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct source_line lines[FRAME_LINES_MAX];
        uint32_t functions =
            frame_lines_shown(r, &r->frames[site->frames[i]], lines, FRAME_LINES_MAX);
        for (uint32_t k = 0; k < functions; k++) {
            if (!lines[k].file)
                continue;
            where_put(how, lines[k].file, lines[k].line > 0 ? (uint32_t)lines[k].line : 0, out);
            fprintf(out, "note: %s: ", shown++ ? "called by" : row->label);
            text_put(out, lines[k].function ? lines[k].function : "?");
            fputc('\n', out);
        }
    }
}

void gcc_print(struct report *r, FILE *out, const struct print_options *how)
{
    struct findings all = findings_make(r, how, how->leak_kinds);
    struct outcome outcome = outcome_of(r, how);
    struct page page = page_of(out, how, "");

    for (uint32_t i = 0; i < all.count; i++) {
        struct error_rows rows = finding_rows(&all.at[i]);
        head_put(r, &all.at[i], how, out);
        for (uint32_t k = 0; k < rows.count; k++)
            notes_put(r, &rows.at[k], how, out);
    }
    outcome_print_separate(r, &outcome, &page);
    outcome_free(&outcome);
    findings_free(&all);
}
