/* rtcheck.c - main of the command: selects the verb. */
#include <string.h>

#include "tools.h"

int main(int argc, char **argv)
{
    fds_begin();
    guard_begin();
    const struct verb *verb = argc > 1 ? verb_named(argv[1]) : NULL;
    if (verb == &verb_report && is_reporter(argc - 1, argv + 1))
        return report_for_process(argc - 1, argv + 1);
    return verb ? verb_do(verb, argc - 1, argv + 1) : verb_do(&verb_run, argc, argv);
}
