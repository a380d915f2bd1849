/*
 * print_errors.c - errors in the text report: a sentence and facts, then the stacks.
 *
 * Errors are printed in order of time, as the first often causes the others. If the text must stay
 * short, the errors that fit are printed in full, the next ones on one line each. The remaining
 * errors are only counted.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define FRAMES_LEAST 2u /* minimum shown per stack if there is little room */
#define SHORT_FRAMES 2u /* shown if an error takes one line */

/* ---- one error ------------------------------------------------------------------------------- */

static void id_line_put(struct report *r, const struct error *e, const struct page *page)
{
    char *sentence = error_sentence(r, e, page->how->deterministic);

    fputc(' ', page->out);
    set_colour(page, error_is_problem(e) ? COLOUR_ERROR : COLOUR_WARNING);
    fprintf(page->out, "%-12s", e->id);
    set_colour(page, COLOUR_NONE);
    fputs("  ", page->out);
    text_put(page->out, sentence);
    free(sentence);
}

/* Print the address, the thread, the count and the processes of an error. */
static void facts_put(const struct report *r, const struct error *e, const struct page *page)
{
    char *thread = format_thread(r, e->image, &e->thread);
    const char *comma = "";

    fprintf(page->out, "\n%*s", STACK_INDENT, "");
    if (e->address != 0 && e->kind != ERROR_CRASH && !page->how->deterministic) {
        fprintf(page->out, "0x%llx", (unsigned long long)e->address);
        format_found(e, page->out);
        comma = ", ";
    }
    if (e->thread.number != 0) {
        fprintf(page->out, "%s%s", comma, thread_label(e));
        text_put(page->out, thread);
        comma = ", ";
    }
    if (e->count > 1) {
        fprintf(page->out, "%s%llu times", comma, (unsigned long long)e->count);
        comma = ", ";
    }
    if (r->images->hh.next) {
        fprintf(page->out, "%sin ", comma);
        process_set_put(r, &e->images, page);
    }
    fputc('\n', page->out);
    free(thread);
}

static void thread_line_put(const struct report *r, const struct error *e,
                            const struct error_row *row, const struct page *page)
{
    char *thread = format_thread(r, e->image, row->thread);

    fprintf(page->out, "%*s%-*sby ", STACK_INDENT, "", STACK_LABEL, row->label);
    text_put(page->out, thread);
    fputc('\n', page->out);
    free(thread);
}

void error_print(struct report *r, const struct error *e, const struct page *page)
{
    struct error_rows rows = error_rows(e);

    id_line_put(r, e, page);
    facts_put(r, e, page);
    for (uint32_t i = 0; i < rows.count; i++) {
        symbolize_site(r, rows.at[i].site);
        if (rows.at[i].thread)
            thread_line_put(r, e, &rows.at[i], page);
        stack_print(r, rows.at[i].thread ? "" : rows.at[i].label, rows.at[i].site, page);
    }
}

/* ---- as many as fit -------------------------------------------------------------------------- */

static uint32_t lines_of(const char *text)
{
    uint32_t lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static char *error_text(struct report *r, const struct error *e, struct page page)
{
    char *text = NULL;
    size_t bytes;

    page.out = xalloc(open_memstream(&text, &bytes));
    page.program = program_path(r, e->image);
    error_print(r, e, &page);
    fclose(page.out);
    return xalloc(text);
}

/*
 * Format an error in at most `most` lines, with fewer frames if `must` is set. NULL: it does not
 * fit.
 */
static char *error_text_in(struct report *r, const struct error *e, struct page page, uint32_t most,
                           bool must)
{
    char *text = error_text(r, e, page);

    while (lines_of(text) > most && must && page.frames > FRAMES_LEAST) {
        free(text);
        page.frames--;
        text = error_text(r, e, page);
    }
    if (lines_of(text) <= most)
        return text;
    free(text);
    return NULL;
}

void error_print_short(struct report *r, const struct error *e, const struct page *page)
{
    struct error_rows rows = error_rows(e);
    /*
     * For damage use the last row, which has the stack of the allocation: when damage is detected
     * is arbitrary.
     */
    const struct error_row *row = &rows.at[e->damage && rows.count ? rows.count - 1 : 0];
    struct page own = *page;

    own.program = program_path(r, e->image);
    id_line_put(r, e, page);
    if (rows.count > 0) {
        fprintf(page->out, "; %s ", row->label);
        symbolize_site(r, row->site);
        site_put(r, row->site, SHORT_FRAMES, &own);
    }
    fputc('\n', page->out);
}

void more_print(const struct report *r, uint32_t count, const struct page *page)
{
    const char *file = r->view.fd_is_ours ? r->view.name : page->how->pool;

    fprintf(page->out, " %u more: ", count);
    if (file) {
        fputs("rtcheck report --all ", page->out);
        text_put(page->out, file);
    } else {
        fputs("--all prints them", page->out);
    }
    fputc('\n', page->out);
}

static uint32_t shown_list(const struct report *r, uint32_t *list)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->error_count; i++)
        if (error_is_shown(&r->errors[i]) && !is_hidden(&r->errors[i].disposition))
            list[count++] = i;
    return count;
}

/*
 * Print errors in full while they fit. Returns their number; *left is updated to the lines that
 * remain.
 */
static uint32_t full_print(struct report *r, const uint32_t *list, uint32_t count,
                           const struct page *page, uint32_t *left)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t others = i + 1 < count; /* each remaining error needs at least one line */
        char *text = *left > others
                         ? error_text_in(r, &r->errors[list[i]], *page, *left - others, i == 0)
                         : NULL;
        if (!text)
            return i;
        *left -= lines_of(text);
        fputs(text, page->out);
        free(text);
    }
    return count;
}

void errors_print(struct report *r, uint32_t lines, const struct page *page)
{
    uint32_t *list = xalloc(calloc((size_t)r->error_count + 1, sizeof *list));
    uint32_t count = shown_list(r, list), shown;

    if (count > 0 && lines > 1) {
        lines--;
        errors_name(r, list[count > lines ? lines - 1 : count - 1] + 1);
        set_colour(page, COLOUR_HEADING);
        fputs("ERRORS", page->out);
        set_colour(page, COLOUR_NONE);
        fputc('\n', page->out);
        shown = full_print(r, list, count, page, &lines);
        for (; shown < count && (lines > 1 || shown + 1 == count); shown++, lines--)
            error_print_short(r, &r->errors[list[shown]], page);
        if (shown < count)
            more_print(r, count - shown, page);
    }
    free(list);
}
