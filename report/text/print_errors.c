/*
 * print_errors.c - errors in the text report: a sentence and facts, then the stacks.
 *
 * Errors are printed in order of time, as the first often causes the others. If the text must stay
 * short, the errors that fit are printed in full, the next ones on two lines each. The remaining
 * errors are only counted.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define FRAMES_LEAST 3u /* minimum shown per stack if there is little room */
#define SHORT_LINES 2u
#define SHORT_FRAMES 3u /* shown if an error takes two lines */

/* ---- the head -------------------------------------------------------------------------------- */

static const char *title_of(uint32_t kind)
{
    static const char *const titles[] = {
#define ERROR(id, value, class, code, title, ...) [ERROR_##id] = title,
#include "format/findings.def"
    };

    return titles[kind];
}

/*
 * The sentence without what the title says already: "double free" and "double free of a block",
 * "invalid free" and "free of an address". NULL: nothing is repeated.
 */
static const char *without_title(const char *sentence, const char *title)
{
    const char *word = strrchr(title, ' ');
    const char *const starts[] = {title, word ? word + 1 : title};

    for (size_t i = 0; i < countof(starts); i++) {
        size_t bytes = strlen(starts[i]);
        if (strncmp(sentence, starts[i], bytes) == 0 && strchr(" :", sentence[bytes]))
            return sentence + bytes;
    }
    return NULL;
}

static void capitals_put(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), out);
}

/* Does the thread belong to the error?  Not the one that found what another may have done. */
static bool has_thread(const struct error *e)
{
    return e->thread.number != 0 && !error_is_late(e) && e->kind != ERROR_FDL;
}

/* ", main thread, 12 times, in process 4711 (make)". */
static void facts_put(const struct report *r, const struct error *e, const struct page *page)
{
    char *thread = format_thread(r, e->image, &e->thread);

    if (has_thread(e))
        fprintf(page->out, ", %s", thread);
    if (e->count > 1)
        fprintf(page->out, ", %llu times", (unsigned long long)e->count);
    if (r->images->hh.next) {
        fputs(", in ", page->out);
        process_set_put(r, &e->images, page);
    }
    free(thread);
}

static void error_head_put(struct report *r, const struct error *e, uint32_t number,
                           const struct page *page)
{
    char *sentence = error_sentence(r, e, page->how->deterministic), *text = NULL, *title = NULL;
    const char *rest = without_title(sentence, title_of(e->kind));
    struct page to_text = *page;
    size_t bytes;

    to_text.out = xalloc(open_memstream(&title, &bytes));
    capitals_put(to_text.out, title_of(e->kind));
    fclose(to_text.out);
    to_text.out = xalloc(open_memstream(&text, &bytes));
    fprintf(to_text.out, "%s%s",
            rest                     ? ""
            : e->kind == ERROR_CRASH ? " "
                                     : ": ",
            rest ? rest : sentence);
    facts_put(r, e, &to_text);
    fclose(to_text.out);
    finding_head_put(page, number, error_is_problem(e) ? COLOUR_ERROR : COLOUR_WARNING,
                     xalloc(title), xalloc(text), e->id);
    free(title);
    free(text);
    free(sentence);
}

/* ---- one error ------------------------------------------------------------------------------- */

/* A line of --error-markers. */
static void marker_print(const char *marker, const struct page *page)
{
    if (marker)
        fprintf(page->out, "%s\n", marker);
}

void error_print(struct report *r, const struct error *e, uint32_t number, const struct page *page)
{
    struct error_rows rows = error_rows(e);
    char *found = format_found(e);

    marker_print(page->how->error_begin, page);
    error_head_put(r, e, number, page);
    error_rows_print(r, e->image, &rows, found, page);
    marker_print(page->how->error_end, page);
    free(found);
}

/*
 * For damage return the last row, which has the stack of the allocation: when damage is detected is
 * arbitrary.
 */
static const struct error_row *main_row(const struct error *e, const struct error_rows *rows)
{
    return &rows->at[e->damage && rows->count ? rows->count - 1 : 0];
}

static void short_row_print(struct report *r, const struct error_row *row, const struct page *page)
{
    char *label;

    symbolize_site(r, row->site);
    label = row_label(r, row);
    fprintf(page->out, "%s  ", label);
    chain_print(r,
                &(struct chain){.site = row->site,
                                .most = SHORT_FRAMES,
                                .indent = STACK_INDENT + columns_of(label) + 2},
                page);
    free(label);
}

/* Print the error on two lines. */
static void error_print_short(struct report *r, const struct error *e, uint32_t number,
                              const struct page *page)
{
    struct error_rows rows = error_rows(e);
    struct page own = *page;

    own.program = program_path(r, e->image);
    error_head_put(r, e, number, page);
    if (rows.count == 0)
        return;
    spaces_put(page->out, STACK_INDENT);
    short_row_print(r, main_row(e, &rows), &own);
}

void error_print_line(struct report *r, const struct error *e, const struct page *page)
{
    struct error_rows rows = error_rows(e);
    char *sentence = error_sentence(r, e, page->how->deterministic);

    set_colour(page, error_is_problem(e) ? COLOUR_ERROR : COLOUR_WARNING);
    fputs(e->id, page->out);
    set_colour(page, COLOUR_NONE);
    fputs("  ", page->out);
    text_put(page->out, sentence);
    fputs(rows.count > 0 ? ";" : "\n", page->out);
    if (rows.count > 0) {
        struct page own = *page;
        own.program = program_path(r, e->image);
        own.columns = UINT32_MAX / 2; /* on one line */
        fputc(' ', page->out);
        short_row_print(r, main_row(e, &rows), &own);
    }
    free(sentence);
}

/* ---- as many as fit -------------------------------------------------------------------------- */

uint32_t text_lines(const char *text)
{
    uint32_t lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static char *error_text(struct report *r, const struct error *e, uint32_t number, struct page page)
{
    char *text = NULL;
    size_t bytes;

    page.out = xalloc(open_memstream(&text, &bytes));
    page.program = program_path(r, e->image);
    error_print(r, e, number, &page);
    fclose(page.out);
    return xalloc(text);
}

/*
 * Format an error in at most `most` lines, with fewer frames if `must` is set. NULL: it does not
 * fit.
 */
static char *error_text_in(struct report *r, const struct error *e, uint32_t number,
                           struct page page, uint32_t most, bool must)
{
    char *text = error_text(r, e, number, page);

    while (text_lines(text) > most && must && page.frames > FRAMES_LEAST) {
        free(text);
        page.frames--;
        text = error_text(r, e, number, page);
    }
    if (text_lines(text) <= most)
        return text;
    free(text);
    return NULL;
}

void more_print(const struct report *r, uint32_t count, const struct page *page)
{
    const char *file = r->view.owns_fd ? r->view.name : page->how->pool;

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

static void gap_put(uint32_t number, const struct page *page)
{
    if (number > 1)
        fputc('\n', page->out);
}

/*
 * Print errors in full while they fit. Returns their number; *left is updated to the lines that
 * remain.
 */
static uint32_t full_print(struct report *r, const uint32_t *list, uint32_t count,
                           const struct page *page, uint32_t *left)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t others = 1 + (i + 1 < count) * SHORT_LINES; /* the gap, and the next error */
        char *text = *left > others ? error_text_in(r, &r->errors[list[i]], i + 1, *page,
                                                    *left - others, i == 0)
                                    : NULL;
        if (!text)
            return i;
        *left -= text_lines(text) + 1;
        gap_put(i + 1, page);
        fputs(text, page->out);
        free(text);
    }
    return count;
}

uint32_t errors_count(const struct report *r)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->error_count; i++)
        count += error_is_shown(&r->errors[i]) && !is_hidden(&r->errors[i].disposition);
    return count;
}

void errors_print(struct report *r, uint32_t lines, const struct page *page)
{
    uint32_t *list = xalloc(calloc((size_t)r->error_count + 1, sizeof *list));
    uint32_t count = shown_list(r, list), shown = 0;

    if (count > 0) {
        errors_name(r, list[count > lines ? lines - 1 : count - 1] + 1);
        shown = full_print(r, list, count, page, &lines);
        gap_put(shown < count ? shown + 1 : 0, page);
        for (; shown < count && (lines > SHORT_LINES || shown + 1 == count); shown++) {
            error_print_short(r, &r->errors[list[shown]], shown + 1, page);
            lines -= lines < SHORT_LINES ? lines : SHORT_LINES;
        }
        if (shown < count)
            more_print(r, count - shown, page);
    }
    free(list);
}
