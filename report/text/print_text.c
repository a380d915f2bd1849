/*
 * print_text.c - layout of the text report.
 *
 * If there are problems, the first line has their number, the program and the kinds. Then come the
 * errors, the leaks, one line each for the blocks in use and the costs, and a note for each limit on
 * the meaning of the numbers. The last line is the verdict: problems, leaks, how the program ended.
 * On a terminal the report has about LINES lines; errors get the lines that the other parts leave.
 * In a log it is complete.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define LINES 40u
#define LINES_OF_DETAILS 2u /* commands for more, and the run file */
#define LINES_OF_LEAKS 14u
#define LINES_LEAST 12u /* for errors, at least */
#define TOP_NOTES 3u

/* ---- processes ------------------------------------------------------------------------------- */

static void process_print(const struct report *r, const struct image *image,
                          const struct page *page)
{
    FILE *out = page->out;

    fprintf(out, "  %u %s ", page->how->deterministic ? image->number : image->pid,
            how_name(image->how));
    text_put(out, program_name(image));
    fprintf(out, ": %s in %s, %s, %s, ", size_text(image->live_bytes).text,
            block_text(image->live_blocks).text, count_text(image->allocs, "alloc", "allocs").text,
            count_text(image->frees, "free", "frees").text);
    end_print(r, image, out);
    fputc('\n', out);
}

static void processes_print(const struct report *r, const struct page *page)
{
    bool table = page->how->use == PRINT_USE_TABLE || page->how->use == PRINT_USE_STACKS;

    if (!table || !r->images->hh.next)
        return;
    set_colour(page, COLOUR_HEADING);
    fputs("PROCESSES", page->out);
    set_colour(page, COLOUR_NONE);
    fputc('\n', page->out);
    for (const struct image *image = r->images; image; image = image->hh.next)
        process_print(r, image, page);
    fputc('\n', page->out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Are commands printed that show more? A log has the name of the run file in its last line. */
static bool has_details(const struct page *page)
{
    return page->wraps && page->how->pool;
}

/* Commands for more, with the most important finding as their example. */
static void details_print(const struct report *r, const struct page *page)
{
    const char *id = NULL;

    if (!has_details(page))
        return;
    for (uint32_t i = r->error_count; i > 0; i--)
        if (error_is_problem(&r->errors[i - 1]) && !is_hidden(&r->errors[i - 1].disposition))
            id = r->errors[i - 1].id;
    for (uint32_t i = 0; !id && i < r->leak_count; i++)
        if (!is_hidden(&r->leaks[i].disposition) && r->leaks[i].id[0] &&
            leak_kind(r->leaks[i].class) & page->how->leak_kinds)
            id = r->leaks[i].id;
    set_colour(page, COLOUR_FAINT);
    fputs("details  ", page->out);
    if (id)
        fprintf(page->out, "rtcheck show %s | ", id);
    fputs("rtcheck report --cost --memuse\nrun file ", page->out);
    text_put(page->out, page->how->pool);
    set_colour(page, COLOUR_NONE);
    fputc('\n', page->out);
}

static bool has_findings(const struct report *r, const struct outcome *outcome)
{
    return outcome->problems > 0 || report_shows_errors(r);
}

static char *text_end(struct page *page, char **text)
{
    fclose(page->out);
    return xalloc(*text);
}

static char *head_text(struct report *r, const struct outcome *outcome, struct page page)
{
    char *text = NULL;
    size_t bytes;

    page.out = xalloc(open_memstream(&text, &bytes));
    if (has_findings(r, outcome))
        headline_print(r, outcome, &page);
    processes_print(r, &page);
    return text_end(&page, &text);
}

static char *leaks_text(struct report *r, uint32_t most, uint32_t number, struct page page)
{
    char *text = NULL;
    size_t bytes;

    page.out = xalloc(open_memstream(&text, &bytes));
    leaks_print(r, most, number, &page);
    return text_end(&page, &text);
}

/* Print the section of the room below, whose lines are not broken, in the width of the page. */
static void suppressed_print_wrapped(const struct report *r, const struct page *page)
{
    struct print_options how = *page->how;
    struct page plain = *page;
    size_t bytes, heading = strlen(SUPPRESSED_HEADING);
    char *text = NULL, *rest, *line;

    how.color = false;
    plain.how = &how;
    plain.out = xalloc(open_memstream(&text, &bytes));
    suppressed_print(r, &plain);
    rest = text_end(&plain, &text);
    while ((line = strsep(&rest, "\n")) && *line) {
        bool is_head = strncmp(line, SUPPRESSED_HEADING, heading) == 0;
        if (is_head) {
            set_colour(page, COLOUR_HEADING);
            fputs(SUPPRESSED_HEADING, page->out);
            set_colour(page, COLOUR_NONE);
        }
        words_put(page, is_head ? (uint32_t)heading : 0, SUPPRESSED_INDENT, 0,
                  line + (is_head ? heading : 0));
        fputc('\n', page->out);
    }
    free(text);
}

/* What follows the findings, without the last lines: these need the findings' ids. */
static char *tail_text(struct report *r, const struct outcome *outcome, struct page page)
{
    const struct print_options *how = page.how;
    char *text = NULL;
    size_t bytes;

    page.out = xalloc(open_memstream(&text, &bytes));
    rules_print(r, &page);
    suppressed_print_wrapped(r, &page);
    baseline_print(r, &page);
    use_print(r, outcome->main, &page);
    maps_print(r, &page);
    dispatch_print(r, &page);
    objects_print(r, &page);
    cost_print(r, &page);
    counters_print(r, &page);
    notes_print(&outcome->notes, how->all || how->cost ? UINT32_MAX : TOP_NOTES, &page);
    return text_end(&page, &text);
}

/* The lines of the last line of the report, which may be broken. */
static uint32_t verdict_lines(const struct report *r, const struct outcome *outcome,
                              struct page page)
{
    char *text = NULL;
    size_t bytes;
    uint32_t lines;

    page.out = xalloc(open_memstream(&text, &bytes));
    verdict_print(r, outcome, &page);
    lines = text_lines(text_end(&page, &text));
    free(text);
    return lines;
}

static uint32_t less(uint32_t lines, uint32_t used)
{
    return lines > used ? lines - used : 0;
}

/*
 * Print the findings between `head` and `tail` in the lines that these leave. Leaks get at most
 * LINES_OF_LEAKS if there are errors, and errors what leaks leave.
 */
static void findings_print(struct report *r, uint32_t room, const struct page *page)
{
    uint32_t errors = errors_count(r), for_leaks = errors > 0 ? LINES_OF_LEAKS : less(room, 1);
    bool all = page->how->all;
    bool whole = all || page->how->leaks == PRINT_LEAKS_RECORDS;
    char *leaks = leaks_text(r, whole ? UINT32_MAX : for_leaks, errors + 1, *page);
    uint32_t used = text_lines(leaks) > LINES_OF_LEAKS ? LINES_OF_LEAKS : text_lines(leaks);
    uint32_t left = less(room, used + 2);

    errors_print(r, all ? UINT32_MAX : left > LINES_LEAST ? left : LINES_LEAST, page);
    fputs(errors > 0 ? "\n" : "", page->out);
    fputs(leaks, page->out);
    fputs(*leaks ? "\n" : "", page->out);
    free(leaks);
}

static void body_print(struct report *r, const struct outcome *outcome, const struct page *page)
{
    char *head = head_text(r, outcome, *page), *tail = tail_text(r, outcome, *page);
    uint32_t used = text_lines(head) + text_lines(tail) + has_details(page) * LINES_OF_DETAILS +
                    verdict_lines(r, outcome, *page);

    fputs(head, page->out);
    findings_print(r, less(page->how->lines > LINES ? page->how->lines : LINES, used), page);
    fputs(tail, page->out);
    free(head);
    free(tail);
}

void text_print(struct report *r, FILE *out, const struct print_options *how)
{
    struct outcome outcome = outcome_of(r, how);
    struct page page = page_of(out, how, outcome.main ? outcome.main->exe : "");

    if (outcome.is_printed) {
        if (outcome.main)
            body_print(r, &outcome, &page);
        else
            notes_print(&outcome.notes, how->all || how->cost ? UINT32_MAX : TOP_NOTES, &page);
        details_print(r, &page);
        verdict_print(r, &outcome, &page);
    } else if (!how->deterministic) { /* requested by options of their own */
        measured_print(&r->measured, &page);
        counters_print(r, &page);
    }
    outcome_free(&outcome);
}
