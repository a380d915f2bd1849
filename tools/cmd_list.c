/* cmd_list.c - `rtcheck list`: the runs that are kept, and those that runs by hand have left. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/bits.h"
#include "tools.h"

/* Names are untrusted: they are printed as far as they are printable. */
static void name_put(const char *name)
{
    const char *slash = strrchr(name, '/');

    name = slash ? slash + 1 : name;
    for (unsigned bytes; *name; name += bytes ? bytes : 1) {
        bytes = printable_bytes(name);
        if (bytes)
            fwrite(name, 1, bytes, stdout);
        else
            putchar('?');
    }
}

static void row_put(struct report *r, const char *path, const struct options *o)
{
    struct report_image_fact main = report_main_image(r);
    time_t start = (time_t)(report_run(r)->start_ns / 1000000000u);
    char when[32];
    struct tm local;

    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&start, &local));
    printf("%s %8u %8llu  ", when, main.pid, (unsigned long long)problems_of(o, r));
    name_put(main.exe ? main.exe : "?");
    printf("\n  %s\n", path);
}

/* Files that cannot be read are left out: they may be removed at this moment. */
static int list_one(const char *path, void *data)
{
    struct options *of_report = data;
    char err[TOOLS_ERROR_BYTES];
    struct report *r;

    if (report_open(&r, path, err))
        return -ENOENT;
    if (!report_collect(r, err))
        row_put(r, path, of_report);
    report_close(r);
    return -ENOENT;
}

static int list(struct options *o, int count, char **operands)
{
    struct options of_report = {0}; /* the defaults of options.def */
    char err[TOOLS_ERROR_BYTES] = "";

    (void)o;
    (void)count;
    (void)operands;
    printf("%-19s %8s %8s  %s\n", "started", "pid", "problems", "program, run file");
    find_run_where(NULL, list_one, &of_report, err);
    return fflush(stdout) != 0 || ferror(stdout) ? print_failure("the list cannot be written") : 0;
}

static const struct option_info options[] = {
    OPTION_HELP,
};

const struct verb verb_list = {
    .name = "list",
    .usage = "list",
    .about = "Lists the runs that are kept, the newest first, and files that killed programs\n"
             "left.  The newest 20 are kept, and all of the last ten minutes up to 256.",
    .options = options,
    .option_count = countof(options),
    .act = list,
};
