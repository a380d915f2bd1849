/* print_files.c - files that are written besides the text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

int print_files(struct report *r, const struct options *o, const struct print_options *how,
                char err[TOOLS_ERROR_BYTES])
{
    static const char *const names[REPORT_FILE_COUNT] = {[REPORT_JSON] = "json",
                                                         [REPORT_SARIF] = "sarif",
                                                         [REPORT_JUNIT] = "junit",
                                                         [REPORT_GITLAB] = "gitlab"};
    int first = 0;

    for (unsigned i = 0; i < REPORT_FILE_COUNT; i++) {
        const char *path = option_text(o, names[i]);
        int bad = !*path ? 0 : r ? report_write(r, i, path, how) : -ENODATA;
        if (bad == -ENODATA)
            unlink(path); /* else an earlier run's file would be taken for this run's */
        if (bad && !first)
            first = fail(err, bad, "%s cannot be written: %s", path, strerror(-bad));
    }
    return first;
}

void print_annotations(struct report *r, const struct options *o, const struct print_options *how,
                       FILE *out)
{
    const char *page = getenv("GITHUB_STEP_SUMMARY");
    struct print_options commands = *how;
    FILE *summary = page && *page && annotations_wanted(o) ? fopen(page, "ae") : NULL;

    commands.format = PRINT_GITHUB;
    if (annotations_wanted(o) && how->format != PRINT_GITHUB)
        report_print_text(r, out, &commands);
    if (!summary)
        return;
    report_print_summary(r, summary, how);
    fclose(summary);
}
