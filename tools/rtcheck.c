/* rtcheck.c - main of the command: selects the verb. */
#include <string.h>

#include "tools.h"

/*
 * Called by the link that replaces the word `valgrind` in command lines, or by a link of the name
 * valgrind in a folder of PATH.
 */
static bool is_named_valgrind(const char *command)
{
    const char *slash = strrchr(command, '/');
    const char *name = slash ? slash + 1 : command;
    return strcmp(name, "rtcheck-valgrind") == 0 || strcmp(name, "valgrind") == 0;
}

int main(int argc, char **argv)
{
    fds_begin();
    guard_begin();
    rerun_begin(argv);
    if (argc > 0 && is_named_valgrind(argv[0]))
        return rerun_status(verb_do(&verb_valgrind, argc, argv));
    const struct verb *verb = argc > 1 ? verb_named(argv[1]) : NULL;
    if (verb == &verb_report && is_reporter(argc - 1, argv + 1))
        return report_for_process(argc - 1, argv + 1);
    return rerun_status(verb ? verb_do(verb, argc - 1, argv + 1) : verb_do(&verb_run, argc, argv));
}
