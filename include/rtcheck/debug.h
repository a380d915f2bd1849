/*
 * debug.h - the function on which a debugger breaks at each error.  For C and C++.
 *
 * The runtime calls rtc_error_break at the first occurrence of each error that counts as a problem: once for
 * each kind and place, as in the report, and at most --error-limit times.  It does so after the
 * call that found the error has left the allocator, in the thread that made the call and before --on-error
 * acts.  So the program's stack is complete, and a debugger may call the program's functions and those of
 * check.h.  Errors that are found at the end of the program are reported without a call.
 *
 *   (gdb) break rtc_error_break
 *
 * gdb also has the commands of librtcheck.so-gdb.py: docs/debuggers.md.
 *
 * The header declares types for debuggers.  A program neither calls nor defines the function.
 */
#ifndef RTCHECK_DEBUG_H
#define RTCHECK_DEBUG_H

#include <stdint.h>

/* The layout is constant: debuggers read it without debugging information of the runtime. */
struct rtc_finding {
    const char *code;     /* kind, as in the ids of the report: "duf" */
    const char *title;    /* the same in words: "double free" */
    const char *function; /* that was called: "free" */
    uint64_t address;     /* passed to it, or the first bad byte; 0: none */
    uint64_t bytes;       /* requested, passed or accessed; 0: none */
    uint64_t block;       /* the block at or around the address; 0: none or unknown */
    uint64_t block_bytes; /* as requested */
};

/* *finding and its strings are valid during the call. */
#ifdef __cplusplus
extern "C"
#endif
    void
    rtc_error_break(const struct rtc_finding *finding);

#endif
