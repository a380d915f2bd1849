/*
 * print_cost.c - the costs of the run, and the runtime's share of them.
 *
 * A cost that was not counted is printed as "n/a" with the reason, never as zero. For a killed
 * program wait4 reports the costs of the program and of all children that it had waited for, as one
 * sum. To count nothing twice, this sum is used only if no other process recorded its own costs.
 */
#include <stdlib.h>

#include <string.h>

#include "text.h"

/*
 * The counters survive an exec, so the last image of a process holds the counts of the whole
 * process.
 */
static bool is_last_of_process(const struct image *image)
{
    return !image->has_exec_successor;
}

static void cost_add(struct cost_sum *sum, const struct report *r, const struct image *image)
{
    const struct costs *c = &image->costs;

    sum->processes++;
    sum->killed |= image->state != IMAGE_ENDING;
    sum->runs |= strcmp(end_name(r, image), "running") == 0;
    if (c->known & COST_CLOCK) {
        sum->with_clock++;
        sum->of.task_clock_ns += c->task_clock_ns;
    }
    if (!(c->known & COST_RUSAGE))
        return;
    sum->with_rusage++;
    sum->of.minor_faults += c->minor_faults;
    sum->of.major_faults += c->major_faults;
    sum->of.voluntary_switches += c->voluntary_switches;
    sum->of.involuntary_switches += c->involuntary_switches;
    if (c->max_rss_bytes > sum->of.max_rss_bytes)
        sum->of.max_rss_bytes = c->max_rss_bytes;
}

/* At most one process was waited for by the launcher. */
static void cost_take_death(struct cost_sum *sum, const struct report *r)
{
    for (const struct image *image = r->images; image; image = image->hh.next) {
        if (!image->costs_at_death.known || image->state == IMAGE_ENDING)
            continue;
        sum->at_death = true;
        sum->of = image->costs_at_death;
        sum->with_clock = sum->with_rusage = 1;
    }
}

static void leak_cost_add(struct leak_cost *sum, const struct image *image)
{
    if (!leak_check_was_made(image->leak_check))
        return;
    sum->processes++;
    sum->ns += image->leak_ns;
    sum->root_bytes += image->root_bytes;
    sum->root_bytes_skipped += image->root_bytes_skipped;
}

struct cost_sum cost_sum(const struct report *r)
{
    struct cost_sum sum = {0};

    for (const struct image *image = r->images; image; image = image->hh.next) {
        if (is_last_of_process(image))
            cost_add(&sum, r, image);
        leak_cost_add(&sum.leaks, image);
        if (image->peak_bytes > sum.heap_peak_bytes)
            sum.heap_peak_bytes = image->peak_bytes;
        sum.with_segments += image->segment_bytes > 0;
        sum.segment_bytes += image->segment_bytes;
    }
    if (!sum.with_clock && !sum.with_rusage)
        cost_take_death(&sum, r);
    return sum;
}

const char *cost_reason(const struct report *r, const struct cost_sum *sum)
{
    if (r->view.run->version_minor < 2)
        return "not counted by the version that wrote the file";
    if (sum && sum->runs)
        return "it still runs";
    return sum && sum->killed ? "it was killed" : "not reported by the system";
}

/* " (getrusage, of 2 of 3 processes)" */
static void source_put(const char *source, uint32_t known, const struct cost_sum *sum,
                       const struct page *page)
{
    fprintf(page->out, " (%s", sum->at_death ? COST_AT_DEATH : source);
    if (known < sum->processes)
        fprintf(page->out, ", of %u of %u processes", known, sum->processes);
    fputc(')', page->out);
}

static void clock_put(const struct cost_sum *sum, const struct page *page)
{
    if (sum->with_clock == 0)
        return;
    fprintf(page->out, "task clock %.3f ms", (double)sum->of.task_clock_ns / 1e6);
    source_put(COST_BY_CLOCK, sum->with_clock, sum, page);
    fprintf(page->out, "\n%*s", COST_COLUMN, "");
}

static void rusage_put(const struct cost_sum *sum, const struct page *page)
{
    const struct costs *c = &sum->of;

    if (sum->with_rusage == 0)
        return;
    fprintf(page->out,
            "page faults %llu + %llu major, context switches %llu + %llu forced, max rss %s",
            (unsigned long long)c->minor_faults, (unsigned long long)c->major_faults,
            (unsigned long long)c->voluntary_switches, (unsigned long long)c->involuntary_switches,
            size_text(c->max_rss_bytes).text);
    source_put(COST_BY_RUSAGE, sum->with_rusage, sum, page);
    fprintf(page->out, "\n%*s", COST_COLUMN, "");
}

static void unknown_put(const struct report *r, const struct cost_sum *sum, const struct page *page)
{
    if (sum->with_clock > 0 && sum->with_rusage > 0)
        return;
    fprintf(page->out, "%s%s%s n/a: %s\n%*s", sum->with_clock ? "" : "task clock",
            sum->with_clock || sum->with_rusage ? "" : ", ",
            sum->with_rusage ? "" : "page faults, context switches, max rss", cost_reason(r, sum),
            COST_COLUMN, "");
}

static void checker_put(const struct report *r, const struct cost_sum *sum, const struct page *page)
{
    struct totals t = totals_of(r);

    fprintf(page->out, "checker: %s, %s, ", count_text(t.allocs, "alloc", "allocs").text,
            count_text(t.frees, "free", "frees").text);
    if (sum->with_segments > 0)
        fprintf(page->out, "%s of records", size_text(sum->segment_bytes).text);
    else
        fprintf(page->out, "records n/a: %s", cost_reason(r, NULL));
    if (sum->leaks.processes > 0 && page->how->leaks != PRINT_LEAKS_NOTHING)
        fprintf(page->out, ", leak scan %.3f ms (" COST_BY_CLOCK "), %s of roots",
                (double)sum->leaks.ns / 1e6, size_text(sum->leaks.root_bytes).text);
}

/* ---- one line -------------------------------------------------------------------------------- */

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void task_clock_put(const struct report *r, const struct cost_sum *sum, FILE *out)
{
    uint64_t ns = sum->of.task_clock_ns;

    if (sum->with_clock == 0)
        fprintf(out, "task clock n/a: %s", cost_reason(r, sum));
    else if (ns < 100000000)
        fprintf(out, "task clock %.1f ms", seconds(ns) * 1e3);
    else
        fprintf(out, "task clock %.2f s", seconds(ns));
    if (sum->with_clock > 0 && sum->with_clock < sum->processes)
        fprintf(out, " (of %u of %u processes)", sum->with_clock, sum->processes);
}

/* "cost     task clock 1.95 s, 540 faults, peak 13.0 MiB; rtcheck 11 % of it" */
static void cost_line_print(const struct report *r, const struct cost_sum *sum,
                            const struct page *page)
{
    const char *why = NULL;
    double percent = own_cost_percent(r, sum, &why);
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    task_clock_put(r, sum, out);
    if (sum->with_rusage > 0)
        fprintf(out, ", %llu faults, peak %s",
                (unsigned long long)(sum->of.minor_faults + sum->of.major_faults),
                size_text(sum->of.max_rss_bytes).text);
    if (why)
        fprintf(out, "; rtcheck's own cost n/a: %s%s", why,
                own_cost_is_known(&r->own_cost) && r->measured.pairs == 0
                    ? "; --measure measures it"
                    : "");
    else
        fprintf(out, "; rtcheck %.0f %% of it", percent);
    fclose(out);
    fact_print("cost", text, page);
    free(text);
}

/* ---- in detail ------------------------------------------------------------------------------- */

static void details_print(const struct report *r, const struct cost_sum *sum,
                          const struct page *page)
{
    set_colour(page, COLOUR_HEADING);
    fputs("COST", page->out);
    set_colour(page, COLOUR_NONE);
    fprintf(page->out, "%*s", COST_COLUMN - 4, "");
    clock_put(sum, page);
    rusage_put(sum, page);
    unknown_put(r, sum, page);
    checker_put(r, sum, page);
    fputc('\n', page->out);
    own_cost_print(r, sum, page);
}

void cost_print(const struct report *r, const struct page *page)
{
    struct cost_sum sum = cost_sum(r);

    if (page->how->deterministic)
        return;
    if (page->how->cost)
        details_print(r, &sum, page);
    else
        cost_line_print(r, &sum, page);
    measured_print(&r->measured, page);
}
