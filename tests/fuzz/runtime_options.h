/*
 * runtime_options.h - the runtime's option parser beside the launcher's, in one program.
 */
#ifndef RUNTIME_OPTIONS_H
#define RUNTIME_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The options that the runtime reads from a text; others have their defaults. */
struct runtime_options {
    bool trace_children;
    bool leaks, leak_check, mel_at_exit;
    bool strict_interior;
    bool run_libc_freeres, run_cxx_freeres;
    int error_exitcode;
    bool witness;
    bool keep;
    bool heap_in_file;
    bool all_events;
    uint64_t heap_bytes;
    int fork; /* index in the list of words */
    uint32_t cost_every;
    bool access, access_full;
    uint32_t access_every;
    uint32_t guard_every;
    bool guard_is_limited;
    int guard_edges; /* 0: both */
    uint32_t guard_stacks;
    uint64_t guard_key; /* of the last; its gap */
    uint32_t guard_gap;
    uint32_t frames;
    int on_error, track_fds; /* index in the list of words */
    uint32_t error_limit;
    char pool_dir[256];
    char plans[256];
    char skip[256];
    uint64_t quarantine_bytes;
    int malloc_fill; /* -1 = no */
    int free_fill;
};

struct runtime_options runtime_options_read(const char *text);

#endif
