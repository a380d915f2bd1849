/*
 * print_text.c - layout of the text report.
 *
 * The first line has the number of problems, the last line whether the run was checked completely.
 * Between them are the errors, the blocks in use, the costs, and one note for each limit on the
 * meaning of the numbers. The default report has about LINES lines; errors get the lines that the
 * other parts leave.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "text.h"

#define LINES 40u
#define LINES_OF_USE 4u /* in a short report; a requested table comes on top */
#define LINES_OF_LEAKS 14u
#define LINES_OF_RULES 4u /* for suppressions; rules that need attention may take more */
#define LINES_LEAST 12u   /* for errors, at least */
#define TOP_NOTES 3u
#define ARGV_COLUMNS 60u

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

static const char *leaks_put(const struct report *r, uint32_t kinds, uint32_t match,
                             const char *before, FILE *out)
{
    for (uint32_t kind = LEAK_DEFINITE; kind <= LEAK_MAPPED; kind *= 2) {
        uint64_t count = leak_rows_count(r, kind & kinds, match);
        if (count == 0)
            continue;
        fprintf(out, "%s%s", before,
                count_text(count, kind_text(kind)->one, kind_text(kind)->many).text);
        before = ", ";
    }
    return before;
}

static void kinds_put(const uint64_t kinds[ERROR_KIND_COUNT], const char *before, FILE *out)
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
}

/* The sentence for a run without problems, depending on what was checked. */
static const char *found_nothing(const struct report *r)
{
    bool checked = false, looked = false;

    for (const struct image *image = r->images; image; image = image->hh.next) {
        checked |= image_is_checked(image);
        looked |= image_is_checked(image) && image->checks & CHECK_MADE;
    }
    return looked    ? "no problems"
           : checked ? "problems were not looked for"
                     : "nothing was checked";
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

static void headline_print(const struct report *r, uint64_t problems, const struct page *page)
{
    uint64_t kinds[ERROR_KIND_COUNT] = {0}, warnings = 0;
    struct totals t = totals_of(r);

    kinds_count(r, kinds);
    set_colour(page, problems ? COLOUR_ERROR : COLOUR_GOOD);
    fprintf(page->out, "rtcheck: %s%s",
            !lacks_findings(r, page->how) ? ""
            : problems                    ? "at least "
                                          : "incomplete: ",
            problems ? count_text(problems, "problem", "problems").text : found_nothing(r));
    if (problems)
        kinds_put(kinds, leaks_put(r, page->how->problem_kinds, page->how->match, ": ", page->out),
                  page->out);
    set_colour(page, COLOUR_NONE);
    for (uint32_t kind = 0; kind < ERROR_KIND_COUNT; kind++)
        warnings += error_is_warning(kind) ? kinds[kind] : 0;
    if (warnings)
        fprintf(page->out, ", %s", count_text(warnings, "warning", "warnings").text);
    fprintf(page->out, "%s %s, %s, %s\n", problems ? ";" : ",",
            count_text(t.allocs, "alloc", "allocs").text, count_text(t.frees, "free", "frees").text,
            count_text(t.processes, "process", "processes").text);
}

/* Print the command line that was run. Only printed if there are problems. */
static void program_print(const struct image *main, const struct page *page)
{
    const char *arg = NULL;
    size_t columns = 0;

    fputs("  ", page->out);
    if (!argv_next(main, NULL))
        text_put(page->out, program_name(main));
    while ((arg = argv_next(main, arg)) && columns < ARGV_COLUMNS) {
        fputs(columns ? " " : "", page->out);
        text_put(page->out, arg);
        columns += strlen(arg) + 1;
    }
    fputs(arg ? " ..." : "", page->out);
    if (!page->how->deterministic) {
        fprintf(page->out, "   pid %u", main->pid);
        if (main->end_ns >= main->start_ns && main->state == IMAGE_ENDING)
            fprintf(page->out, "   ran %.2f s", (double)(main->end_ns - main->start_ns) / 1e9);
    }
    fputc('\n', page->out);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void end_print(const struct report *r, const struct image *image, FILE *out)
{
    const char *end = end_name(r, image);
    int status = image->wait_status;

    if (status != -1 && WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        fprintf(out, "killed by signal %d (SIG%s)%s", WTERMSIG(status), name ? name : "?",
                WCOREDUMP(status) ? ", core dumped" : "");
    } else if (image_was_replaced(image)) {
        fputs(image_was_lost(r, image) ? "went on by exec, unchecked" : "went on by exec", out);
    } else if (status != -1 && WIFEXITED(status)) {
        fprintf(out, "exit status %d", WEXITSTATUS(status));
    } else if (strcmp(end, "running") == 0) {
        fputs("still running", out);
    } else if (strcmp(end, "killed") == 0) {
        fputs("killed, or ended unseen", out);
    } else {
        fprintf(out, "exit status %d", image->end_status & 0xff);
    }
}

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
}

/* ---- the last line --------------------------------------------------------------------------- */

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

void verdict_print(const struct report *r, const struct outcome *outcome, const struct page *page)
{
    const struct image *main = outcome->main;
    FILE *out = page->out;

    set_colour(page, outcome->problems || outcome->incomplete || !is_in_control(r, main)
                         ? COLOUR_ERROR
                         : COLOUR_GOOD);
    if (is_in_control(r, main) && outcome->incomplete)
        fprintf(out, "rtcheck: incomplete: %s; ", outcome->incomplete);
    else if (is_in_control(r, main))
        fputs("rtcheck: in control; ", out);
    else if (!main)
        fputs("rtcheck: not in control: the runtime did not start in the program", out);
    else if (!image_is_checked(main))
        fprintf(out, "rtcheck: not in control: %s; ", why_unchecked(main));
    else
        fputs("rtcheck: not in control: ", out);
    if (outcome->problems)
        fprintf(out, "%s; ", count_text(outcome->problems, "problem", "problems").text);
    set_colour(page, COLOUR_NONE);
    leaks_verdict_put(r, page);
    if (main)
        end_print(r, main, out);
    if (page->how->pool) {
        fputs("; run file: ", out);
        text_put(out, page->how->pool);
    }
    fputc('\n', out);
}

void outcome_print_separate(const struct report *r, const struct outcome *outcome,
                            const struct page *page)
{
    if (!outcome->is_printed)
        return;
    suppressed_print_separate(r, page);
    notes_print(&outcome->notes, UINT32_MAX, page->out);
    verdict_print(r, outcome, page);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint32_t lines_for_leaks(const struct page *page)
{
    bool whole = page->how->all || page->how->leaks == PRINT_LEAKS_RECORDS;

    return whole ? UINT32_MAX : LINES_OF_LEAKS;
}

/* `leaks` and `suppressed` are the lines that these parts take. */
static uint32_t lines_for_errors(const struct page *page, const struct notes *notes, uint32_t leaks,
                                 uint32_t suppressed)
{
    uint32_t shown = notes->count < TOP_NOTES ? notes->count : TOP_NOTES;
    uint32_t others = 2 + LINES_OF_USE + 3 + shown + 1 +
                      (suppressed < LINES_OF_RULES ? suppressed : LINES_OF_RULES);
    uint32_t left = LINES - others - (leaks < LINES_OF_LEAKS ? leaks : LINES_OF_LEAKS);

    return page->how->all ? UINT32_MAX : left > LINES_LEAST ? left : LINES_LEAST;
}

static void body_print(struct report *r, const struct outcome *outcome, const struct page *page)
{
    const struct image *main = outcome->main;
    uint32_t most = lines_for_leaks(page), leaks = leaks_lines(r, most, page);

    headline_print(r, outcome->problems, page);
    if (outcome->problems)
        program_print(main, page);
    processes_print(r, page);
    errors_print(r, lines_for_errors(page, &outcome->notes, leaks, suppressed_lines(r)), page);
    leaks_print(r, most, page);
    rules_print(r, page);
    suppressed_print(r, page);
    baseline_print(r, page);
    use_print(r, main, page);
    maps_print(r, page);
    dispatch_print(r, page);
    cost_print(r, page);
    counters_print(r, page);
}

void text_print(struct report *r, FILE *out, const struct print_options *how)
{
    struct outcome outcome = outcome_of(r, how);
    struct page page = {
        .out = out,
        .how = how,
        .program = outcome.main ? outcome.main->exe : "",
        .frames = how->frames ? how->frames : FRAMES_SHOWN,
    };

    if (outcome.is_printed) {
        if (outcome.main)
            body_print(r, &outcome, &page);
        notes_print(&outcome.notes,
                    how->all || how->use >= PRINT_USE_TABLE ? UINT32_MAX : TOP_NOTES, out);
        verdict_print(r, &outcome, &page);
    } else if (!how->deterministic) { /* requested by options of their own */
        measured_print(&r->measured, &page);
        counters_print(r, &page);
    }
    outcome_free(&outcome);
}
