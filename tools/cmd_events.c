/*
 * cmd_events.c - `rtcheck events FILE|PID`: mappings that a run's processes made by calls, with the
 * callers.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools.h"

static int print_events_of(const char *path, uint32_t pid)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int status = 0;

    if (report_open(&r, path, err))
        return print_failure(err);
    report_want_regions(r);
    if (report_collect(r, err))
        status = print_failure(err);
    else if (!report_print_events(r, pid, stdout))
        status = print_failure("the run file has nothing of this process");
    else if (fflush(stdout) != 0 || ferror(stdout))
        status = print_failure("the report cannot be written");
    report_close(r);
    return status;
}

static int print_events_of_process(const char *word)
{
    char err[TOOLS_ERROR_BYTES], path[PATH_MAX];

    if (find_run_of_process(word, path, sizeof path, err))
        return print_failure(err);
    return print_events_of(path, (uint32_t)process_of_thread(word));
}

int cmd_events(int argc, char **argv)
{
    bool is_file = argc == 3 && strcmp(argv[1], "--") == 0;

    if (argc == 2 && is_pid(argv[1]))
        return print_events_of_process(argv[1]);
    if (is_file || (argc == 2 && argv[1][0] != '-'))
        return print_events_of(argv[argc - 1], 0);
    return usage(is_help(argc, argv), "events FILE|PID");
}
