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
    int status = 0;

    if (report_open(&r, path, err))
        return print_failure(err);
    report_want_reachable(r);
    report_want_mapped(r);
    if (report_collect(r, err)) {
        status = print_failure(err);
    } else if (!report_print_one(r, id, stdout, &how)) {
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

static int show_query(const struct options *o, char **words, int count)
{
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];

    if (options_refuse(o, "show", has_effect, err))
        return print_failure(err);
    if (option_flag(o, "help")) {
        options_print_help(stdout);
        return 0;
    }
    if (option_flag(o, "version"))
        return print_version();
    if (count < 1 || count > 2)
        return print_failure("usage: rtcheck show [OPTION]... ID [FILE]");
    if (count == 2)
        return show(words[0], words[1], o);
    return find_run(o, path, sizeof path, NULL, err) ? print_failure(err) : show(words[0], path, o);
}

int cmd_show(int argc, char **argv)
{
    char err[TOOLS_ERROR_BYTES];
    struct options o;
    int rest, status;

    options_init(&o);
    if (options_gather(&o, argc, argv, &rest, err))
        status = print_failure(err);
    else
        status = show_query(&o, argv + rest, argc - rest);
    options_free(&o);
    return status;
}
