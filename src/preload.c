/*
 * preload.c - the composition root: gives core what rooms above it know, and starts them.
 *
 * A program that links our library but whose loader ran other constructors first loses nothing:
 * start-up happened at its first allocation.
 */
#include "counters.h"
#include "events.h"
#include "intercept.h"
#include "leave.h"

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);

static void left(const struct jump *j)
{
    events_left(j);
    counters_left(j);
    leave_left(j);
}

const struct core_hooks core_hooks = {.finish = leave_finish, .replaced = leave_replaced, .stayed = leave_stayed};

static const struct fatal_hooks fatal_hooks = {leave_killed, leave_cut};

static void __attribute__((constructor)) preload(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    core_constructed(envp);
    cxx_look_for_replacements();
    __register_atfork(NULL, NULL, NULL, NULL); /* brings our handlers with it */
    leave_start();
    turns_constructed();
    left_start(left);
    events_constructed();
    counters_constructed();
    if (wants_leaks_at_end())
        fatal_start(&fatal_hooks);
    vigil_start();
    fork_when_begun(vigil_start);
    lifecycle_constructed();
    events_dispatch();
}
