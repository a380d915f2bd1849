/*
 * cmd_show.c - `rtcheck show ID [FILE]`: everything about one error, leak or record of a run.
 */
#include <limits.h>

#include "tools.h"

enum { STATUS_NO_SUCH_ID = 1 };

static int complain(const char *err)
{
    fprintf(stderr, "rtcheck: %s\n", err);
    return STATUS_SETUP;
}

static int show(const char *id, const char *path, const struct options *o)
{
    struct print_options how = print_how(o, 1, NULL);
    char err[TOOLS_ERROR_BYTES];
    struct report *r;
    int status = 0;

    if (report_open(&r, path, err))
        return complain(err);
    report_want_reachable(r);
    if (report_collect(r, err)) {
        status = complain(err);
    } else if (!report_print_one(r, id, stdout, &how)) {
        fprintf(stderr, "rtcheck: there is no %s in %s\n", id, path);
        status = STATUS_NO_SUCH_ID;
    } else if (fflush(stdout) != 0 || ferror(stdout)) {
        status = complain("the report cannot be written");
    }
    report_close(r);
    return status;
}

int cmd_show(int argc, char **argv)
{
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];
    struct options o;
    int rest, status;

    options_init(&o);
    if (options_gather(&o, argc, argv, &rest, err))
        status = complain(err);
    else if (argc - rest < 1 || argc - rest > 2)
        status = complain("usage: rtcheck show [OPTION]... ID [FILE]");
    else if (argc - rest == 2)
        status = show(argv[rest], argv[rest + 1], &o);
    else
        status = find_run(&o, path, sizeof path, NULL, err) ? complain(err) : show(argv[rest], path, &o);
    options_free(&o);
    return status;
}
