/*
 * run_here.h - a run with a file in the current directory, for rooms that keep records in it.  Use
 * it in a child of the test: a process has one run.
 */
#ifndef RUN_HERE_H
#define RUN_HERE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "heap.h"
#include "in_child.h"

static inline void forget_nothing(bool fresh)
{
    (void)fresh;
}

static inline void run_here(void)
{
    static char here[512];
    struct run_request request = {.pool_dir = here, .envp = environ};
    MUST(getcwd(here, sizeof here) != NULL);
    MUST(run_start(&request) == 0);
    unlink(run_path());
    MUST(heap_start(false) == 0);
    image_start(&(struct image_request){.how = IMAGE_ROOT, .first_thread = 1});
    fork_start(forget_nothing, FORK_HEAP_PRIVATE);
    freed_pattern_start();
    slab_start();
    large_start();
    MUST(threads_register() == self && self);
}

/* Limit the address space to its present size. */
static inline void no_more_room(void)
{
    char text[32] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    MUST(f && fgets(text, sizeof text, f) && fclose(f) == 0);
    uint64_t bytes = strtoull(text, NULL, 10) * PAGE_BYTES;
    MUST(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0);
}

/*
 * Fork like the runtime's fork.  In the child: return true, and the child is an image of its own.
 */
static inline bool fork_here(pid_t *pid)
{
    fork_prepare();
    *pid = fork();
    if (*pid) {
        fork_parent();
        fork_pid(*pid);
        return false;
    }
    fork_child();
    fork_begin_child();
    return true;
}

/* Fork like a program whose fork the runtime does not see. */
static inline bool fork_unseen(pid_t *pid)
{
    *pid = fork();
    if (*pid)
        return false;
    MUST(fork_is_child());
    fork_begin_child();
    return true;
}

static inline void child_succeeds(pid_t pid)
{
    int status;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

#endif
