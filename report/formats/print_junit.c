/*
 * print_junit.c - the report as a JUnit file, which most build servers show as a list of tests.
 *
 * A process with findings is a suite. A finding is a failed test, or a skipped one if it is no
 * problem. The first suite is the program's. Its first test fails if the program was not checked;
 * otherwise a missing checker would look like a program without errors.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats_priv.h"

/* State of the report that is being written. */
struct junit {
    struct report *r;
    const struct print_options *how;
    const struct findings *all;
    FILE *out;
};

static void attribute_put(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    xml_put(out, text, "");
    fputc('"', out);
}

/* ---- one finding ----------------------------------------------------------------------------- */

static char *stacks_of(const struct junit *u, const struct finding *f)
{
    struct error_rows rows = finding_rows(f);
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));
    struct page page = page_of(out, u->how, program_path(u->r, f->image));

    error_rows_print(u->r, f->image, &rows, NULL, &page);
    fclose(out);
    return xalloc(text);
}

static void case_put(const struct junit *u, const struct finding *f, const char *program)
{
    struct finding_where where = finding_where(u->r, f, u->how);
    char *sentence = finding_sentence(u->r, f, true), *stacks = stacks_of(u, f), *name;
    const char *disposition = f->level == LEVEL_PROBLEM ? "failure" : "skipped";

    if (asprintf(&name, "%s %s in %s", f->id, check_at(check_of(f->code))->title, where.function) <
        0)
        name = xalloc(NULL);
    fputs("    <testcase", u->out);
    attribute_put(u->out, "classname", program);
    attribute_put(u->out, "name", name);
    fprintf(u->out, " time=\"0\">\n      <%s", disposition);
    if (f->level == LEVEL_PROBLEM)
        attribute_put(u->out, "type", f->code);
    attribute_put(u->out, "message", sentence);
    fputc('>', u->out);
    xml_put(u->out, where.path, "\n");
    if (where.line > 0)
        fprintf(u->out, ":%u", where.line);
    fputs("\n", u->out);
    xml_put(u->out, stacks, "\n\t");
    fprintf(u->out, "</%s>\n    </testcase>\n", disposition);
    free(name);
    free(stacks);
    free(sentence);
    free(where.path);
}

/* ---- a process ------------------------------------------------------------------------------- */

struct sums {
    uint32_t tests, failures, skipped;
};

static struct sums sums_of(const struct junit *u, uint32_t image)
{
    struct sums sums = {0};

    for (uint32_t i = 0; i < u->all->count; i++) {
        if (image != 0 && u->all->at[i].image != image)
            continue;
        sums.tests++;
        sums.failures += u->all->at[i].level == LEVEL_PROBLEM;
        sums.skipped += u->all->at[i].level != LEVEL_PROBLEM;
    }
    return sums;
}

static void sums_put(const struct junit *u, struct sums sums)
{
    fprintf(u->out, " tests=\"%u\" failures=\"%u\" errors=\"0\"", sums.tests, sums.failures);
}

static void times_put(const struct junit *u, const struct image *image)
{
    time_t seconds = (time_t)(image->start_ns / 1000000000u);
    uint64_t ns = image->end_ns > image->start_ns ? image->end_ns - image->start_ns : 0;
    char text[40];
    struct tm tm;

    if (u->how->deterministic || !gmtime_r(&seconds, &tm)) {
        fputs(" time=\"0\"", u->out);
        return;
    }
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    fprintf(u->out, " time=\"%.3f\" timestamp=\"%s\"", (double)ns / 1e9, text);
}

/* Was the program checked, and is the list of findings complete? */
static bool is_active(const struct report *r, const struct image *main)
{
    return is_in_control(r, main) && !report_is_incomplete(r, true);
}

static const char *why_not_active(const struct junit *u, const struct image *main, char **text)
{
    *text = is_in_control(u->r, main) ? report_incomplete(u->r, true) : NULL;
    return *text ? *text : "the program was not checked";
}

static void active_put(const struct junit *u, const struct image *main, const char *program)
{
    char *text;

    fputs("    <testcase", u->out);
    attribute_put(u->out, "classname", program);
    if (is_active(u->r, main)) {
        fputs(" name=\"checker active\" time=\"0\"/>\n", u->out);
        return;
    }
    fprintf(u->out, " name=\"checker active\" time=\"0\">\n      <failure type=\"%s\"",
            is_in_control(u->r, main) ? "incomplete" : "unchecked");
    attribute_put(u->out, "message", why_not_active(u, main, &text));
    fputs("></failure>\n    </testcase>\n", u->out);
    free(text);
}

static void suite_put(const struct junit *u, const struct image *image, const struct image *main)
{
    struct sums sums = sums_of(u, image->number);
    const char *program = program_name(image);
    char *name;

    if (image != main && sums.tests == 0)
        return;
    if (image == main) {
        sums.tests++;
        sums.failures += !is_active(u->r, main);
    }
    if (asprintf(&name, "rtcheck %s %u", program, shown_pid(u->r, image->number, u->how)) < 0)
        name = xalloc(NULL);
    fputs("  <testsuite", u->out);
    attribute_put(u->out, "name", name);
    sums_put(u, sums);
    fprintf(u->out, " skipped=\"%u\"", sums.skipped);
    times_put(u, image);
    fputs(">\n", u->out);
    if (image == main)
        active_put(u, main, program);
    for (uint32_t i = 0; i < u->all->count; i++)
        if (u->all->at[i].image == image->number)
            case_put(u, &u->all->at[i], program);
    fputs("  </testsuite>\n", u->out);
    free(name);
}

void junit_print(struct report *r, FILE *out, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct findings all = findings_make(r, how, how->leak_kinds);
    struct junit u = {r, how, &all, out};
    struct sums sums = sums_of(&u, 0);

    sums.tests++;
    sums.failures += !is_active(r, main);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rtcheck\"", out);
    sums_put(&u, sums);
    fputs(">\n", out);
    if (main)
        suite_put(&u, main, main);
    else
        fputs("  <testsuite name=\"rtcheck\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\" "
              "time=\"0\">\n",
              out);
    if (!main) {
        active_put(&u, NULL, "rtcheck");
        fputs("  </testsuite>\n", out);
    }
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image != main)
            suite_put(&u, image, main);
    fputs("</testsuites>\n", out);
    findings_free(&all);
}
