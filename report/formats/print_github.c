/*
 * print_github.c - the report for GitHub's runner: one workflow command per finding, which GitHub
 * shows beside the source line, and a page in Markdown for the job.
 *
 *     ::error file=src/copy.c,line=33,title=memory leak (mel-15787c7f)::found a block of 26 bytes
 *
 * GitHub shows only ten commands of a level. If there are more, the tenth has the number of the
 * rest.
 */
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"

#define SHOWN 10u /* per level */

static const char *const levels[] = {
    [LEVEL_PROBLEM] = "error", [LEVEL_WARNING] = "warning", [LEVEL_NOTE] = "notice"};

/*
 * Write `text`; characters with a special meaning become %XX. In properties these include colons
 * and commas.
 */
static void escaped_put(FILE *out, const char *text, const char *special)
{
    while (*text) {
        unsigned bytes = utf8_length(text);
        if (bytes == 0)
            fputs("\xef\xbf\xbd", out);
        else if (bytes == 1 && (!byte_is_plain((unsigned char)*text) || strchr(special, *text)))
            fprintf(out, "%%%02X", (unsigned char)*text);
        else if (!is_printable(text, bytes))
            fprintf(out, "\\u%04x", utf8_code(text, bytes)); /* the runner decodes only line ends */
        else
            fwrite(text, 1, bytes, out);
        text += bytes ? bytes : 1;
    }
}

static void value_put(FILE *out, const char *text)
{
    escaped_put(out, text, "%:,");
}

/* Print the stacks of a finding, one line per function. */
static void stacks_put(struct report *r, const struct finding *f, const struct print_options *how,
                       FILE *out)
{
    struct error_rows rows = finding_rows(f);
    struct page page = page_of(out, how, program_path(r, f->image));

    page.wraps = false;
    error_rows_print(r, f->image, &rows, NULL, &page);
}

static void command_put(struct report *r, const struct finding *f, const struct print_options *how,
                        FILE *out)
{
    struct finding_where where = finding_where(r, f, how);
    char *sentence = finding_sentence(r, f, true), *text = NULL;
    size_t bytes;
    FILE *stacks = xalloc(open_memstream(&text, &bytes));

    stacks_put(r, f, how, stacks);
    fclose(stacks);
    fprintf(out, "::%s file=", levels[f->level]);
    value_put(out, where.path);
    if (where.line > 0)
        fprintf(out, ",line=%u", where.line);
    fputs(",title=", out);
    value_put(out, check_at(check_of(f->code))->title);
    fprintf(out, " (%s)::", f->id);
    escaped_put(out, sentence, "%");
    fputs("%0A", out);
    escaped_put(out, xalloc(text), "%");
    fputc('\n', out);
    free(text);
    free(sentence);
    free(where.path);
}

static void commands_put(struct report *r, const struct findings *all, enum finding_level level,
                         const struct print_options *how, FILE *out)
{
    uint32_t count = 0, shown = 0;

    for (uint32_t i = 0; i < all->count; i++)
        count += all->at[i].level == level;
    for (uint32_t i = 0; i < all->count && shown < (count > SHOWN ? SHOWN - 1 : SHOWN); i++) {
        if (all->at[i].level != level)
            continue;
        command_put(r, &all->at[i], how, out);
        shown++;
    }
    if (shown < count)
        fprintf(out, "::%s title=rtcheck::%u more\n", levels[level], count - shown);
}

static void incomplete_put(const struct report *r, FILE *out)
{
    char *text = report_incomplete(r, true);

    fprintf(out, "::error title=rtcheck::incomplete: %s\n", text);
    free(text);
}

static void filtered_put(const struct report *r, const struct print_options *how, FILE *out)
{
    char *text = filtered_text(r, how);

    if (text) {
        fputs("::notice title=rtcheck::", out);
        escaped_put(out, text, "%");
        fputc('\n', out);
    }
    free(text);
}

void github_print(struct report *r, FILE *out, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct findings all = findings_make(r, how, how->leak_kinds);

    for (enum finding_level level = LEVEL_PROBLEM; level <= LEVEL_NOTE; level++)
        commands_put(r, &all, level, how, out);
    if (!is_in_control(r, main))
        fputs("::error title=rtcheck::the program was not checked\n", out);
    else if (report_is_incomplete(r, true))
        incomplete_put(r, out);
    filtered_put(r, how, out);
    findings_free(&all);
}

/* ---- the job's page -------------------------------------------------------------------------- */

/* Write `text` literally: escape all characters that have a meaning in Markdown. */
static void plain_put(FILE *out, const char *text)
{
    while (*text) {
        unsigned bytes = utf8_length(text);
        fputs(bytes == 1 && strchr("\\`*_{}[]<>|#&~", *text) ? "\\" : "", out);
        if (bytes == 0)
            fputs("\xef\xbf\xbd", out);
        else if (is_printable(text, bytes))
            fwrite(text, 1, bytes, out);
        else
            fputc(' ', out);
        text += bytes ? bytes : 1;
    }
}

static void cell_put(FILE *out, const char *text)
{
    fputc(' ', out);
    plain_put(out, text);
    fputs(" |", out);
}

static void row_put(struct report *r, const struct finding *f, const struct print_options *how,
                    FILE *out)
{
    struct finding_where where = finding_where(r, f, how);
    char *sentence = finding_sentence(r, f, true), *location = NULL;

    if (asprintf(&location, where.line > 0 ? "%s:%u" : "%s", where.path, where.line) < 0)
        location = xalloc(NULL);
    fputs("|", out);
    cell_put(out, f->id);
    cell_put(out, sentence);
    cell_put(out, where.function);
    cell_put(out, location);
    fputc('\n', out);
    free(location);
    free(sentence);
    free(where.path);
}

void report_print_summary(struct report *r, FILE *out, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct findings all = findings_make(r, how, how->leak_kinds);
    uint64_t problems = report_problems(r) + leak_rows_count(r, how->problem_kinds, how->match);

    fputs("### rtcheck: ", out);
    plain_put(out, main ? program_name(main) : "?");
    fprintf(out, ": %s\n\n",
            !is_in_control(r, main)         ? "not checked"
            : report_is_incomplete(r, true) ? "incomplete"
            : problems                      ? count_text(problems, "problem", "problems").text
                                            : "no problems");
    if (all.count > 0)
        fputs("| id | what | function | place |\n|---|---|---|---|\n", out);
    for (uint32_t i = 0; i < all.count; i++)
        row_put(r, &all.at[i], how, out);
    fputc('\n', out);
    findings_free(&all);
}
