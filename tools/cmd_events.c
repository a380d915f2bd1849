/*
 * cmd_events.c - `rtcheck events FILE|PID`: mappings that a run's processes made by calls, with the
 * callers.
 */
#include <limits.h>
#include <stdlib.h>

#include "format/bits.h"
#include "tools.h"

static int print_events_of(const char *path, uint32_t pid)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int status = 0;

    if (run_open(&r, path, err))
        return print_failure(err);
    report_want_regions(r);
    if (report_collect(r, err))
        status = print_failure(err);
    else if (!report_print_events(r, pid, stdout))
        status = print_failure("the run file has nothing of this process");
    else if (fflush(stdout) != 0 || ferror(stdout))
        status = print_failure("the report cannot be written");
    run_close(r);
    return status;
}

static int print_events_of_process(const char *word)
{
    char err[TOOLS_ERROR_BYTES], path[PATH_MAX];

    if (find_run_of_process(word, path, sizeof path, err))
        return print_failure(err);
    return print_events_of(path, (uint32_t)process_of_thread(word));
}

static int events(struct options *o, int count, char **operands)
{
    (void)o, (void)count;
    return is_pid(operands[0]) ? print_events_of_process(operands[0])
                               : print_events_of(operands[0], 0);
}

static const struct option_info options[] = {OPTION_HELP};

const struct verb verb_events = {
    .name = "events",
    .usage = "events FILE|PID",
    .about = "Prints the mappings that the processes of a run made by calls, with the callers.",
    .options = options,
    .option_count = countof(options),
    .least = 1,
    .most = 1,
    .act = events,
};
