/*
 * outcome.c - the first and the last line of the text report: how many problems there are, and how
 * the run ended.
 *
 * Both state whether findings may be missing. "no errors" is printed only if every check was made.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "text.h"

#define ARGV_COLUMNS 40u

/* ---- the first line -------------------------------------------------------------------------- */

/* Does each wrong free have a record, or were wrong frees only counted? */
static bool has_records(const struct image *image)
{
    return image->checks & CHECK_MADE || image->error_sites > 0;
}

static uint64_t counted_only(const struct image *image)
{
    return has_records(image)
               ? 0
               : image->bad_frees[BAD_FREE_DUPLICATE] + image->bad_frees[BAD_FREE_MISALIGNED] +
                     image->bad_frees[BAD_FREE_BAD];
}

uint64_t report_problems(const struct report *r)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < r->error_count; i++)
        count += error_is_problem(&r->errors[i]) && !is_hidden(&r->errors[i].disposition);
    for (const struct image *image = r->images; image; image = image->hh.next)
        count += counted_only(image);
    return count;
}

bool report_shows_errors(const struct report *r)
{
    for (uint32_t i = 0; i < r->error_count; i++)
        if (error_is_shown(&r->errors[i]) && !is_hidden(&r->errors[i].disposition))
            return true;
    return false;
}

/* Count the sites of each kind; for files without records of sites, the errors. */
static void kinds_count(const struct report *r, uint64_t kinds[ERROR_KIND_COUNT])
{
    for (uint32_t i = 0; i < r->error_count; i++)
        kinds[r->errors[i].kind] += !is_hidden(&r->errors[i].disposition);
    for (const struct image *image = r->images; image; image = image->hh.next) {
        if (has_records(image))
            continue;
        kinds[ERROR_DUF] += image->bad_frees[BAD_FREE_DUPLICATE];
        kinds[ERROR_MAF] += image->bad_frees[BAD_FREE_MISALIGNED];
        kinds[ERROR_BAF] += image->bad_frees[BAD_FREE_BAD];
    }
}

/* " (108 B)": of the leaks and what is lost through them. */
static const char *leaks_put(const struct report *r, uint32_t kinds, uint32_t match,
                             const char *before, FILE *out)
{
    for (uint32_t kind = LEAK_DEFINITE; kind <= LEAK_MAPPED; kind *= 2) {
        uint64_t count = leak_rows_count(r, kind & kinds, match), bytes = leak_sum(r, kind).bytes;
        if (count == 0)
            continue;
        if (kind == LEAK_DEFINITE && !(kinds & LEAK_INDIRECT))
            bytes += leak_sum(r, LEAK_INDIRECT).bytes;
        fprintf(out, "%s%s (%s)", before,
                count_text(count, kind_text(kind)->one, kind_text(kind)->many).text,
                size_text(bytes).text);
        before = ", ";
    }
    return before;
}

static const char *kinds_put(const uint64_t kinds[ERROR_KIND_COUNT], const char *before, FILE *out)
{
    static const char *const names[ERROR_KIND_COUNT][2] = {
#define ERROR(id, value, class, code, title, titles, ...) [ERROR_##id] = {title, titles},
#include "format/findings.def"
    };

    for (int i = 0; i < ERROR_KIND_COUNT; i++) {
        if (kinds[i] == 0 || error_class((uint32_t)i) != FINDING_PROBLEM)
            continue;
        fprintf(out, "%s%s", before, count_text(kinds[i], names[i][0], names[i][1]).text);
        before = ", ";
    }
    return before;
}

static bool was_checked(const struct report *r)
{
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image_is_checked(image) && image->checks & CHECK_MADE)
            return true;
    return false;
}

/* Leaks that are no problems, or not shown, do not make a report incomplete. */
static bool leaks_count(const struct print_options *how)
{
    return how->leaks != PRINT_LEAKS_NOTHING && how->problem_kinds != 0;
}

/*
 * Are findings missing? A program that was not checked has none, and the headline already states
 * that.
 */
static bool lacks_findings(const struct report *r, const struct print_options *how)
{
    return is_in_control(r, image_main(r)) && report_is_incomplete(r, leaks_count(how));
}

/* " in ./t -x (pid 19596)" */
static void program_put(const struct image *main, bool deterministic, FILE *out)
{
    const char *arg = NULL;
    size_t columns = 0;

    fputs(" in ", out);
    if (!argv_next(main, NULL))
        text_put(out, program_name(main));
    while ((arg = argv_next(main, arg)) && columns < ARGV_COLUMNS) {
        fputs(columns ? " " : "", out);
        text_put(out, arg);
        columns += strlen(arg) + 1;
    }
    fputs(arg ? " ..." : "", out);
    if (!deterministic)
        fprintf(out, " (pid %u)", main->pid);
}

static uint64_t warnings_of(const uint64_t kinds[ERROR_KIND_COUNT])
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < ERROR_KIND_COUNT; i++)
        count += error_is_warning(i) ? kinds[i] : 0;
    return count;
}

/* Print the first line, which is there only if there are problems, or errors that are none. */
void headline_print(const struct report *r, const struct outcome *outcome, const struct page *page)
{
    uint64_t kinds[ERROR_KIND_COUNT] = {0}, processes = totals_of(r).processes;
    char *head = NULL, *list = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&head, &bytes));
    uint32_t at;

    kinds_count(r, kinds);
    if (outcome->problems > 0)
        fprintf(out, "rtcheck: %s%s", outcome->incomplete ? "at least " : "",
                count_text(outcome->problems, "problem", "problems").text);
    else
        fprintf(out, "rtcheck: %s", count_text(warnings_of(kinds), "warning", "warnings").text);
    program_put(outcome->main, page->how->deterministic, out);
    fclose(out);
    out = xalloc(open_memstream(&list, &bytes));
    if (*leaks_put(r, page->how->problem_kinds, page->how->match, kinds_put(kinds, ": ", out),
                   out) == ':')
        fputs(outcome->problems ? ": only counted" : "", out);
    if (warnings_of(kinds) > 0 && outcome->problems > 0)
        fprintf(out, "; %s", count_text(warnings_of(kinds), "warning", "warnings").text);
    if (processes > 1)
        fprintf(out, "; %s", count_text(processes, "process", "processes").text);
    fclose(out);
    set_colour(page, outcome->problems ? COLOUR_ERROR : COLOUR_WARNING);
    at = words_put(page, 0, HEAD_INDENT, 0, xalloc(head));
    set_colour(page, COLOUR_NONE);
    clauses_put(page, at, xalloc(list));
    fputs("\n\n", page->out);
    free(head);
    free(list);
}

/* ---- the last line --------------------------------------------------------------------------- */

void end_print(const struct report *r, const struct image *image, FILE *out)
{
    const char *end = end_name(r, image);
    int status = image->wait_status;

    if (status != -1 && WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        fprintf(out, "killed by signal %d (SIG%s)%s", WTERMSIG(status), name ? name : "?",
                WCOREDUMP(status) ? ", core dumped" : "");
    } else if (image_was_replaced(image)) {
        fputs(image_was_lost(r, image) ? "replaced by exec, unchecked" : "replaced by exec", out);
    } else if (status != -1 && WIFEXITED(status)) {
        fprintf(out, "exit status %d", WEXITSTATUS(status));
    } else if (strcmp(end, "running") == 0) {
        fputs("still running", out);
    } else if (strcmp(end, "killed") == 0) {
        fputs("killed, or its end was not seen", out);
    } else {
        fprintf(out, "exit status %d", image->end_status & 0xff);
    }
}

bool is_in_control(const struct report *r, const struct image *main)
{
    return main && image_is_checked(main) && !image_was_lost(r, main);
}

struct outcome outcome_of(const struct report *r, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct outcome o = {
        .main = main,
        .notes = notes_make(r, main, how),
        .problems = report_problems(r) + leak_rows_count(r, how->problem_kinds, how->match),
        .incomplete = lacks_findings(r, how) ? report_incomplete(r, leaks_count(how)) : NULL,
    };

    o.is_printed = !how->quiet || !is_in_control(r, main) || notes_against(&o.notes) ||
                   o.problems || lacks_findings(r, how);
    return o;
}

void outcome_free(struct outcome *outcome)
{
    notes_free(&outcome->notes);
    free(outcome->incomplete);
}

static uint64_t warnings_shown(const struct report *r)
{
    uint64_t kinds[ERROR_KIND_COUNT] = {0};

    kinds_count(r, kinds);
    return warnings_of(kinds);
}

/* "no errors", "3 problems; ", "incomplete: ..; 3 problems; ", "program was not checked: ..; " */
static void state_put(const struct report *r, const struct outcome *outcome, const char *leaks,
                      FILE *out)
{
    const struct image *main = outcome->main;
    uint64_t warnings = warnings_shown(r);

    if (!main) {
        fputs("program was not checked: the runtime did not start in it", out);
        return;
    }
    if (!image_is_checked(main)) {
        fprintf(out, "program was not checked: %s; ", why_unchecked(main));
        return;
    }
    if (!is_in_control(r, main))
        fputs("program was not checked: ", out);
    else if (outcome->incomplete)
        fprintf(out, "incomplete: %s; ", outcome->incomplete);
    if (outcome->problems)
        fprintf(out, "%s; ", count_text(outcome->problems, "problem", "problems").text);
    else if (!was_checked(r))
        fputs("errors were not searched for; ", out);
    else if (!outcome->incomplete && is_in_control(r, main))
        fprintf(out, "%s%s",
                warnings ? count_text(warnings, "warning", "warnings").text : "no errors",
                strcmp(leaks, "no leaks") == 0 ? ", " : "; ");
}

/* " no leaks; 1 finding suppressed; 2 findings filtered; exit status 0; run file: .." */
static void end_put(const struct report *r, const struct outcome *outcome, const char *leaks,
                    const struct page *page, FILE *out)
{
    struct hidden hidden = hidden_sum(r);
    uint64_t indirect = hidden_indirect(r, page->how).places,
             filtered = filtered_count(r, page->how);

    if (outcome->main && image_is_checked(outcome->main) && *leaks)
        fprintf(out, "%s; ", leaks);
    if (hidden.errors + hidden.leaks > indirect)
        fprintf(out, "%s suppressed; ",
                count_text(hidden.errors + hidden.leaks - indirect, "finding", "findings").text);
    if (filtered > 0)
        fprintf(out, "%s filtered; ", count_text(filtered, "finding", "findings").text);
    if (outcome->main)
        end_print(r, outcome->main, out);
    if (page->how->pool && !page->wraps) {
        fputs("; run file: ", out);
        text_put(out, page->how->pool);
    }
}

void verdict_print(const struct report *r, const struct outcome *outcome, const struct page *page)
{
    char *leaks = leaks_verdict(r, page->how), *state = NULL, *end = NULL;
    size_t bytes, rest;
    FILE *out = xalloc(open_memstream(&state, &rest));
    bool is_good = !outcome->problems && !outcome->incomplete && is_in_control(r, outcome->main);
    uint32_t at;

    fputs("rtcheck: ", out);
    state_put(r, outcome, leaks, out);
    fclose(out);
    out = xalloc(open_memstream(&end, &bytes));
    xalloc(state);
    if (state[--rest] == ' ') { /* the line may be broken there */
        state[rest] = '\0';
        fputc(' ', out);
    }
    end_put(r, outcome, leaks, page, out);
    fclose(out);
    set_colour(page, is_good ? COLOUR_GOOD : COLOUR_ERROR);
    at = clauses_put(page, 0, state);
    set_colour(page, COLOUR_NONE);
    clauses_put(page, at, xalloc(end));
    fputc('\n', page->out);
    free(leaks);
    free(state);
    free(end);
}

void outcome_print_separate(const struct report *r, const struct outcome *outcome,
                            const struct page *page)
{
    struct page own = *page;

    own.wraps = false; /* programs read these formats line by line */
    if (!outcome->is_printed)
        return;
    suppressed_print_separate(r, &own);
    notes_print(&outcome->notes, UINT32_MAX, &own);
    verdict_print(r, outcome, &own);
}
