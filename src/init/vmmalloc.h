/*
 * vmmalloc.h - rtcheck in place of libvmmalloc: its variables (vmmalloc.c) and its log
 * (vmmalloc_log.c).  docs/libvmmalloc.md is the reference.
 *
 * In this mode the runtime is an allocator with a pool of fixed size, and otherwise silent: no
 * reporter, no leak scan, no signal handlers, no file that stays.  rt.drop_in.is_on is set.
 *
 * Data: constant after start-up, except in a forked child, whose log has its pid.
 * Locks: none.  Each line of the log is one write.
 */
#ifndef VMMALLOC_H
#define VMMALLOC_H

#include "fork.h"
#include "heap.h"

struct drop_in {
    bool is_on;
    enum fork_heap fork; /* VMMALLOC_FORK */
    uint64_t heap_bytes; /* of the pool: whole units */
};

/* ---- vmmalloc.c ------------------------------------------------------------------------------ */

/* Do the environment, or the name by which the library was loaded, select this mode? */
bool drop_in_is_selected(char *const *envp);
/*
 * Read the variables, make the pool and set the options of the mode.  Ends the process with a
 * message and SIGABRT if a variable is missing or bad, or the pool cannot be made.
 */
void drop_in_start(char *const *envp);
/* The heap cannot use the pool: end the process in the same way. */
_Noreturn void drop_in_refuse_pool(int err);

/* ---- vmmalloc_log.c -------------------------------------------------------------------------- */

/* The levels of VMMALLOC_LOG_LEVEL. */
enum vmmalloc_level {
    VMMALLOC_SILENT,
    VMMALLOC_ERRORS,     /* details of errors */
    VMMALLOC_OPERATIONS, /* the pool, forks, the end */
    VMMALLOC_CALLS,      /* threads, execs, and statistics at the end */
    VMMALLOC_ALLOCATIONS /* each allocation and free */
};

extern HIDDEN uint32_t vmmalloc_level;

ALWAYS_INLINE bool vmmalloc_logs(enum vmmalloc_level level)
{
    return unlikely(vmmalloc_level >= (uint32_t)level);
}

/* file: "" for stderr; a name that ends in "-" is completed by the pid.  -errno: not usable. */
int vmmalloc_log_start(uint32_t level, const char *file, bool wants_statistics);
void vmmalloc_log_after_fork(void);
/* A line of a level: `what`, and a number if `unit` is not NULL. */
void vmmalloc_log(enum vmmalloc_level level, const char *what, uint64_t number, const char *unit);

struct error_record;
void vmmalloc_log_error(const struct error_record *e);
/* entry: enum error_entry.  align: 0 if the call has none.  p: NULL if it failed. */
void vmmalloc_log_alloc(uint32_t entry, uint64_t bytes, uint64_t align, const void *p);
void vmmalloc_log_resize(uint32_t entry, const void *from, uint64_t bytes, const void *p);
void vmmalloc_log_free(uint32_t entry, const void *p);
/* At the end of the image: statistics, if they are wanted. */
void vmmalloc_log_end(void);

#endif
