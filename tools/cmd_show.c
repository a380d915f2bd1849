/* cmd_show.c - `rtcheck show ID [FILE]`: print all data of one error, leak or record of a run. */
#include <limits.h>

#include "format/bits.h"
#include "tools.h"

enum { STATUS_NO_SUCH_ID = 1 };

static int show(const char *id, const char *path, const struct options *o)
{
    struct print_options how = print_how(o, 1, NULL);
    char err[TOOLS_ERROR_BYTES];
    struct report *r;
    struct pager pager;
    bool is_found, is_paged;
    int status = 0;

    if (report_open(&r, path, err))
        return print_failure(err);
    report_want_reachable(r);
    report_want_mapped(r);
    if (report_collect(r, err)) {
        report_close(r);
        return print_failure(err);
    }
    is_paged = pager_start(&pager);
    is_found = report_print_one(r, id, stdout, &how);
    if (is_paged && !pager_end(&pager))
        report_print_one(r, id, stdout, &how);
    if (!is_found) {
        fprintf(stderr, "rtcheck: there is no %s in %s\n", id, path);
        status = STATUS_NO_SUCH_ID;
    } else if (fflush(stdout) != 0 || ferror(stdout)) {
        status = print_failure("the report cannot be written");
    }
    report_close(r);
    return status;
}

/* It prints all frames of one record in rtcheck's own format: other options have no effect. */
static bool has_effect(const char *option)
{
    static const char *const taken[] = {"help", "version", "color", "deterministic", "pool-dir"};

    return option_is_among(option, taken, countof(taken));
}

static int show_id(struct options *o, int count, char **operands)
{
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];

    if (count == 2)
        return show(operands[0], operands[1], o);
    return find_run(o, path, sizeof path, NULL, err) ? print_failure(err)
                                                     : show(operands[0], path, o);
}

const struct verb verb_show = {
    .name = "show",
    .usage = "show [OPTION]... ID [FILE]",
    .about = "Prints all data of one error, leak or record of a run, by default the newest.",
    .has_effect = has_effect,
    .least = 1,
    .most = 2,
    .act = show_id,
};
