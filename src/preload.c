/*
 * preload.c - the composition root: gives core the hooks of rooms above it, and starts all rooms.
 *
 * If the loader runs other constructors first, nothing is lost: start-up happens at the first
 * allocation.
 */
#include "boundary.h"
#include "counters.h"
#include "dispatch.h"
#include "events.h"
#include "intercept.h"
#include "finish.h"
#include "leakcheck.h"

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);

static void discard_frames(const struct jump *j)
{
    events_nonlocal_exit(j);
    counters_nonlocal_exit(j);
    finish_nonlocal_exit(j);
}

const struct init_hooks init_hooks = {
    .finish = finish_image, .prepare_exec = finish_before_exec, .exec_failed = finish_exec_failed};

static const struct fatal_hooks fatal_hooks = {finish_killed, finish_file_cut, finish_heap_lost};

static void __attribute__((constructor)) preload(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    init_constructed(envp);
    boundary_start();
    descriptors_look_up();
    unwinders_look_up();
    cxx_look_for_replacements();
    __register_atfork(NULL, NULL, NULL, NULL); /* our wrapper registers our handlers too */
    finish_start();
    srcu_constructed();
    nonlocal_exit_start(discard_frames);
    events_constructed();
    counters_constructed();
    if (!rt.drop_in.is_on) /* libvmmalloc uses no signals */
        fatal_start(&fatal_hooks);
    post_mortem_start();
    fork_when_begun(post_mortem_start);
    fork_stops_by(leaks_stop_others, leaks_resume_others);
    lifecycle_constructed();
    events_dispatch();
}
