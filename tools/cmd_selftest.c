/*
 * cmd_selftest.c - `rtcheck selftest --events[=all] [-v]`: are memory events complete on this
 * machine?
 *
 * The work is in selftest/.  The command starts itself under the runtime, with the option --here,
 * which --help does not list.
 */
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "selftest.h"
#include "tools.h"

static int selftest(struct options *o, int count, char **operands)
{
    static char run[] = "run", quiet[] = "--quiet", leaks[] = "--leaks=no", end[] = "--";
    static char self[] = "/proc/self/exe", verb[] = "selftest", events[] = "--events",
                here[] = "--here", v[] = "-v", every[] = "--events=all", some[] = "--events=calls";
    bool all = strcmp(option_text(o, "events"), "all") == 0;
    bool verbose = all || option_flag(o, "verbose");
    char path[4096];
    ssize_t n;

    (void)count, (void)operands;
    if (!option_is_given(o, "events"))
        return print_usage(&verb_selftest);
    if (option_flag(o, "here"))
        return selftest_calls(verbose);
    n = readlink(self, path, sizeof path - 1);
    if (n <= 0)
        return print_failure("/proc/self/exe cannot be read");
    path[n] = '\0';
    char *words[] = {run,  quiet,  leaks, all ? every : some, end, path,
                     verb, events, here,  verbose ? v : NULL, NULL};
    return verb_do(&verb_run, verbose ? 10 : 9, words);
}

static const struct option_info options[] = {
    OPTION_ROW("events", EVENTS, "calls", "test memory events; all: set events=all", "calls"),
    OPTION_ROW("verbose", FLAG, "no", "also calls that no interposer of libc sees (-v)", NULL),
    OPTION_ROW("here", FLAG, "no", NULL, NULL), /* in this process, which has the runtime */
    OPTION_HELP,
};

const struct verb verb_selftest = {
    .name = "selftest",
    .usage = "selftest --events[=all] [-v]",
    .about = "Tests which calls that change the address space are reported as memory events on\n"
             "this machine (status 1: some are not).",
    .options = options,
    .option_count = countof(options),
    .act = selftest,
};
