/*
 * cmd_selftest.c - `rtcheck selftest`: is each class of finding found on this machine?  With
 * --events: are memory events complete?
 *
 * The work is in selftest/.  The command starts itself again as the program that is checked; the
 * options --here and --plant, which --help does not list, select what that program does.
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
    if (*option_text(o, "plant"))
        return selftest_plant(option_text(o, "plant"));
    if (option_flag(o, "here"))
        return selftest_calls(verbose);
    if (!option_is_given(o, "events"))
        return selftest_findings(verbose);
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
    OPTION_ROW(
        "verbose", FLAG, "no",
        "print each run's log; with --events: also calls that no interposer of libc sees (-v)",
        NULL),
    OPTION_ROW("here", FLAG, "no", NULL, NULL), /* in this process, which has the runtime */
    OPTION_ROW("plant", PATH, "", NULL, NULL),  /* be the program with these errors */
    OPTION_HELP,
};

const struct verb verb_selftest = {
    .name = "selftest",
    .usage = "selftest [-v] [--events[=all]]",
    .about = "Plants an error of each class in a program of its own, and tests which are\n"
             "found on this machine (status 120: some are not).  --events: tests which calls\n"
             "that change the address space are reported as memory events (status 1: some are\n"
             "not).",
    .options = options,
    .option_count = countof(options),
    .act = selftest,
};
