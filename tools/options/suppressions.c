/*
 * suppressions.c - suppression rules (built-in ones, then files) and the baseline, from the
 * options.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* `list` has one path per line. */
static int files_read(struct rules *rules, const char *list, char err[TOOLS_ERROR_BYTES])
{
    char *copy = strdup(list), *rest = copy;
    int bad = copy ? 0 : fail(err, -ENOMEM, "out of memory");

    while (!bad && rest) {
        const char *path = strsep(&rest, "\n");
        if (*path)
            bad = rules_read_file(rules, path, err, TOOLS_ERROR_BYTES);
    }
    free(copy);
    return bad;
}

static int rules_gather(const struct options *o, struct rules **out, char err[TOOLS_ERROR_BYTES])
{
    struct rules *rules = rules_new();
    int bad;

    if (option_flag(o, "default-suppressions"))
        rules_add_default(rules);
    if (!option_flag(o, "show-mismatched-frees"))
        rules_add_mismatched_frees(rules);
    bad = files_read(rules, option_text(o, "suppressions"), err);
    if (bad) {
        rules_free(rules);
        return bad;
    }
    rules_seal(rules);
    *out = rules;
    return 0;
}

static int baseline_gather(const struct options *o, struct baseline **out,
                           char err[TOOLS_ERROR_BYTES])
{
    const char *path = option_text(o, "baseline");
    bool is_written = option_flag(o, "update-baseline");
    struct filters filters = filters_of(o);

    if (is_written && !*path)
        return fail(err, -EINVAL, "option update-baseline: the file is missing: --baseline=FILE");
    if (is_written && filters_are_given(&filters))
        return fail(err, -EINVAL,
                    "option update-baseline: not with --only-module, --skip-module, --only-thread");
    return *path ? baseline_read(out, path, is_written, err, TOOLS_ERROR_BYTES) : 0;
}

int finding_rules_read(const struct options *o, struct finding_rules *j,
                       char err[TOOLS_ERROR_BYTES])
{
    int bad;

    *j = (struct finding_rules){0};
    bad = baseline_gather(o, &j->baseline, err);
    if (!bad)
        bad = rules_gather(o, &j->rules, err);
    if (bad)
        finding_rules_free(j);
    return bad;
}

int finding_rules_apply(const struct finding_rules *j, struct report *r, const struct options *o,
                        char err[TOOLS_ERROR_BYTES])
{
    const char *path = option_text(o, "baseline");
    unsigned kinds = baseline_kinds(o);
    struct filters filters = filters_of(o);
    int bad = 0;

    report_suppress(r, j->rules);
    if (option_flag(o, "update-baseline"))
        bad = report_write_baseline(r, path, j->baseline, kinds);
    else if (j->baseline)
        report_compare(r, j->baseline, kinds);
    report_filter(r, &filters);
    report_hide_indirect(r, problem_kinds(o) | kinds_shown(o));
    return bad ? fail(err, bad, "baseline %s cannot be written: %s", path, strerror(-bad)) : 0;
}

void finding_rules_of_run(const struct finding_rules *j, const struct options *o,
                          struct print_options *how)
{
    how->rules = j->rules;
    how->baseline = option_flag(o, "update-baseline") ? NULL : j->baseline;
}

void finding_rules_free(struct finding_rules *j)
{
    rules_free(j->rules);
    baseline_free(j->baseline);
    *j = (struct finding_rules){0};
}
