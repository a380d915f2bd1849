/* rtcheck.c - main of the command: dispatches to the verb. */
#include <string.h>

#include "format/bits.h"
#include "tools.h"

static const struct {
    const char *name;
    int (*act)(int argc, char **argv);
} verbs[] = {
    {"run", cmd_run},   {"report", cmd_report},     {"dump", cmd_dump}, {"events", cmd_events},
    {"show", cmd_show}, {"selftest", cmd_selftest}, {"stat", cmd_stat}, {"suppress", cmd_suppress},
};

int main(int argc, char **argv)
{
    fds_begin();
    guard_begin();
    for (unsigned i = 0; argc > 1 && i < countof(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].act(argc - 1, argv + 1);
    return cmd_run(argc, argv);
}
