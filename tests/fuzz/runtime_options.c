/*
 * runtime_options.c - src/init/options.c without the runtime around it.
 *
 * init.h would include all of the rooms below it, whose names collide with those of the launcher.
 * So this file replaces that interface: it declares what the parser needs.
 */
#include "runtime_options.h"

#include <string.h>

#define text_put runtime_text_put /* the reporter has one, too */
#include "../../src/base/base.h"
#include "../../src/base/text.c"

#define INIT_H

enum on_error {
    ON_ERROR_CONTINUE,
    ON_ERROR_STOP,
    ON_ERROR_ABORT,
    ON_ERROR_DEBUGGER,
    ON_ERROR_EXIT
};

enum fork_heap { FORK_HEAP_SHARED, FORK_HEAP_PRIVATE, FORK_HEAP_COPY, FORK_HEAP_AUTO };

enum track_fds { TRACK_FDS_NO, TRACK_FDS_BAD, TRACK_FDS_YES, TRACK_FDS_ALL };

#define ERROR_LIMIT_MAX 10000u
#define ERROR_LIMIT_DEFAULT 1000u

#define GUARD_EVERY_AUTO 1000u
#define GUARD_EVERY_MAX 1000000u
#define GUARD_ALL 1u

#define GUARD_STACKS_MAX 32u
#define GUARD_GAP_ALIGNED 15u

enum guard_edges { GUARD_EDGES_BOTH, GUARD_EDGES_END, GUARD_EDGES_START };

struct guard_stacks {
    uint32_t count;
    struct guard_stack {
        uint64_t key;
        enum guard_edges edges;
        uint32_t gap;
    } of[GUARD_STACKS_MAX];
};

struct guard_options {
    uint32_t every;
    bool is_limited;
    enum guard_edges edges;
    struct guard_stacks stacks;
};

struct options {
    enum on_error on_error;
    enum track_fds track_fds;
    bool access;
    uint32_t access_every;
    struct guard_options guard;
    int error_exitcode;
    uint32_t error_limit;
    bool trace_children;
    bool leaks, leak_check, mel_at_exit;
    bool strict_interior;
    bool run_libc_freeres, run_cxx_freeres;
    bool witness;
    bool keep;
    bool heap_in_file;
    bool has_heap;
    bool all_events;
    uint64_t heap_bytes;
    bool has_pool_size;
    enum fork_heap fork;
    uint32_t cost_every;
    uint32_t frames;
    char pool_dir[256];
    bool access_full;
    char plans[256];
    char skip[256];
};

static struct pool_knobs {
    uint64_t quarantine_bytes;
    int malloc_fill;
    int free_fill;
} pool_knobs;

#define REDZONE_BYTES_MIN 16u
#define REDZONE_BYTES_MAX 4096u

static void redzone_width(uint32_t bytes)
{
    if (bytes < REDZONE_BYTES_MIN || bytes > REDZONE_BYTES_MAX)
        __builtin_trap();
}

void options_read(struct options *o, const char *text);
void options_read_pool_size(struct options *o, const char *text);
bool options_want_heap_in_file(const struct options *o);

#include "../../src/init/options.c"

struct runtime_options runtime_options_read(const char *text)
{
    struct options o = {.trace_children = true,
                        .leaks = true,
                        .leak_check = true,
                        .mel_at_exit = true,
                        .heap_bytes = 256ull << 30,
                        .fork = FORK_HEAP_PRIVATE,
                        .frames = RTC_STACK_FRAMES,
                        .cost_every = 1000,
                        .access = true,
                        .access_every = 16,
                        .guard = {.edges = GUARD_EDGES_BOTH},
                        .error_limit = ERROR_LIMIT_DEFAULT,
                        .error_exitcode = -1};

    pool_knobs = (struct pool_knobs){256u << 10, -1, FILL_OF_BLOCK};
    options_read(&o, text);

    struct runtime_options all = {
        .trace_children = o.trace_children,
        .leaks = o.leaks,
        .leak_check = o.leak_check,
        .mel_at_exit = o.mel_at_exit,
        .strict_interior = o.strict_interior,
        .run_libc_freeres = o.run_libc_freeres,
        .run_cxx_freeres = o.run_cxx_freeres,
        .error_exitcode = o.error_exitcode,
        .witness = o.witness,
        .keep = o.keep,
        .heap_in_file = o.heap_in_file,
        .all_events = o.all_events,
        .heap_bytes = o.heap_bytes,
        .fork = (int)o.fork,
        .cost_every = o.cost_every,
        .access = o.access,
        .access_full = o.access_full,
        .access_every = o.access_every,
        .guard_every = o.guard.every,
        .guard_is_limited = o.guard.is_limited,
        .guard_edges = (int)o.guard.edges,
        .guard_stacks = o.guard.stacks.count,
        .frames = o.frames,
        .on_error = o.on_error,
        .track_fds = o.track_fds,
        .error_limit = o.error_limit,
        .quarantine_bytes = pool_knobs.quarantine_bytes,
        .malloc_fill = pool_knobs.malloc_fill,
        .free_fill = pool_knobs.free_fill,
    };
    if (all.guard_stacks) {
        const struct guard_stack *last = &o.guard.stacks.of[all.guard_stacks - 1];
        all.guard_key = last->key;
        all.guard_gap = last->gap;
    }
    memcpy(all.pool_dir, o.pool_dir, sizeof all.pool_dir);
    memcpy(all.plans, o.plans, sizeof all.plans);
    memcpy(all.skip, o.skip, sizeof all.skip);
    return all;
}
